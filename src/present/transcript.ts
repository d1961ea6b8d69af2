import type { ChatMessage } from "../domain/event.ts";
import type { RunStatus } from "../domain/kept-run.ts";
import { cut, describeMessage, textOf } from "../domain/messages.ts";

/** A message, or a note in its place: something that could not be kept. */
export type HistoryMessage = ChatMessage | { readonly role: "note"; readonly text: string };

/** One run of a session, with all that is still known of it. */
export interface RunHistory {
	readonly status: RunStatus;
	/** What was asked, without files and earlier runs. */
	readonly prompt: string;
	readonly messages: readonly HistoryMessage[];
	/** The text that was being written when the run broke off. */
	readonly partial: string;
	readonly messageCount: number;
	readonly errorMessage: string | undefined;
	readonly remarks: readonly string[];
	readonly receipt: readonly string[];
}

const MAX_ARGUMENT_CHARS = 120;
const MAX_RESULT_CHARS = 500;
const PREVIOUSLY = "Previously:\n\n";

/** What `get_subagent_session` returns. */
export function sessionTranscript(runs: readonly RunHistory[]): string {
	return runs
		.map((run, index) => {
			const header = runs.length > 1 ? [`=== Run ${index + 1}/${runs.length} (${run.status}) ===`] : [];
			const parts = [...missingMessages(run), ...transcriptMessages(run, index).flatMap(describe)];
			const lastWords = run.partial === "" ? [] : [run.partial];
			const said = run.messages.some(
				(message) => message.role === "assistant" && message.errorMessage === run.errorMessage,
			);
			const error = run.errorMessage === undefined || said ? [] : [`[Error: ${run.errorMessage}]`];
			const remarks = [...run.remarks, ...run.receipt].map((remark) => `[${remark}]`);
			return [...header, ...parts, ...lastWords, ...error, ...remarks].join("\n");
		})
		.join("\n---\n");
}

const describe = (message: HistoryMessage): string[] =>
	message.role === "note" ? [message.text] : describeMessage(message);

/** A later run's first message repeats all runs before it: only what was asked is told. */
function transcriptMessages({ messages, prompt }: RunHistory, index: number): readonly HistoryMessage[] {
	const [first, ...rest] = messages;
	const repeats = index > 0 && first?.role === "user" && textOf(first).includes(PREVIOUSLY);
	return repeats ? [{ role: "note", text: prompt }, ...rest] : messages;
}

/** The session's own entry has only the newest messages of a run. */
function missingMessages({ messages, messageCount }: RunHistory): string[] {
	const missing = messageCount - messages.filter(({ role }) => role !== "note").length;
	if (missing <= 0) return [];
	return [`[${missing} earlier ${missing === 1 ? "message is" : "messages are"} missing: only the newest are kept]`];
}

/** The prompt of a task that goes on with a session. */
export function resumePrompt(runs: readonly RunHistory[], prompt: string): string {
	const told = runs.map((run, index) => {
		const remarks = run.remarks.map((remark) => `, ${remark}`).join("");
		const header = `--- Run ${index + 1} (${run.status}, ${run.messageCount} messages${remarks}) ---`;
		// The first message is the prompt with its files and its own "Previously": told again and again it would explode.
		const lines = [`User: ${run.prompt}`, ...run.messages.slice(startOf(run.messages)).flatMap(resumeLines)];
		if (run.partial !== "") lines.push(`Assistant: ${run.partial}`);
		if (run.errorMessage !== undefined) lines.push(`Error: ${run.errorMessage}`);
		return [header, ...lines].join("\n");
	});
	return `${PREVIOUSLY}${told.join("\n\n")}\n\nInstructions:\n\n${prompt}`;
}

const startOf = (messages: readonly HistoryMessage[]) => (messages[0]?.role === "user" ? 1 : 0);

function resumeLines(message: HistoryMessage): string[] {
	switch (message.role) {
		case "note":
			return [message.text];
		case "user":
			return [`User: ${textOf(message)}`];
		case "toolResult":
			return [`Tool Result: ${cut(textOf(message), MAX_RESULT_CHARS)}`];
		case "assistant":
			return message.content.flatMap((part) => {
				if (part.type === "text") return part.text === "" ? [] : [`Assistant: ${part.text}`];
				if (part.type !== "toolCall") return [];
				return [`Tool Call: ${part.name}(${cut(JSON.stringify(part.arguments) ?? "", MAX_ARGUMENT_CHARS)})`];
			});
	}
}
