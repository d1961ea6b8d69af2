import type { EarlierSession } from "../domain/earlier-session.ts";
import type { Finalized } from "../domain/finalized.ts";
import type { RunResult } from "../domain/run-result.ts";
import { shorten } from "./answer-lines.ts";
import { errorText } from "./preset-text.ts";
import { saidOf } from "./remarks.ts";
import { sanitizeLine } from "./sanitize.ts";

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
export function agentAnswer(
	sessionId: string,
	session: EarlierSession | undefined,
	result: RunResult,
	limit: number,
): string {
	const { outcome, text } = result;
	const { remarks, receipt } = saidOf(result);
	const lines = [
		...(session === undefined ? [] : [`**Session:** ${describeSession(session)}`]),
		...remarks.map((remark) => `**Note:** ${remark}`),
		...receipt.map((line) => `**Receipt:** ${line}`),
	];
	const notes = lines.map((line) => `\n${line}`).join("");
	if (outcome.kind === "completed") {
		return `**Status:** ${agentStatusOf(result)}\n**Session ID:** \`${sessionId}\`${notes}\n\n---\n\n${shorten(outcome.text, sessionId, limit)}${answering(result, sessionId)}`;
	}
	const error = errorText(outcome.failure);
	if (outcome.failure.kind === "rejected") return error; // it never began, so there is nothing to go on with
	const failed = `${error}\n**Session ID:** \`${sessionId}\` (call the agent again with it to go on)${notes}`;
	return text === "" ? failed : `${failed}\n\nWhat it had written:\n\n${shorten(text, sessionId, limit)}`;
}

/** Whether the agent remembers anything: an id that was mistyped, or meant for another agent, must not pass unnoticed. */
function describeSession(session: EarlierSession): string {
	if (session.kind === "continued") {
		return `continued, ${session.messages} ${session.messages === 1 ? "message" : "messages"}`;
	}
	const { others } = session;
	return others.length === 0 ? "new" : `new (the id is also a session of ${sanitizeLine(others.join(", "))})`;
}
