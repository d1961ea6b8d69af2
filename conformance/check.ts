import type { Shape } from "./shape.ts";

/** One question to an extension. `unknown` where it could not be put. */
export interface Check {
	readonly name: string;
	run(extension: string, shape: Shape): Promise<Finding>;
}

export interface Finding {
	readonly result: "pass" | "FAIL" | "unknown" | "figure";
	/** In a few words. */
	readonly seen: string;
}

export const pass = (seen: string): Finding => ({ result: "pass", seen });
export const fail = (seen: string): Finding => ({ result: "FAIL", seen });
export const unknown = (seen: string): Finding => ({ result: "unknown", seen });
export const verdict = (holds: boolean, seen: string): Finding => (holds ? pass(seen) : fail(seen));

/** What a result must say in some way when the child failed. */
const FAILURE = /error|fail|✗|abort|unauthori|interrupt|killed|crash|terminated|lost|stopp/i;

export const saysFailure = (told: { readonly isError: boolean; readonly text: string }): boolean =>
	told.isError || FAILURE.test(told.text);

const MAX_SEEN_CHARS = 90;

/** Text that somebody else has written, on one line. */
export function brief(text: string): string {
	// biome-ignore lint/suspicious/noControlCharactersInRegex: what it is about
	const line = text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ").trim();
	return line.length > MAX_SEEN_CHARS ? `${line.slice(0, MAX_SEEN_CHARS)}…` : line;
}
