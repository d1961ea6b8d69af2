import type { Usage } from "@earendil-works/pi-ai";
import type { ChatMessage } from "./event.ts";
import type { RunSpec } from "./spec.ts";

/** What the session keeps of a run. All of what it said is in its directory, while that exists. */
export interface RunRecord {
	readonly runId: string;
	readonly sessionId: string;
	readonly family: RunSpec["family"];
	readonly taskName: string;
	/** What was asked, before files and earlier runs were added to it; cut when it is long. */
	readonly prompt: string;
	readonly cwd: string | undefined;
	readonly profileName: string | undefined;
	/** Undefined for a task that was refused before it could run. */
	readonly directory: string | undefined;
	readonly startedAt: number;
	readonly progress: RunProgress;
}

export type RunProgress =
	| { readonly kind: "running" }
	| {
			readonly kind: "ended";
			readonly status: "completed" | "error";
			readonly at: number;
			readonly exitCode: number | null;
			readonly model: string | undefined;
			readonly stopReason: string | undefined;
			readonly errorMessage: string | undefined;
			/** What is said of it besides: a sentence each. */
			readonly remarks: readonly string[];
			/** The last text; cut when it is long. */
			readonly text: string;
			/** The newest messages that fit. */
			readonly messages: readonly ChatMessage[];
			readonly messageCount: number;
			readonly usage: Usage;
	  };

/** The words that the tools use. */
export type RunStatus = "running" | "completed" | "error";

export const statusOf = ({ progress }: RunRecord): RunStatus =>
	progress.kind === "running" ? "running" : progress.status;

/** What is said of a run whose session ended before it did. */
export const INTERRUPTED = "Session was interrupted (main agent session ended unexpectedly)";

/** False for a task that was refused before its child could say anything. */
export const hasBegun = ({ directory, progress }: RunRecord): boolean =>
	directory !== undefined &&
	(progress.kind === "running" ||
		progress.exitCode !== null ||
		progress.messageCount > 0 ||
		progress.errorMessage === INTERRUPTED);

/** Only the texts of what should be a list of them. */
export const textsIn = (value: unknown): readonly string[] =>
	Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
