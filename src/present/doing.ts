import type { Activity, RunningCall } from "../domain/activity.ts";
import { cut, cutFront } from "../domain/messages.ts";
import type { Question } from "../domain/question.ts";
import { unreachable } from "../domain/result.ts";
import type { RunState } from "../domain/state.ts";
import { sanitizeLine } from "./sanitize.ts";
import { type PreviewPlace, toolCallLines } from "./tool-call.ts";
import { durationText } from "./units.ts";

/** What a task does now, as its details have it: plain JSON, and short. */
export interface Doing {
	/** `thinking`, `writing`, a tool's name … */
	readonly word: string;
	readonly text: string;
	/** Which end of the text matters where it does not fit. */
	readonly keep: "start" | "end";
	/** Milliseconds that do not count against its time limit. */
	readonly stood?: number;
	/** Since when, where that is worth a column; else 0. */
	readonly since: number;
	/** What stands behind the text however little room there is. */
	readonly tail?: { readonly long: string; readonly short: string };
	/** When the next attempt is made, and which one that is. */
	readonly retry?: { readonly attempt: number; readonly of: number; readonly at: number };
}

const MAX_TEXT_CHARS = 300;

export function doingOf(state: RunState, place: PreviewPlace): Doing {
	const [question] = state.questions;
	if (question) return askingText(question, state.questions.length - 1);
	const doing = activityText(state, place);
	const isModels = state.activity.kind === "thinking" || state.activity.kind === "writing";
	const stood = state.stood.ms > 0 ? { stood: state.stood.ms } : {};
	return { ...doing, ...stood, ...(state.wrapUp && isModels ? { word: "wrapping up" } : {}) };
}

function activityText({ activity, partial }: RunState, place: PreviewPlace): Doing {
	const doing = (word: string, text = "", since = 0): Doing => ({ word, text, keep: "end", since });
	switch (activity.kind) {
		case "starting":
			return doing("starting");
		case "thinking":
			return doing("thinking", endOf(activity.thought), activity.since);
		case "compacting":
			return { ...doing("thinking", "compacting its context", activity.since), keep: "start" };
		case "waiting": {
			const queue = `for ${sanitizeLine(activity.for)} (${activity.before} before it)`;
			return { ...doing("waiting", queue, activity.since), keep: "start" };
		}
		case "writing":
			if (activity.call === undefined) return doing("writing", endOf(partial));
			return { ...doing("writing", `a call of ${sanitizeLine(activity.call)}`), keep: "start" };
		case "tools":
			return toolDoing(activity, place);
		case "retrying": {
			const retry = { attempt: activity.attempt, of: activity.of, at: activity.nextAt };
			return { ...doing("retrying", cut(shortError(activity.reason), MAX_TEXT_CHARS)), keep: "start", retry };
		}
		case "wrapping-up":
			return doing("wrapping up");
		default:
			return unreachable(activity);
	}
}

function askingText(question: Question, others: number): Doing {
	const message = question.kind === "confirm" ? ` ${question.message}` : "";
	const more = others > 0 ? ` (+${others} more)` : "";
	return {
		word: "asks",
		text: cut(sanitizeLine(question.title + message), MAX_TEXT_CHARS) + more,
		keep: "start",
		since: 0,
	};
}

/** The newest of the tools that run side by side. */
function toolDoing({ calls }: Extract<Activity, { kind: "tools" }>, place: PreviewPlace): Doing {
	const call = calls.at(-1);
	if (!call) return { word: "thinking", text: "", keep: "end", since: 0 };
	const { word, text } = callText(call, place);
	const more = calls.length > 1 ? ` (+${calls.length - 1} more)` : "";
	return { word, text: cut(text + more, MAX_TEXT_CHARS), keep: "start", since: call.since };
}

/** A tool's name, and what its call is about. */
export function callText({ name, args }: Pick<RunningCall, "name" | "args">, place: PreviewPlace) {
	const [line] = toolCallLines(name, args, place);
	return partsOfCall(line?.text ?? name);
}

/** `read → src/a.ts` or `deploy {"to":1}` in its two parts. */
export function partsOfCall(line: string): { readonly word: string; readonly text: string } {
	const found = /^(\S+) (?:→ )?(.*)$/s.exec(line);
	return { word: found?.[1] ?? line, text: found?.[2] ?? "" };
}

const endOf = (text: string) => sanitizeLine(cutFront(text, MAX_TEXT_CHARS));

/** A running task, as far as it matters for what is said of it. */
export interface Timed {
	readonly startedAt: number;
	/** Seconds; 0 = no limit. */
	readonly timeout: number;
	/** Seconds without a tool call that it may take after its limit. */
	readonly grace?: number;
	readonly doing?: Doing;
}

/** What is said of a running task at this moment: clocks go on between two events. */
export function doingNow(task: Timed, now: number): Doing {
	const { startedAt, timeout, grace = 0, doing = STARTING } = task;
	if (
		timeout > 0 &&
		now - startedAt - (doing.stood ?? 0) > timeout * 1_000 &&
		doing.word !== "wrapping up" &&
		doing.word !== "asks"
	) {
		const end = grace > 0 ? `ends after ${durationText(grace * 1_000)} without a tool call` : "is being stopped";
		return { word: "over", text: `its ${durationText(timeout * 1_000)} limit: ${end}`, keep: "start", since: 0 };
	}
	if (!doing.retry) return doing;
	const { attempt, of, at } = doing.retry;
	const next = at > now ? `in ${durationText(at - now + 999)}` : "now";
	const long = ` (attempt ${attempt} of ${of}, ${at > now ? `next ${next}` : next})`;
	return { ...doing, tail: { long, short: ` (${attempt}/${of}, ${next})` } };
}

/** `529: {"message":"Overloaded","type":…}` is `529 Overloaded` to a person. */
export function shortError(text: string): string {
	const [, status = "", body = ""] = /^\s*(?:(\d{3})\b[:\s]*)?(\{.*)$/s.exec(text) ?? [];
	const message = messageIn(body);
	if (message === undefined) return sanitizeLine(text);
	return sanitizeLine(message.startsWith(status) ? message : `${status} ${message}`);
}

function messageIn(json: string): string | undefined {
	try {
		const value = JSON.parse(json) as { message?: unknown; error?: { message?: unknown } };
		const message = value.message ?? value.error?.message;
		return typeof message === "string" && message !== "" ? message : undefined;
	} catch {
		return undefined;
	}
}

const STARTING: Doing = { word: "starting", text: "", keep: "end", since: 0 };
