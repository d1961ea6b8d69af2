import type { Usage } from "@earendil-works/pi-ai";
import { FILES } from "../run-directory/names.ts";
import type { RunRecord } from "./record.ts";
import type { Outcome } from "./state.ts";

/** A run that goes on without its caller, as the session that started it knows it. */
export interface BackgroundRun {
	readonly runId: string;
	readonly preset: string;
	readonly presetSource: "global" | "project";
	/** What was asked; cut when it is long. */
	readonly task: string;
	readonly cwd: string;
	readonly requestedModel: string | undefined;
	readonly resolvedModel: string | undefined;
	readonly directory: string;
	readonly socket: string;
	readonly startedAt: number;
	/** The session of pi that started it: nobody else is told of its end. */
	readonly owner: string;
	readonly progress: BackgroundProgress;
	/** Others can have written to its directory: nothing is read from there. */
	readonly distrusted?: true;
}

export type BackgroundStatus = "running" | BackgroundEnd["status"];

export type BackgroundProgress = { readonly kind: "running" } | BackgroundEnd;

export interface BackgroundEnd {
	readonly kind: "ended";
	readonly status: "completed" | "failed" | "aborted";
	readonly at: number;
	readonly exitCode: number | null;
	readonly stopReason: string | undefined;
	readonly errorMessage: string | undefined;
	/** What is said of it besides: a sentence each. */
	readonly remarks: readonly string[];
	/** The answer, or what there was of it; cut when it is long. */
	readonly text: string;
	readonly toolCalls: number;
	readonly messageCount: number;
	readonly usage: Usage;
	/** Whether a tool result has carried the usage, so that the session's totals have it once. */
	readonly billing: "open" | "billed";
}

export type BackgroundCounts = Readonly<Record<BackgroundStatus | "total", number>>;

export const backgroundStatusOf = ({ progress }: BackgroundRun): BackgroundStatus =>
	progress.kind === "running" ? "running" : progress.status;

/** Stopped by somebody is aborted; stopped for its own sake (timeout, loop), lost or broken is failed. */
export function endStatusOf(outcome: Outcome): BackgroundEnd["status"] {
	if (outcome.kind === "completed") return "completed";
	const { failure } = outcome;
	return failure.kind === "stopped" && failure.cause.kind === "aborted" ? "aborted" : "failed";
}

/** A run as a tool shows it, with its status in a word and where its files are. */
export interface ShownRun extends BackgroundRun {
	readonly status: BackgroundStatus;
	readonly artifacts: Readonly<Record<keyof typeof FILES, string>>;
}

export function withArtifacts(run: BackgroundRun): ShownRun {
	const paths = Object.entries(FILES).map(([name, file]) => [name, `${run.directory}/${file}`]);
	return { ...run, status: backgroundStatusOf(run), artifacts: Object.fromEntries(paths) };
}

/** The same run as the retrieval tools see it: a session with one run. */
export function recordOfBackground(run: BackgroundRun): RunRecord {
	const { progress } = run;
	return {
		runId: run.runId,
		sessionId: run.runId,
		family: "preset",
		taskName: run.preset,
		prompt: run.task,
		cwd: run.cwd,
		profileName: run.preset,
		directory: run.distrusted ? undefined : run.directory,
		startedAt: run.startedAt,
		progress:
			progress.kind === "running"
				? progress
				: {
						...{ kind: "ended", at: progress.at, exitCode: progress.exitCode, model: run.resolvedModel },
						...{ stopReason: progress.stopReason, errorMessage: progress.errorMessage, text: progress.text },
						remarks: progress.remarks,
						...{ messages: [], messageCount: progress.messageCount, usage: progress.usage },
						status: progress.status === "completed" ? "completed" : "error",
					},
	};
}
