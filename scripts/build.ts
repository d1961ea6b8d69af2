import { rmSync } from "node:fs";
import { join } from "node:path";
import { type BuildOptions, build, type Plugin } from "esbuild";

/** The bundle that a published package carries: what pi loads, and the programs that run outside of it. */
const root = join(import.meta.dirname, "..");
const outdir = process.argv[2] ?? join(root, "dist");

/** pi's packages are not bundled, and a file that Node imports natively could not find pi's own copies: index.js has them. */
const hostModules: Plugin = {
	name: "host-modules",
	setup({ onResolve, onLoad }) {
		onResolve({ filter: /^(@earendil-works\/pi-(coding-agent|tui)|typebox)$/ }, ({ path }) => ({
			path,
			namespace: "host",
		}));
		onLoad({ filter: /.*/, namespace: "host" }, ({ path }) => ({
			contents: `module.exports = globalThis[Symbol.for("pi-subagents.host")][${JSON.stringify(path)}];`,
		}));
	},
};

const shared: BuildOptions = {
	outdir,
	bundle: true,
	platform: "node",
	target: "node22",
	plugins: [hostModules],
	minify: true,
	legalComments: "none",
};

rmSync(outdir, { recursive: true, force: true });
await build({
	...shared,
	entryPoints: { index: join(root, "src/index.ts"), extension: join(root, "src/child/extension.ts") },
	format: "esm",
	splitting: true, // what is imported on demand stays apart
	// Its build for Node is CommonJS and requires Node's modules, which an ES module cannot.
	alias: { yaml: join(root, "node_modules/yaml/browser/index.js") },
});
await build({
	...shared,
	entryPoints: { supervisor: join(root, "src/child/supervisor.ts"), pane: join(root, "src/pane/show.ts") },
	format: "cjs",
	outExtension: { ".js": ".cjs" },
});
