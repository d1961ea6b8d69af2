import { fileURLToPath } from "node:url";

/** Programs that run outside of the parent. Node starts CommonJS 9 ms faster, and pi imports ES modules as they are. */
const PROGRAMS = {
	supervisor: { source: "./supervisor.ts", bundled: "./supervisor.cjs" },
	extension: { source: "./extension.ts", bundled: "./extension.js" },
	"extension-runner": { source: "./extension-runner.ts", bundled: "./extension-runner.js" },
	validator: { source: "./validator.ts", bundled: "./validator.js" },
	pane: { source: "../pane/show.ts", bundled: "./pane.cjs" },
} as const;

/** Where a program is: in the source in a checkout, beside the bundle in a package. */
export function scriptPath(name: keyof typeof PROGRAMS): string {
	const inSource = import.meta.url.endsWith(".ts");
	return fileURLToPath(new URL(PROGRAMS[name][inSource ? "source" : "bundled"], import.meta.url));
}

/** What a child loads. */
export const childPrograms = () => ({
	extension: scriptPath("extension"),
	validator: scriptPath("validator"),
	runner: scriptPath("extension-runner"),
});

/** Node 22 prints a warning when it strips types; nobody reads it there. */
export const NODE_FLAGS: readonly string[] = ["--disable-warning=ExperimentalWarning"];
