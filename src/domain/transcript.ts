import type { AssistantMessage } from "@earendil-works/pi-ai";
import type { RunEvent } from "./event.ts";
import { cut, cutFront, textOf } from "./messages.ts";
import type { Entry, RunState } from "./state.ts";
import type { SentSteer } from "./steer.ts";

/** One thing that a run was told, thought, said or did: as much of it as a person is shown. */
export type Step =
	| { readonly kind: "told" | "thought" | "said" | "failed" | "stray"; readonly text: string }
	| { readonly kind: "steer"; readonly steer: SentSteer }
	| CallStep;

/** A tool call of the model. */
export interface CallStep {
	readonly kind: "call";
	readonly id: string;
	readonly name: string;
	readonly args: unknown;
	/** 0 before it has begun, or where nobody saw that. */
	readonly since: number;
	readonly result: CallResult | undefined;
}

export interface CallResult {
	readonly isError: boolean;
	/** The first lines. */
	readonly head: readonly string[];
	/** Of the whole result. */
	readonly lines: number;
	/** How long the call took; 0 where nobody saw it begin. */
	readonly ms: number;
}

/** The whole of a run, where its state has only the newest messages. Grows as the run does. */
export interface Transcript {
	readonly steps: readonly Step[];
	/** The event, and the state after it. */
	add(event: RunEvent, state: RunState): void;
}

const MAX_TEXT_CHARS = 100_000;
const HEAD_LINES = 6;
const MAX_HEAD_LINE_CHARS = 1_000;

export function createTranscript(): Transcript {
	const steps: Step[] = [];
	/** Where the calls stand that have no result yet. */
	const open = new Map<string, number>();
	let seen: readonly Entry[] = [];
	let isFirst = true;
	const change = (callId: string, change: (call: CallStep) => CallStep) => {
		const index = open.get(callId) ?? -1;
		const call = steps[index];
		if (call?.kind === "call") steps[index] = change(call);
	};
	const push = (step: Step) => {
		if (step.kind === "call") open.set(step.id, steps.length);
		steps.push(step);
	};
	const take = (entry: Entry, at: number) => {
		if (entry.kind !== "message" || entry.message.role !== "toolResult") {
			for (const step of stepsOf(entry, isFirst)) push(step);
			isFirst &&= entry.kind !== "message";
			return;
		}
		const { toolCallId, isError } = entry.message;
		const text = textOf(entry.message);
		change(toolCallId, (call) => ({
			...call,
			result: { ...headOf(text), isError, ms: call.since > 0 ? Math.max(0, at - call.since) : 0 },
		}));
		open.delete(toolCallId);
	};
	return {
		steps,
		add(event, { entries, at }) {
			if (event.type === "tool-started") change(event.callId, (call) => ({ ...call, since: at }));
			if (entries === seen) return;
			const last = seen.at(-1);
			for (const entry of entries.slice(last ? entries.lastIndexOf(last) + 1 : 0)) take(entry, at);
			seen = entries;
		},
	};
}

/** The last message of the model. */
export function lastAnswerOf({ entries }: RunState): AssistantMessage | undefined {
	const last = entries.findLast((entry) => entry.kind === "message" && entry.message.role === "assistant");
	return last?.kind === "message" && last.message.role === "assistant" ? last.message : undefined;
}

/** The same of what a state still has. */
export function stepsIn(state: RunState): readonly Step[] {
	const transcript = createTranscript();
	transcript.add({ type: "clock", at: 0 }, { ...state, at: 0 });
	return transcript.steps;
}

/** The first message is the task, which stands elsewhere. */
function stepsOf(entry: Entry, isFirst: boolean): Step[] {
	if (entry.kind === "steer") return [{ kind: "steer", steer: entry.steer }];
	if (entry.kind === "stray") return [{ kind: "stray", text: `[${entry.stream}]: ${entry.text}` }];
	const { message } = entry;
	if (message.role === "user") return isFirst ? [] : textStep("told", textOf(message));
	if (message.role !== "assistant") return [];
	const said = message.content.flatMap((part): Step[] => {
		if (part.type === "text") return textStep("said", part.text);
		if (part.type === "thinking") return textStep("thought", String(part.thinking ?? ""));
		if (part.type !== "toolCall") return [];
		return [{ kind: "call", id: part.id, name: part.name, args: part.arguments, since: 0, result: undefined }];
	});
	return [...said, ...textStep("failed", message.errorMessage ?? "")];
}

const textStep = (kind: "told" | "thought" | "said" | "failed", text: string): Step[] =>
	text.trim() === "" ? [] : [{ kind, text: cutFront(text, MAX_TEXT_CHARS) }];

function headOf(text: string): Pick<CallResult, "head" | "lines"> {
	const lines = text.trim().split("\n");
	return { head: lines.slice(0, HEAD_LINES).map((line) => cut(line, MAX_HEAD_LINE_CHARS)), lines: lines.length };
}
