import { existsSync, lstatSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A child has no delegation tools: nothing is even loaded there. */
const isChild = process.env.PI_SUBAGENTS_CHILD === "1" || process.env.PI_SUBAGENT_CHILD === "1";

// pi's loader first imports an ES module natively, where pi's own packages are another copy of pi (0.8 s) or not to be
// found at all. When that fails it evaluates the file itself, with `module` in scope and pi's packages at hand.
if (!isChild && typeof module === "undefined")
	throw new Error("pi-subagents is to be evaluated by pi's extension loader");

const BUNDLE = fileURLToPath(new URL("./dist/index.cjs", import.meta.url));
const SOURCE = fileURLToPath(new URL("./src", import.meta.url));

/** The bundle finds pi's packages where it is told. A checkout without one, or with changes since, is loaded as it is. */
export default async function extension(pi) {
	if (isChild) return;
	const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
	if (major < 22 || (major === 22 && minor < 19)) {
		throw new Error(
			`pi-subagents needs Node 22.19 or later, as pi does, and this is Node ${process.versions.node}. Install a newer Node and start pi with it.`,
		);
	}
	const agent = await import("@earendil-works/pi-coding-agent");
	const [piMajor = 0, piMinor = 0] = String(agent.VERSION ?? "0")
		.split(".")
		.map(Number);
	if (piMajor === 0 && piMinor < 87) {
		throw new Error(
			`pi-subagents needs pi 0.87 or later, and this is pi ${agent.VERSION}. Update it with \`npm install -g @earendil-works/pi-coding-agent\`.`,
		);
	}
	if (!hasBundle()) return (await import("./src/index.ts")).default(pi);
	globalThis[Symbol.for("pi-subagents.host")] = {
		"@earendil-works/pi-coding-agent": agent,
		"@earendil-works/pi-tui": await import("@earendil-works/pi-tui"),
		typebox: await import("typebox"),
		"typebox/compile": await import("typebox/compile"),
	};
	// Natively, and so with the compiled code that Node keeps. After `/reload` it may be another one.
	const require = createRequire(import.meta.url);
	delete require.cache[require.resolve(BUNDLE)];
	return require(BUNDLE).default(pi);
}

/** Of this very source; a published package has no other. */
function hasBundle() {
	if (!existsSync(SOURCE)) return true;
	return existsSync(BUNDLE) && isOlder(SOURCE, lstatSync(BUNDLE).mtimeMs);
}

/** Whether a directory, and all that is in it, has not changed since. */
function isOlder(path, time) {
	if (lstatSync(path).mtimeMs >= time) return false;
	return readdirSync(path, { withFileTypes: true }).every((entry) => {
		const inside = join(path, entry.name);
		return entry.isDirectory() ? isOlder(inside, time) : lstatSync(inside).mtimeMs < time;
	});
}
