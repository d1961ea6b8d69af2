// pi's loader imports an ES module natively first, and pi's own packages are then another copy of pi, or not to be found.
// When that fails the loader evaluates the file itself, with `module` in scope and pi's packages at hand.
declare const module: unknown;
if (typeof module === "undefined") throw new Error("this file is to be evaluated by pi's extension loader");

/** Loaded by pi before the child extension, where a child's extensions may ask: leaves a class of pi's for asking.ts. */
export default async function extensionRunner(): Promise<void> {
	const { ExtensionRunner } = await import("@earendil-works/pi-coding-agent");
	Object.assign(globalThis, { [Symbol.for("pi-subagents.extension-runner")]: ExtensionRunner });
}
