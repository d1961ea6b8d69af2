import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type BuildOptions, build, type Plugin } from "esbuild";

/** The bundle that a published package carries: what pi loads, and the programs that run outside of it. */
const root = join(import.meta.dirname, "..");
const outdir = process.argv[2] ?? join(root, "dist");

/**
 * pi's packages are not bundled, and a file that Node loads natively could not find pi's own copies: index.js has them.
 * Each name is taken by itself: going through all that pi exports took 10 ms of every start.
 */
const hostModules: Plugin = {
	name: "host-modules",
	setup({ onResolve, onLoad }) {
		onResolve({ filter: /^(@earendil-works\/pi-(coding-agent|tui)|typebox(\/compile)?)$/ }, ({ path }) => ({
			path,
			namespace: "host",
		}));
		onLoad({ filter: /.*/, namespace: "host" }, ({ path }) => ({
			contents: `export const { ${namesFrom(path)} } = globalThis[Symbol.for("pi-subagents.host")][${JSON.stringify(path)}];`,
		}));
	},
};

/** What the source takes from a package, types apart. A name that is missing here fails the build. */
function namesFrom(specifier: string): string {
	const source = join(root, "src");
	const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
	const imports = new RegExp(`^import \\{([^}]*)\\} from "${specifier}";$`, "gm");
	const names = files
		.flatMap((file) => [...readFileSync(join(source, file), "utf8").matchAll(imports)])
		.flatMap(([, list = ""]) => list.split(",").map((name) => name.trim()))
		.filter((name) => name !== "" && !name.startsWith("type "));
	return [...new Set(names)].join(", ");
}

/** All that those files export. */
const LEFT_OUT = ["binary", "omap", "pairs", "schema", "set", "timestamp", "intTime", "floatTime"];

/** The only package that is not needed by every session: a file of its own, read when it is, with the two names we use. */
const yamlApart: Plugin = {
	name: "yaml-apart",
	setup({ onResolve, onLoad }) {
		onResolve({ filter: /^yaml$/ }, ({ kind }) =>
			kind === "entry-point" ? { path: "yaml", namespace: "part" } : { path: "./yaml.cjs", external: true },
		);
		// The browser's build consists of ES modules, of which what is not used can be left out.
		onLoad({ filter: /.*/, namespace: "part" }, () => ({
			contents: 'export { Document } from "./doc/Document.js"; export { parseDocument } from "./public-api.js";',
			resolveDir: join(root, "node_modules/yaml/browser/dist"),
		}));
		// Its files only define things: what nobody asks for is left out.
		onResolve({ filter: /^\.\.?\// }, ({ path, importer, resolveDir }) =>
			/[\\/]yaml[\\/]browser[\\/]/.test(importer) ? { path: join(resolveDir, path), sideEffects: false } : undefined,
		);
		// YAML 1.1 was something else: a definition has no `!!binary` and no sexagesimal numbers. Nor is it strict JSON.
		onLoad({ filter: /(yaml-1\.1[\\/](binary|omap|pairs|schema|set|timestamp)|json[\\/]schema)\.js$/ }, () => ({
			contents: `export const ${LEFT_OUT.map((name) => `${name} = undefined`).join(", ")};`,
		}));
	},
};

/** So is what a parent does for runs with a tree of their own. */
const treeApart: Plugin = {
	name: "tree-apart",
	setup({ onResolve }) {
		onResolve({ filter: /tree\/parent-side\.ts$/ }, ({ kind }) =>
			kind === "entry-point" ? undefined : { path: "./tree.cjs", external: true },
		);
	},
};

const shared: BuildOptions = {
	outdir,
	bundle: true,
	platform: "node",
	target: "node22",
	minify: true,
	legalComments: "none",
	charset: "utf8",
};

rmSync(outdir, { recursive: true, force: true });
// pi loads this one itself, as a package's own.
await build({
	...shared,
	entryPoints: { extension: join(root, "src/child/extension.ts") },
	plugins: [hostModules],
	format: "esm",
});
// The same, but evaluated by pi's loader, which knows where pi's packages are.
await build({
	...shared,
	entryPoints: {
		validator: join(root, "src/child/validator.ts"),
		"extension-runner": join(root, "src/child/extension-runner.ts"),
	},
	external: ["typebox/compile", "@earendil-works/pi-coding-agent"],
	format: "esm",
});
// CommonJS, because Node loads it in half the time; the files find each other by where they are. These come last: once
// index.cjs is there, all of it is.
await build({
	...shared,
	entryPoints: {
		index: join(root, "src/index.ts"),
		supervisor: join(root, "src/child/supervisor.ts"),
		pane: join(root, "src/pane/show.ts"),
		tree: join(root, "src/tree/parent-side.ts"),
		yaml: "yaml",
	},
	plugins: [hostModules, yamlApart, treeApart],
	format: "cjs",
	outExtension: { ".js": ".cjs" },
	define: { "import.meta.url": "bundleUrl" },
	supported: { "dynamic-import": false }, // Node would not find the names that a CommonJS file exports
	banner: { js: 'const bundleUrl=require("node:url").pathToFileURL(__filename).href;' },
});
