import { VALIDATOR } from "./output-check.ts";

// pi's loader first imports an ES module natively, where pi's own packages are not to be found. When that fails it evaluates
// the file itself, with `module` in scope and pi's packages at hand.
if (typeof module === "undefined") throw new Error("to be evaluated by pi's extension loader");

/** Loaded by pi in children that must hand over a typed answer: gives pi's own validator to the child extension. */
export default async function validator(): Promise<void> {
	const { Compile } = await import("typebox/compile");
	(globalThis as Record<symbol, unknown>)[VALIDATOR] = Compile;
}
