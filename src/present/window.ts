import type { Usage } from "@earendil-works/pi-ai";
import type { ChatMessage } from "../domain/event.ts";
import type { RunSpec } from "../domain/spec.ts";
import { type Entry, messagesOf, type RunState } from "../domain/state.ts";
import { sanitize } from "./sanitize.ts";
import { type DelegateStatus, delegateStatusOf, describeFailure, exitCodeOf } from "./text.ts";
import { toolCallLine } from "./tool-call.ts";

export interface WindowLine {
	readonly text: string;
	readonly kind: "text" | "tool";
}

/** What a task looks like from outside: a part of the tool's details, so it is plain JSON. */
export interface TaskWindow {
	readonly name: string;
	readonly sessionId: string;
	readonly status: DelegateStatus;
	readonly lines: readonly WindowLine[];
	readonly allMessages: readonly ChatMessage[];
	readonly exitCode: number | null;
	readonly model?: string;
	readonly stopReason?: string;
	readonly errorMessage?: string;
	readonly profileName?: string;
	readonly timeout: number;
	/** 0 while the task waits for its turn. */
	readonly startedAt: number;
	readonly completedAt?: number;
	readonly toolCalls: number;
	readonly usage: Usage;
}

/** A task of a call, whether it could be planned or not. */
export interface ShownTask {
	readonly name: string;
	readonly sessionId: string;
	readonly timeoutSeconds: number;
	readonly profile: string | undefined;
	readonly spec: RunSpec | undefined;
	readonly state: RunState;
}

const MAX_LINES = 500;
/** What the details of one finished task may add to the session file. */
const MAX_MESSAGES_BYTES = 32 * 1024;

/** While a call runs, every update is sent and redrawn as a whole: it carries the last lines and no messages. */
export const partialWindow = (task: ShownTask, maxLines: number): TaskWindow => windowOf(task, maxLines, []);

export const finalWindow = (task: ShownTask): TaskWindow =>
	windowOf(task, MAX_LINES, newestWithin(messagesOf(task.state), MAX_MESSAGES_BYTES));

function windowOf(task: ShownTask, maxLines: number, allMessages: readonly ChatMessage[]): TaskWindow {
	const { state, spec, profile } = task;
	const result = state.phase.kind === "done" ? state.phase.result : undefined;
	const model = result?.model ?? spec?.model;
	const startedAt = state.phase.kind === "running" ? state.phase.since : (result?.startedAt ?? 0);
	return {
		name: task.name,
		sessionId: task.sessionId,
		status: delegateStatusOf(state),
		lines: linesOf(state, maxLines),
		allMessages,
		exitCode: result ? exitCodeOf(result.exit) : null,
		...(model && { model: `${model.provider}/${model.id}` }),
		...(result?.stopReason && { stopReason: result.stopReason }),
		...(result?.outcome.kind === "failed" && { errorMessage: describeFailure(result.outcome.failure) }),
		...(profile !== undefined && { profileName: profile }),
		timeout: task.timeoutSeconds,
		startedAt,
		...(result && { completedAt: result.endedAt }),
		toolCalls: state.toolCalls,
		usage: state.usage,
	};
}

/** The last lines, newest last: read from the end, so that a long run costs no more than a short one. */
function linesOf(state: RunState, max: number): WindowLine[] {
	const lines: WindowLine[] = textLines(state.partial).slice(-max);
	for (let index = state.entries.length - 1; index >= 0 && lines.length < max; index--) {
		const entry = state.entries[index];
		if (entry) lines.unshift(...entryLines(entry).slice(lines.length - max));
	}
	return lines;
}

function entryLines(entry: Entry): WindowLine[] {
	if (entry.kind === "stray") return textLines(entry.stream === "stderr" ? `[stderr]: ${entry.text}` : entry.text);
	const { message } = entry;
	if (message.role !== "assistant") return [];
	return message.content.flatMap((part) => {
		if (part.type === "text") return textLines(part.text);
		if (part.type === "toolCall") return [{ text: toolCallLine(part.name, part.arguments), kind: "tool" as const }];
		return [];
	});
}

function textLines(text: string): WindowLine[] {
	return sanitize(text)
		.split("\n")
		.map((line) => ({ text: line.trimEnd(), kind: "text" as const }))
		.filter((line) => line.text !== "");
}

function newestWithin(messages: readonly ChatMessage[], maxBytes: number): ChatMessage[] {
	const kept: ChatMessage[] = [];
	let bytes = 0;
	for (const message of messages.toReversed()) {
		bytes += Buffer.byteLength(JSON.stringify(message));
		if (bytes > maxBytes) break;
		kept.unshift(message);
	}
	return kept;
}
