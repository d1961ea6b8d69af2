import { cut } from "../domain/messages.ts";

/** The beginning of a text, and where the rest is: the line that was cut, or comes next, is where reading on begins. */
export function shorten(whole: string, sessionId: string, limit: number): string {
	if (whole.length <= limit) return whole;
	const shown = cut(whole, limit);
	const offset = shown.split("\n").length;
	return `${shown}\n\n[cut after ${limit} characters; get_subagent_output with sessionId "${sessionId}" and offset ${offset} reads on]`;
}

/** Lines `offset` (from 1) and on, at most `limit` of them, and how to go on where there are more. */
export function linesOf(whole: string, offset: number, limit: number | undefined): string {
	const lines = whole.replace(/\n$/, "").split("\n");
	if (offset > lines.length) return `[the answer has ${lines.length} lines]`;
	const part = lines.slice(offset - 1, limit === undefined ? undefined : offset - 1 + limit);
	const next = offset + part.length;
	const rest =
		next > lines.length ? "" : `\n\n[lines ${offset}-${next - 1} of ${lines.length}; offset ${next} reads on]`;
	return `${part.join("\n")}${rest}`;
}
