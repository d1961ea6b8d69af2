import type { Result } from "./result.ts";

/** The tool by which the child of an agent call hands over its answer. */
export const FINALIZE_TOOL = "subagent_finalize";

/**
 * What an agent handed over. `ERROR` is an answer too: it could not do the task, and says why. `QUESTION` ends its run until
 * somebody answers it in the same session.
 */
export type Finalized =
	| { readonly status: "QUESTION"; readonly question: string }
	| { readonly status: "SUCCESS"; readonly result: string; readonly typed?: false }
	/** A value of the schema that its definition has. */
	| { readonly status: "SUCCESS"; readonly result: unknown; readonly typed: true }
	| { readonly status: "ERROR"; readonly error: string; readonly result: string | undefined };

/** A value that fits, or what does not. */
export type FitsSchema = (value: unknown) => Result<unknown>;

/** The answer in the arguments of a finalize call, or what is wrong with them. `fits`: with SUCCESS it is a value, not a text. */
export function parseFinalized(
	input: unknown,
	asking: "may ask" | "must answer" = "may ask",
	fits?: FitsSchema,
): Finalized | string {
	const { status, result, error, question } = (typeof input === "object" && input !== null ? input : {}) as Record<
		string,
		unknown
	>;
	if (status === "SUCCESS") return parseSuccess(result, fits);
	if (status === "ERROR") {
		const reason = textIn(error);
		if (reason === undefined) return "ERROR needs an error: a text that is not empty";
		return { status, error: reason, result: textIn(fits && typeof result === "object" ? jsonOf(result) : result) };
	}
	if (asking === "must answer") {
		const refusal = 'status must be "SUCCESS" or "ERROR"';
		return status === "QUESTION" ? `${refusal}: nobody answers questions here` : refusal;
	}
	if (status !== "QUESTION") return 'status must be "SUCCESS", "ERROR" or "QUESTION"';
	const asked = textIn(question);
	return asked === undefined ? "QUESTION needs a question: a text that is not empty" : { status, question: asked };
}

function parseSuccess(result: unknown, fits: FitsSchema | undefined): Finalized | string {
	if (fits) {
		const value = fits(result);
		return value.ok ? { status: "SUCCESS", result: value.value, typed: true } : value.error;
	}
	const answer = textIn(result);
	if (answer === undefined) return "SUCCESS needs a result: a text that is not empty";
	return { status: "SUCCESS", result: answer };
}

/** The answer that a finalize call has left in its result. */
export function finalizedIn(details: unknown): Finalized | undefined {
	const { status, result, typed } = (typeof details === "object" && details !== null ? details : {}) as Record<
		string,
		unknown
	>;
	if (typed === true && status === "SUCCESS" && result !== undefined) return { status, result, typed };
	const answer = parseFinalized(details);
	return typeof answer === "string" ? undefined : answer;
}

/** What an answer says. A typed one is JSON, whatever it is. */
export const textOfSuccess = (answer: Extract<Finalized, { status: "SUCCESS" }>): string =>
	answer.typed === true ? JSON.stringify(answer.result) : answer.result;

const jsonOf = (value: unknown) => (value === null ? undefined : JSON.stringify(value));

/** Numbers and booleans count as text, since pi makes text of them before it calls a tool. */
function textIn(value: unknown): string | undefined {
	const text = typeof value === "number" || typeof value === "boolean" ? String(value) : value;
	return typeof text === "string" && text.trim() !== "" ? text : undefined;
}
