import { dirname } from "node:path";
import type { Exit, StopCause } from "../domain/event.ts";
import { isBackground, type KeptRun, type RunStatus } from "../domain/kept-run.ts";
import { cut } from "../domain/messages.ts";
import { modelName } from "../domain/model-name.ts";
import { unreachable } from "../domain/result.ts";
import { type Failure, isPersonsStop, type Outcome } from "../domain/run-result.ts";
import type { RunSpec } from "../domain/spec.ts";
import type { RunState } from "../domain/state.ts";
import { describeWrapUp } from "../domain/wrap-up.ts";
import { sanitizeLine } from "./sanitize.ts";
import { SIGNS } from "./task-state.ts";

export { exitCodeOf, type RunStatus as DelegateStatus } from "../domain/kept-run.ts";

const MAX_NAME_CHARS = 200;
const MAX_ERROR_CHARS = 1_000;
const MAX_REPORT_CHARS = 4_000;

export function delegateStatusOf({ phase }: RunState): RunStatus {
	if (phase.kind !== "done") return "running";
	return phase.result.outcome.kind === "completed" ? "completed" : "error";
}

/** What went wrong, for the model and for the person: what happened, in whose words, and what to do where that is known. */
export function describeFailure(failure: Failure, family?: RunSpec["family"]): string {
	switch (failure.kind) {
		case "rejected":
		case "model":
			return failure.message;
		case "spawn":
			return `Failed to spawn sub-agent process: ${failure.message}`;
		case "exit":
			return withWords(describeExit(failure.exit), failure.stderr);
		case "silent":
			return withWords("Sub-agent ended without any answer of the model", failure.stderr);
		case "stopped":
			return describeStop(failure.cause, family);
		case "unfinalized":
			return `Sub-agent ended without a valid subagent_finalize call (${failure.attempts} corrections)`;
		case "lost":
			return "Sub-agent was lost: the process that watched over it ended unexpectedly";
		default:
			return unreachable(failure);
	}
}

/** The same for a run that a session remembers; undefined where it has not failed. */
export function describeEnd(run: KeptRun): string | undefined {
	const { progress } = run;
	if (progress.kind === "running" || progress.outcome.kind === "completed") return undefined;
	const { failure } = progress.outcome;
	switch (failure.kind) {
		case "interrupted":
			return "Session was interrupted (main agent session ended unexpectedly)";
		case "gone":
			return `Its run directory is gone, so nobody knows how it ended: ${run.directory}. Was the project moved, renamed or deleted meanwhile?`;
		case "told":
			return failure.message;
		case "closed":
			return describeClosed(run, failure.place);
		default:
			return describeFailure(failure, isBackground(run) ? undefined : run.family);
	}
}

const describeClosed = ({ directory, lifetime }: KeptRun, place: "directory" | "socket"): string =>
	place === "directory"
		? `Its directory is not private to you any more, so nothing is read from it: ${directory}`
		: `The directory of its socket is not private to you any more, so it is not followed: ${lifetime.kind === "background" ? dirname(lifetime.socket) : ""}`;

/** Why the session's own entry is all that is left of a run. */
export const describeDeletion = ({ at }: { readonly at: string | undefined }): string =>
	at === undefined
		? "its run directory is gone; this is what the session kept of it"
		: `its run directory was deleted at ${at} (settings runRetentionDays and maxRuns); this is what the session kept of it`;

/** The same for an answer that a parent's model reads: what others say in it may be of any length. */
export const reportFailure = (failure: Failure): string => cut(describeFailure(failure), MAX_REPORT_CHARS);

function describeStop(cause: StopCause, family: RunSpec["family"] | undefined): string {
	switch (cause.kind) {
		case "timeout":
			return `Timed out after ${cause.afterMs / 1_000}s.${family === "delegate" ? " Consider resuming with a longer timeout." : ""}`;
		case "loop":
			return "Loop detected: sub-agent is repeating the same tool calls";
		case "budget":
			return `Sub-agent was ${describeWrapUp(cause)} and gave no answer`;
		case "broken":
			return `Sub-agent was stopped because its supervisor failed: ${cause.message}`;
		case "aborted":
			return ABORTED[cause.by];
		default:
			return unreachable(cause);
	}
}

const ABORTED = {
	caller: "Sub-agent was aborted",
	person: "stopped by you",
	"parent-death": "Sub-agent was stopped because the main agent ended",
	signal: "Sub-agent was stopped from outside",
} as const;

function describeExit(exit: Exit): string {
	switch (exit.kind) {
		case "code":
			return exit.code === 0
				? "Sub-agent process ended before its work was done"
				: `Sub-agent process exited with code ${exit.code}`;
		case "signal":
			return `Sub-agent process was killed by ${exit.signal}`;
		case "refused":
			return exit.message;
		case "spawn-failed":
			return `Failed to spawn sub-agent process: ${exit.message}`;
		case "unknown":
			return "Sub-agent process ended, and nobody saw how";
		default:
			return unreachable(exit);
	}
}

const withWords = (what: string, stderr: string) => (stderr === "" ? what : `${what}: ${stderr}`);

/** A task that a person let go on as a background run. */
export const movedLine = (name: string, ids: { readonly runId: string; readonly sessionId: string }): string =>
	`${SIGNS.running} ${cut(sanitizeLine(name), MAX_NAME_CHARS)}: ${movedText(ids.runId)} (session: ${ids.sessionId})`;

export const movedText = (runId: string): string => `moved to the background (run: ${runId})`;

/** One task's line in the result of `delegate_to_subagents`: a line, and never a long one. */
export function summaryLine(name: string, sessionId: string, outcome: Outcome, spec: RunSpec | undefined): string {
	const label = cut(sanitizeLine(name), MAX_NAME_CHARS);
	const profile = spec?.agent ? ` (${describeProfile(spec)})` : "";
	if (outcome.kind === "failed") {
		if (isPersonsStop(outcome.failure))
			return `${SIGNS.stopped} ${label}: stopped by you (session: ${sessionId})${profile}`;
		const error = cut(sanitizeLine(describeFailure(outcome.failure, "delegate")), MAX_ERROR_CHARS);
		return `${SIGNS.failed} ${label}: error — ${error} (session: ${sessionId})${profile}`;
	}
	return `${SIGNS.done} ${label}: completed${remarkOn(outcome)} (session: ${sessionId})${profile}`;
}

function remarkOn(outcome: Extract<Outcome, { kind: "completed" }>): string {
	if (outcome.end === "output-limit") return ", cut by the output limit";
	return outcome.text.trim() === "" ? ", no text output" : "";
}

function describeProfile({ agent, model }: RunSpec): string {
	const used = model ? `, ${modelName(model)}${model.thinking ? ` ${model.thinking}` : ""}` : "";
	return `profile: ${agent?.name ?? ""}${used}`;
}

/** `Sub-agents: 2 running, 1 done, 1 error`; what there is none of is left out. */
export function globalStatusLine(statuses: readonly RunStatus[]): string {
	const count = (status: RunStatus) => statuses.filter((each) => each === status).length;
	const parts = [
		[count("running"), "running"],
		[count("completed"), "done"],
		[count("error"), "error"],
	] as const;
	return `Sub-agents: ${parts.flatMap(([n, word]) => (n > 0 ? [`${n} ${word}`] : [])).join(", ")}`;
}
