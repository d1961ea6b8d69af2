import { existsSync } from "node:fs";
import { createRequire } from "node:module";

/** A child has no delegation tools: nothing is even loaded there. */
const isChild = process.env.PI_SUBAGENTS_CHILD === "1" || process.env.PI_SUBAGENT_CHILD === "1";

// pi's loader first imports an ES module natively, where pi's own packages are another copy of pi (0.8 s) or not to be
// found at all. When that fails it evaluates the file itself, with `module` in scope and pi's packages at hand.
if (!isChild && typeof module === "undefined")
	throw new Error("pi-subagents is to be evaluated by pi's extension loader");

/** In a checkout pi loads the source. A published package has a bundle, which finds pi's packages where it is told. */
export default async function extension(pi) {
	if (isChild) return;
	const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
	if (major < 22 || (major === 22 && minor < 19)) {
		throw new Error(
			`pi-subagents needs Node 22.19 or later, as pi does, and this is Node ${process.versions.node}. Install a newer Node and start pi with it.`,
		);
	}
	if (existsSync(new URL("./src/index.ts", import.meta.url))) {
		return (await import("./src/index.ts")).default(pi);
	}
	globalThis[Symbol.for("pi-subagents.host")] = {
		"@earendil-works/pi-coding-agent": await import("@earendil-works/pi-coding-agent"),
		"@earendil-works/pi-tui": await import("@earendil-works/pi-tui"),
		typebox: await import("typebox"),
	};
	// Natively, and so with the compiled code that Node keeps: pi's loader would read and evaluate it anew.
	return createRequire(import.meta.url)("./dist/index.cjs").default(pi);
}
