import type { Finalized } from "../domain/finalized.ts";
import type { RunResult } from "../domain/state.ts";
import { shorten } from "./answer-lines.ts";
import { errorText } from "./preset-text.ts";
import { remarksOn } from "./remarks.ts";

/** The words of an agent call. A failed one has no answer, and so none of its words. */
export type AgentStatus = Finalized["status"] | "FAILED";

export const agentStatusOf = ({ outcome, finalized }: RunResult): AgentStatus =>
	outcome.kind === "failed" ? "FAILED" : (finalized?.status ?? "SUCCESS");

/** How to answer a question. */
const answering = ({ finalized }: RunResult, sessionId: string): string =>
	finalized?.status === "QUESTION"
		? `\n\nTo answer, make the same call with sessionId "${sessionId}" and your answer as task.`
		: "";

/** What an agent handed over, under a header that says how it went and where to go on; at most `limit` characters of it. */
export function agentAnswer(sessionId: string, result: RunResult, limit: number): string {
	const { outcome, text } = result;
	const notes = remarksOn(result)
		.map((remark) => `\n**Note:** ${remark}`)
		.join("");
	if (outcome.kind === "completed") {
		return `**Status:** ${agentStatusOf(result)}\n**Session ID:** \`${sessionId}\`${notes}\n\n---\n\n${shorten(outcome.text, sessionId, limit)}${answering(result, sessionId)}`;
	}
	const error = errorText(outcome.failure);
	if (outcome.failure.kind === "rejected") return error; // it never began, so there is nothing to go on with
	const failed = `${error}\n**Session ID:** \`${sessionId}\` (call the agent again with it to go on)${notes}`;
	return text === "" ? failed : `${failed}\n\nWhat it had written:\n\n${shorten(text, sessionId, limit)}`;
}
