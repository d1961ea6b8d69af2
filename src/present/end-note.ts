import { cut } from "../domain/messages.ts";
import type { Failure } from "../domain/run-result.ts";
import type { RunSpec } from "../domain/spec.ts";
import { messagesOf, type RunState } from "../domain/state.ts";
import { callText, shortError } from "./doing.ts";
import { sanitize, sanitizeLine } from "./sanitize.ts";
import { describeFailure } from "./text.ts";
import type { PreviewPlace } from "./tool-call.ts";
import { durationText } from "./units.ts";

const MAX_NOTE_CHARS = 300;
/** What Markdown puts before and around words. */
const LEADING_MARKS = /^(?:\s|#{1,6} |[-*+>] |\d+\. |\|)+/;
const MARKS = /[*_`]{1,3}/g;

/** How a task ended, in a line for a person; undefined while it has not. */
export function endNote(state: RunState, spec: RunSpec | undefined, place: PreviewPlace): string | undefined {
	if (state.phase.kind !== "done") return undefined;
	const { outcome } = state.phase.result;
	if (outcome.kind === "failed")
		return cut(sanitizeLine(reasonOf(outcome.failure, state, spec, place)), MAX_NOTE_CHARS);
	const first = firstLine(outcome.text);
	if (first === "") return "no text output";
	return cut(outcome.end === "output-limit" ? `cut by the output limit: ${first}` : first, MAX_NOTE_CHARS);
}

/** The first line of an answer that says something, without its Markdown. */
export function firstLine(text: string): string {
	const lines = sanitize(text)
		.split("\n")
		.filter((line) => /[\p{L}\p{N}]/u.test(line));
	const line = lines.find((each) => !/^\s*(?:#|```)/.test(each)) ?? lines[0] ?? ""; // a heading alone says little
	return line.replace(LEADING_MARKS, "").replace(MARKS, "").trim();
}

/** Shorter than what the model is told: a person sees the task beside it. */
function reasonOf(failure: Failure, state: RunState, spec: RunSpec | undefined, place: PreviewPlace): string {
	if (failure.kind === "model") return shortError(failure.message);
	if (failure.kind !== "stopped") return describeFailure(failure, spec?.family);
	const { cause } = failure;
	switch (cause.kind) {
		case "timeout":
			return timeoutText(cause.afterMs, spec);
		case "loop":
			return `Loop: ${lastCall(state, place) ?? cause.tool}, ${spec?.limits.repeatedCalls ?? "several"} times in a row`;
		case "aborted":
			if (cause.by === "person") return "stopped by you";
			if (cause.by === "caller")
				return state.phase.kind === "done" && neverStarted(state) ? "never started" : "stopped";
			return describeFailure(failure);
		default:
			return describeFailure(failure, spec?.family);
	}
}

function timeoutText(afterMs: number, spec: RunSpec | undefined): string {
	const graceMs = spec?.limits.idleGraceMs ?? 0;
	const grace = graceMs > 0 ? `, then ${durationText(graceMs)} without a tool call` : "";
	const advice = spec?.family === "delegate" ? " Resume it with a longer timeout." : "";
	return `Timed out: ${durationText(afterMs)} limit${grace}.${advice}`;
}

/** A task that was stopped before its turn has no process to show for it. */
export const neverStarted = ({ phase, messageCount }: RunState): boolean =>
	phase.kind === "done" && messageCount === 0 && phase.result.exit.kind === "unknown";

function lastCall(state: RunState, place: PreviewPlace): string | undefined {
	const calls = messagesOf(state).flatMap((message) =>
		message.role === "assistant" ? message.content.flatMap((part) => (part.type === "toolCall" ? [part] : [])) : [],
	);
	const last = calls.at(-1);
	if (!last) return undefined;
	const { word, text } = callText({ name: last.name, args: last.arguments }, place);
	return `${word} ${text}`.trim();
}
