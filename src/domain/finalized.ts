/** The tool by which the child of an agent call hands over its answer. */
export const FINALIZE_TOOL = "subagent_finalize";

/**
 * What an agent handed over. `ERROR` is an answer too: it could not do the task, and says why. `QUESTION` ends its run until
 * somebody answers it in the same session.
 */
export type Finalized =
	| { readonly status: "QUESTION"; readonly question: string }
	| { readonly status: "SUCCESS"; readonly result: string }
	| { readonly status: "ERROR"; readonly error: string; readonly result: string | undefined };

/** The answer in the arguments of a finalize call, or what is wrong with them. */
export function parseFinalized(input: unknown, asking: "may ask" | "must answer" = "may ask"): Finalized | string {
	const { status, result, error, question } = (typeof input === "object" && input !== null ? input : {}) as Record<
		string,
		unknown
	>;
	if (status === "SUCCESS") {
		const answer = textIn(result);
		return answer === undefined ? "SUCCESS needs a result: a text that is not empty" : { status, result: answer };
	}
	if (status === "ERROR") {
		const reason = textIn(error);
		if (reason === undefined) return "ERROR needs an error: a text that is not empty";
		return { status, error: reason, result: textIn(result) };
	}
	if (asking === "must answer") {
		const refusal = 'status must be "SUCCESS" or "ERROR"';
		return status === "QUESTION" ? `${refusal}: nobody answers questions here` : refusal;
	}
	if (status !== "QUESTION") return 'status must be "SUCCESS", "ERROR" or "QUESTION"';
	const asked = textIn(question);
	return asked === undefined ? "QUESTION needs a question: a text that is not empty" : { status, question: asked };
}

/** Numbers and booleans count as text, since pi makes text of them before it calls a tool. */
function textIn(value: unknown): string | undefined {
	const text = typeof value === "number" || typeof value === "boolean" ? String(value) : value;
	return typeof text === "string" && text.trim() !== "" ? text : undefined;
}
