import { reportFailure } from "../present/text.ts";
import type { Row } from "./row.ts";

/** One task of a call, as a script gets it. */
interface StructuredTask {
	readonly name: string;
	/** In the words of the tool's own text. */
	readonly status: string;
	readonly sessionId: string;
	/** The whole answer, or what a failed task had written. */
	readonly text: string;
	/** The value, where its definition has a schema for it. */
	readonly result?: unknown;
	/** Only where the task has failed. */
	readonly error?: string;
}

const text = { type: "string" };
const MAX_DIRECT_BYTES = 20_000;

/** What scripts (codemode of pi 1.x) receive instead of the text. pi 0.87 has no scripts, and its types no such fields. */
export const STRUCTURED_OUTPUT: object = {
	outputSchema: {
		type: "object",
		required: ["tasks"],
		properties: {
			tasks: {
				type: "array",
				items: {
					type: "object",
					required: ["name", "status", "sessionId", "text"],
					properties: { name: text, status: text, sessionId: text, text, result: {}, error: text },
				},
			},
		},
	},
};

/** pi names a call that another tool makes after that tool's own call: `<its id>/<n>`. */
export const isNested = (callId: string): boolean => callId.includes("/");

/**
 * The result of a call as values, for a script. A call of the model gets them only where an answer is a value and all is
 * small: pi carries them a second time in every record of the call.
 */
export function structuredContent(
	callId: string,
	rows: readonly Row[],
	statusOf: (row: Row) => string,
): { readonly structuredContent?: { readonly tasks: readonly StructuredTask[] } } {
	const isTyped = rows.some(({ state }) => state.finalized?.status === "SUCCESS" && state.finalized.typed === true);
	if (!isNested(callId) && !isTyped) return {};
	const tasks = rows.map((row) => taskOf(row, statusOf(row)));
	if (!isNested(callId) && Buffer.byteLength(JSON.stringify(tasks)) > MAX_DIRECT_BYTES) return {};
	return { structuredContent: { tasks } };
}

function taskOf({ request, state: { phase } }: Row, status: string): StructuredTask {
	const shared = { name: request.label, status, sessionId: request.sessionId };
	if (phase.kind !== "done") return { ...shared, text: "" };
	const { outcome, text: written, finalized } = phase.result;
	if (outcome.kind === "completed") {
		const value = finalized?.status === "SUCCESS" && finalized.typed === true ? { result: finalized.result } : {};
		return { ...shared, text: outcome.text, ...value };
	}
	return { ...shared, text: written, error: reportFailure(outcome.failure) };
}
