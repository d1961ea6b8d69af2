import type { Outcome } from "../domain/run-result.ts";
import type { RunState } from "../domain/state.ts";

/** What a person sees of a task, the same wherever it is shown. */
export type TaskState = "running" | "queued" | "asks" | "done" | "failed" | "stopped" | "moved";

/** One cell each: a sign of two cells would move every name when it changes. */
export const SIGNS: Readonly<Record<TaskState, string>> = {
	running: "●",
	queued: "○",
	asks: "?",
	done: "✓",
	failed: "✗",
	stopped: "■",
	moved: "●",
};

/** Colours of pi's themes. */
export const SIGN_COLORS = {
	running: "accent",
	queued: "muted",
	asks: "warning",
	done: "success",
	failed: "error",
	stopped: "muted",
	moved: "muted",
} as const satisfies Record<TaskState, string>;

/** The word that stands in counts and lists. */
export const WORDS: Readonly<Record<TaskState, string>> = {
	running: "running",
	queued: "queued",
	asks: "asks",
	done: "done",
	failed: "failed",
	stopped: "stopped",
	moved: "in the background",
};

export function taskStateOf({ phase, questions }: RunState): TaskState {
	if (phase.kind === "running" && questions.length > 0) return "asks";
	if (phase.kind !== "done") return phase.kind;
	return endStateOf(phase.result.outcome);
}

/** Stopped by the person or by the agent that asked for it is stopped; everything else that went wrong is failed. */
export function endStateOf(outcome: Outcome): TaskState {
	if (outcome.kind === "completed") return "done";
	const { failure } = outcome;
	const stopped = failure.kind === "stopped" && failure.cause.kind === "aborted";
	return stopped && (failure.cause.by === "caller" || failure.cause.by === "person") ? "stopped" : "failed";
}

/** `4 running · 2 done · 9 queued`; what there is none of is left out. */
export function countsText(states: readonly TaskState[]): string {
	return COUNTED.flatMap((state) => {
		const count = states.filter((each) => each === state).length;
		return count > 0 ? [`${count} ${WORDS[state]}`] : [];
	}).join(" · ");
}

const COUNTED = ["running", "asks", "done", "failed", "stopped", "moved", "queued"] as const;

/** The same for a call that has ended: what failed comes first, and what is done is not counted beside it. */
export function endText(states: readonly TaskState[]): string {
	const failed = states.filter((state) => state === "failed").length;
	if (failed === 0) return countsText(states);
	const others = countsText(states.filter((state) => state !== "failed" && state !== "done"));
	return [`${failed} of ${states.length} failed`, ...(others === "" ? [] : [others])].join(" · ");
}
