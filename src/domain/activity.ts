import type { RunEvent } from "./event.ts";
import { cutFront } from "./messages.ts";
import { unreachable } from "./result.ts";

/** What a run does at this moment. Times are those of its own events, so a reader that comes late sees the same. */
export type Activity =
	/** No model has been asked yet. */
	| { readonly kind: "starting" }
	/** The model has the word; `thought` is the end of what it thinks, where its provider shows that. */
	| { readonly kind: "thinking"; readonly since: number; readonly thought: string }
	| { readonly kind: "compacting"; readonly since: number }
	/** For a slot of its provider or model. */
	| { readonly kind: "waiting"; readonly since: number; readonly for: string; readonly before: number }
	/** It writes text, or the arguments of a tool call. */
	| { readonly kind: "writing"; readonly since: number; readonly call: string | undefined }
	/** Tools that run, the newest last. */
	| { readonly kind: "tools"; readonly calls: readonly RunningCall[] }
	| {
			readonly kind: "retrying";
			readonly reason: string;
			readonly attempt: number;
			readonly of: number;
			readonly nextAt: number;
	  }
	/** It has said all it had to say, or it is being stopped. */
	| { readonly kind: "wrapping-up"; readonly since: number };

export interface RunningCall {
	readonly id: string;
	readonly name: string;
	readonly args: unknown;
	readonly since: number;
}

const MAX_THOUGHT_CHARS = 4_000;

/** The activity after an event that came at this time. */
export function activityAfter(before: Activity, event: RunEvent, at: number): Activity {
	switch (event.type) {
		case "started":
			return { kind: "starting" };
		case "working":
			return asking(before, at);
		case "thinking":
			return thinking(before, event.text, at);
		case "delta":
			return writing(before, undefined, at);
		case "calling":
			return writing(before, event.tool, at);
		case "tool-started":
			return withCall(before, { id: event.callId, name: event.name, args: event.args, since: at });
		case "tool-ended":
			return withoutCall(before, event.callId, at);
		case "message":
			if (event.message.role === "toolResult") return withoutCall(before, event.message.toolCallId, at);
			return event.message.role === "assistant" ? { kind: "thinking", since: at, thought: "" } : asking(before, at);
		case "retrying":
			return { ...{ kind: "retrying", reason: event.reason }, ...event.counted, nextAt: at + event.delayMs };
		case "waiting":
			return {
				kind: "waiting",
				since: before.kind === "waiting" ? before.since : at,
				for: event.for,
				before: event.before,
			};
		case "admitted":
			return { kind: "thinking", since: at, thought: "" };
		case "compacting":
			return { kind: "compacting", since: at };
		case "spent":
			return before.kind === "compacting" ? { kind: "thinking", since: at, thought: "" } : before;
		case "stopping":
		case "settled":
			return { kind: "wrapping-up", since: at };
		case "clock":
		case "wrap-up":
		case "steer-queued":
		case "steer-received":
		case "model-failed":
		case "stray":
		case "asked":
		case "question-closed":
		case "ended":
			return before;
		default:
			return unreachable(event);
	}
}

/**
 * The model has been asked. A child that waits for its slot goes on waiting: that it waits is told on another way than what
 * it prints, and may be heard first.
 */
const asking = (before: Activity, at: number): Activity =>
	before.kind === "waiting" ? before : { kind: "thinking", since: at, thought: "" };

function thinking(before: Activity, piece: string, at: number): Activity {
	if (before.kind !== "thinking") return { kind: "thinking", since: at, thought: piece };
	const whole = before.thought + piece;
	// Half of it goes at a time: a text that is cut at every piece is copied at every piece.
	const thought = whole.length <= MAX_THOUGHT_CHARS ? whole : cutFront(whole, MAX_THOUGHT_CHARS / 2);
	return { ...before, thought };
}

function writing(before: Activity, call: string | undefined, at: number): Activity {
	if (before.kind !== "writing") return { kind: "writing", since: at, call };
	return call === undefined || call === before.call ? before : { ...before, call };
}

function withCall(before: Activity, call: RunningCall): Activity {
	const others = before.kind === "tools" ? before.calls.filter(({ id }) => id !== call.id) : [];
	return { kind: "tools", calls: [...others, call] };
}

function withoutCall(before: Activity, callId: string, at: number): Activity {
	if (before.kind !== "tools") return before;
	const calls = before.calls.filter(({ id }) => id !== callId);
	return calls.length > 0 ? { kind: "tools", calls } : { kind: "thinking", since: at, thought: "" };
}
