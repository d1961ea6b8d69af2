import { constants } from "node:os";
import type { Usage } from "@earendil-works/pi-ai";
import type { Scope } from "./definition.ts";
import type { ChatMessage, Exit } from "./event.ts";
import { modelName } from "./model-name.ts";
import { unreachable } from "./result.ts";
import type { Failure, RunResult } from "./run-result.ts";
import type { RunSpec } from "./spec.ts";

/** What a session remembers of a run. Everything that the run said is in its directory, while that exists. */
export interface KeptRun {
	readonly runId: string;
	readonly sessionId: string;
	readonly family: RunSpec["family"];
	/** What a person sees as its name. */
	readonly label: string;
	/** What was asked, before files and earlier runs were added to it; cut when it is long. */
	readonly task: string;
	/** The name of its definition, and whose that is. */
	readonly definition: string | undefined;
	readonly scope: Scope | undefined;
	readonly requestedModel: string | undefined;
	readonly resolvedModel: string | undefined;
	readonly cwd: string | undefined;
	/** Undefined for a task that was refused before it could run. */
	readonly directory: string | undefined;
	/** Other users can write to its directory, so nothing is read from there. */
	readonly distrusted: boolean;
	readonly startedAt: number;
	readonly lifetime: Lifetime;
	readonly progress: Progress;
}

export type Lifetime = { readonly kind: "foreground" } | BackgroundLifetime;

interface BackgroundLifetime {
	readonly kind: "background";
	readonly socket: string;
	/** The pi session that started it: only that session is told of its end. */
	readonly owner: string;
}

/** A run that goes on without its caller. */
export interface BackgroundRun extends KeptRun {
	readonly directory: string;
	readonly lifetime: BackgroundLifetime;
}

export const isBackground = (run: KeptRun): run is BackgroundRun =>
	run.lifetime.kind === "background" && run.directory !== undefined;

export type Progress = { readonly kind: "running" } | RunEnd;

/** What is said of a run besides how it ended. */
export interface SaidOfRun {
	/** A sentence each. */
	readonly remarks: readonly string[];
	/** The lines of its receipt. */
	readonly receipt: readonly string[];
}

export interface RunEnd extends SaidOfRun {
	readonly kind: "ended";
	readonly outcome: { readonly kind: "completed" } | { readonly kind: "failed"; readonly failure: KeptFailure };
	readonly at: number;
	readonly exitCode: number | null;
	/** The one that answered. */
	readonly model: string | undefined;
	readonly stopReason: string | undefined;
	/** The answer, or what there was of it; cut when it is long. */
	readonly text: string;
	readonly toolCalls: number;
	/** The newest messages that fit. */
	readonly messages: readonly ChatMessage[];
	readonly messageCount: number;
	readonly usage: Usage;
	/** Whether a tool result has carried the usage, so that the session's totals have it once. */
	readonly billing: "open" | "billed";
}

/** Why a run failed, as far as its session can know. */
export type KeptFailure =
	| Failure
	/** The session ended before the run did. */
	| { readonly kind: "interrupted" }
	/** Nobody can tell, because other users can write to this place. */
	| { readonly kind: "closed"; readonly place: "directory" | "socket" }
	/** Its directory is not where it was, and nobody knows where it went. */
	| { readonly kind: "gone" }
	/** An entry of an earlier version has only the words. */
	| { readonly kind: "told"; readonly status: "failed" | "aborted"; readonly message: string };

/** What a session keeps of a result. */
export function endOf(
	result: RunResult,
	said: SaidOfRun,
	billing: RunEnd["billing"],
	messages: readonly ChatMessage[] = [],
): RunEnd {
	const { outcome, model, stopReason, toolCalls, messageCount, usage } = result;
	return {
		kind: "ended",
		outcome: outcome.kind === "completed" ? { kind: "completed" } : outcome,
		at: result.endedAt,
		exitCode: exitCodeOf(result.exit),
		model: model && modelName(model),
		text: outcome.kind === "completed" ? outcome.text : result.text,
		...said,
		...{ stopReason, toolCalls, messages, messageCount, usage, billing },
	};
}

/** A process that was killed by a signal did not exit with 0. Null where there never was a process, or nobody saw its end. */
export function exitCodeOf(exit: Exit): number | null {
	switch (exit.kind) {
		case "code":
			return exit.code;
		case "signal":
			return 128 + constants.signals[exit.signal];
		case "refused":
		case "spawn-failed":
		case "unknown":
			return null;
		default:
			return unreachable(exit);
	}
}

/** The words of `delegate_to_subagents` and of the tools that read. */
export type RunStatus = "running" | "completed" | "error";

export function statusOf({ progress }: KeptRun): RunStatus {
	if (progress.kind === "running") return "running";
	return progress.outcome.kind === "completed" ? "completed" : "error";
}

/** The words of the background tools. */
export type BackgroundStatus = "running" | "completed" | "failed" | "aborted";
export type BackgroundCounts = Readonly<Record<BackgroundStatus | "total", number>>;

/** Stopped by somebody is aborted; stopped for its own sake (timeout, loop), lost or broken is failed. */
export function endStatusOf(outcome: RunEnd["outcome"]): Exclude<BackgroundStatus, "running"> {
	if (outcome.kind === "completed") return "completed";
	const { failure } = outcome;
	if (failure.kind === "told") return failure.status;
	return failure.kind === "stopped" && failure.cause.kind === "aborted" ? "aborted" : "failed";
}

export const backgroundStatusOf = ({ progress }: KeptRun): BackgroundStatus =>
	progress.kind === "running" ? "running" : endStatusOf(progress.outcome);

export const wasInterrupted = ({ progress }: KeptRun): boolean =>
	progress.kind === "ended" && progress.outcome.kind === "failed" && progress.outcome.failure.kind === "interrupted";

/** False for a task that was refused before its child could say anything. */
export const hasBegun = (run: KeptRun): boolean => {
	const { directory, progress } = run;
	if (directory === undefined) return false;
	return progress.kind === "running" || progress.exitCode !== null || progress.messageCount > 0 || wasInterrupted(run);
};
