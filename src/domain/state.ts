import type { Usage } from "@earendil-works/pi-ai";
import { type Activity, activityAfter } from "./activity.ts";
import type { ChatMessage, RunEvent, StopCause } from "./event.ts";
import { FINALIZE_TOOL, type Finalized, finalizedIn } from "./finalized.ts";
import { cut, cutFront, lastTextIn } from "./messages.ts";
import type { FailedModel } from "./provider-failure.ts";
import type { Question } from "./question.ts";
import { unreachable } from "./result.ts";
import { isPersonsStop, type RunResult } from "./run-result.ts";
import { delivered, type SentSteer, undelivered, withSteer } from "./steer.ts";
import { addUsage, noUsage } from "./usage.ts";
import type { BudgetWrapUp, WrapUp } from "./wrap-up.ts";

export type Phase =
	| { readonly kind: "queued" }
	| { readonly kind: "running"; readonly since: number }
	| { readonly kind: "done"; readonly result: RunResult };

/** What a run produced, in order. */
export type Entry =
	| { readonly kind: "message"; readonly message: ChatMessage }
	| { readonly kind: "stray"; readonly stream: "stdout" | "stderr" | "notice"; readonly text: string }
	/** A text that somebody sent it, where its model received it. */
	| { readonly kind: "steer"; readonly steer: SentSteer };

export interface RunState {
	readonly phase: Phase;
	readonly entries: readonly Entry[];
	/** The assistant text that is being written, or was when the run broke off; empty between messages. */
	readonly partial: string;
	/** What it does now; meaningless before it starts and after it has ended. */
	readonly activity: Activity;
	/** The time of the newest event that has one. */
	readonly at: number;
	/** Characters of the message that is being written: its text, its thoughts and its tool calls. */
	readonly written: number;
	readonly toolCalls: number;
	readonly messageCount: number;
	/** Answers of the model so far, also failed ones. */
	readonly turns: number;
	/** What it was sent while it ran, oldest first. */
	readonly steers: readonly SentSteer[];
	/** What it asks the person at the moment, oldest first. */
	readonly questions: readonly Question[];
	/** Since when it asks, and for how long it has stood still before: while it asks its time limit does, too. */
	readonly stood: { readonly since: number; readonly ms: number };
	readonly usage: Usage;
	readonly settled: boolean;
	readonly stopCause: StopCause | undefined;
	readonly finalized: Finalized | undefined;
	readonly wrapUp: WrapUp | undefined;
	readonly failedModels: readonly FailedModel[];
}

/** Keeps a run bounded in memory and `reduce` linear. */
const MAX_MESSAGES = 500;
const MAX_STRAY = 200;
export const MAX_STRAY_CHARS = 2_000;
const MAX_PARTIAL_CHARS = 1_000_000;

export const initialState: RunState = {
	phase: { kind: "queued" },
	entries: [],
	partial: "",
	activity: { kind: "starting" },
	at: 0,
	written: 0,
	toolCalls: 0,
	messageCount: 0,
	turns: 0,
	steers: [],
	questions: [],
	stood: { since: 0, ms: 0 },
	usage: noUsage,
	settled: false,
	stopCause: undefined,
	finalized: undefined,
	wrapUp: undefined,
	failedModels: [],
};

/** Half of it goes at a time: a text that is cut at every piece is copied at every piece. */
function grown(partial: string, piece: string): string {
	const whole = partial + piece;
	return whole.length <= MAX_PARTIAL_CHARS ? whole : cutFront(whole, MAX_PARTIAL_CHARS / 2);
}

export function reduce(state: RunState, event: RunEvent): RunState {
	if (state.phase.kind === "done") return state;
	const at = "at" in event ? event.at : state.at;
	// Whatever a run does while it is being stopped, it is wrapping up.
	const activity = state.stopCause ? state.activity : activityAfter(state.activity, event, at);
	return fold(at === state.at && activity === state.activity ? state : { ...state, at, activity }, event);
}

function fold(state: RunState, event: RunEvent): RunState {
	switch (event.type) {
		case "started":
			return begun(state, event.at);
		case "message":
			return withMessage(state, event.message);
		case "delta":
			return { ...state, partial: grown(state.partial, event.text), written: state.written + event.text.length };
		case "thinking":
			return { ...state, written: state.written + event.text.length };
		case "calling":
			return { ...state, written: state.written + event.chars };
		case "tool-started":
			return { ...state, toolCalls: state.toolCalls + 1 };
		case "spent":
			return { ...state, usage: addUsage(state.usage, event.usage) };
		case "stray":
			return withEntry(state, { kind: "stray", stream: event.stream, text: cut(event.text, MAX_STRAY_CHARS) });
		case "model-failed": {
			const { type: _type, ...failed } = event;
			return { ...state, failedModels: [...state.failedModels, failed] };
		}
		case "wrap-up":
			return { ...state, wrapUp: budgetWrapUp(state.wrapUp, event) };
		case "stopping":
			return { ...state, stopCause: state.stopCause ?? event.cause }; // the first one wins
		case "steer-queued":
			return withQueued(state, { ...event.steer, from: event.from, receipt: { kind: "queued" } });
		case "steer-received":
			return withReceived(state, event.ids);
		case "asked":
			return withQuestions(state, [...state.questions, event.question], event.at);
		case "question-closed":
			return withQuestions(
				state,
				state.questions.filter(({ id }) => id !== event.id),
				event.at,
			);
		case "working":
			return state.settled ? { ...state, settled: false } : state;
		case "settled":
			return { ...state, settled: state.stopCause === undefined };
		case "ended":
			return withResult(state, event.result);
		case "tool-ended":
		case "waiting":
		case "admitted":
		case "retrying":
		case "compacting":
		case "clock":
			return state;
		default:
			return unreachable(event);
	}
}

/** Also a second time, where a child that had left goes on with its session. */
function begun(state: RunState, at: number): RunState {
	return {
		...state,
		settled: false,
		phase: state.phase.kind === "running" ? state.phase : { kind: "running", since: at },
	};
}

/** The first reason counts; a budget counts more than time, because it stops the run. */
const budgetWrapUp = (before: WrapUp | undefined, { reason, stage }: BudgetWrapUp): BudgetWrapUp => ({
	reason: before?.reason.kind === "budget" ? before.reason : reason,
	stage,
});

function withQuestions(state: RunState, questions: RunState["questions"], at: number): RunState {
	const [did, does] = [state.questions.length > 0, questions.length > 0];
	const { since, ms } = state.stood;
	const stood = did && !does ? { since: 0, ms: ms + Math.max(0, at - since) } : { since: did ? since : at, ms };
	return { ...state, questions, stood };
}

/** A supervisor hands a steer that its first pi did not receive to the next one: it is the same steer. */
function withQueued(state: RunState, steer: SentSteer): RunState {
	if (state.steers.some(({ id }) => id === steer.id)) return state;
	return { ...state, steers: withSteer(state.steers, steer) };
}

function withReceived(state: RunState, ids: readonly string[]): RunState {
	const { steers, now } = delivered(state.steers, ids, state.turns + 1);
	const isLate = now.some(({ from }) => from === "limit");
	const wrapUp: RunState["wrapUp"] = isLate
		? (state.wrapUp ?? { reason: { kind: "time" }, stage: "told" })
		: state.wrapUp;
	return now.reduce((next, steer) => withEntry(next, { kind: "steer", steer }), { ...state, steers, wrapUp });
}

/** The result counts, where a full disk or a deleted directory has kept some of the events from us. */
function withResult(state: RunState, result: RunResult): RunState {
	const { usage, toolCalls, messageCount, finalized } = result;
	const steers = undelivered(state.steers);
	return {
		...state,
		usage,
		toolCalls,
		messageCount,
		finalized,
		steers,
		questions: [],
		phase: { kind: "done", result },
	};
}

function withMessage(state: RunState, message: ChatMessage): RunState {
	const usage = message.role === "user" ? undefined : message.usage;
	return {
		...withEntry(state, { kind: "message", message }),
		...(message.role === "assistant" && { partial: "", written: 0 }),
		messageCount: state.messageCount + 1,
		turns: state.turns + (message.role === "assistant" ? 1 : 0),
		usage: addUsage(state.usage, usage),
		// The first one counts, and none that a run writes while it is being stopped.
		finalized: state.finalized ?? (state.stopCause ? undefined : finalizedBy(message)),
	};
}

function withEntry(state: RunState, entry: Entry): RunState {
	const max = entry.kind === "message" ? MAX_MESSAGES : MAX_STRAY;
	const entries = [...state.entries, entry];
	if (entries.length <= MAX_STRAY) return { ...state, entries };
	const excess = entries.reduce((count, each) => count + (each.kind === entry.kind ? 1 : 0), 0) - max;
	if (excess > 0) {
		const oldest = entries.findIndex((each) => each.kind === entry.kind);
		entries.splice(oldest, 1);
	}
	return { ...state, entries };
}

function finalizedBy(message: ChatMessage): Finalized | undefined {
	if (message.role !== "toolResult" || message.toolName !== FINALIZE_TOOL || message.isError) return undefined;
	return finalizedIn(message.details);
}

export function messagesOf(state: RunState): readonly ChatMessage[] {
	return state.entries.flatMap((entry) => (entry.kind === "message" ? [entry.message] : []));
}

/** The text of the message being written, else of the last assistant message that has any. */
export function lastTextOf(state: RunState): string {
	return state.partial !== "" ? state.partial : lastTextIn(messagesOf(state));
}

export const isStoppedByPerson = ({ phase }: RunState): boolean =>
	phase.kind === "done" && phase.result.outcome.kind === "failed" && isPersonsStop(phase.result.outcome.failure);
