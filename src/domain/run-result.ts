import type { StopReason, Usage } from "@earendil-works/pi-ai";
import type { Changes } from "./changes.ts";
import type { Exit, StopCause } from "./event.ts";
import type { Finalized } from "./finalized.ts";
import type { FailedModel } from "./provider-failure.ts";
import type { RunReceipt } from "./receipt.ts";
import type { WrapUpReason } from "./wrap-up.ts";

export type Outcome =
	| { readonly kind: "completed"; readonly text: string; readonly end: "natural" | "output-limit" }
	| { readonly kind: "failed"; readonly failure: Failure };

export type Failure =
	/** Refused before anything was started. */
	| { readonly kind: "rejected"; readonly message: string }
	| { readonly kind: "spawn"; readonly message: string }
	/** The process ended before the conversation did. */
	| { readonly kind: "exit"; readonly exit: Exit; readonly stderr: string }
	/** The conversation ended, and the model never said anything. */
	| { readonly kind: "silent"; readonly stderr: string }
	| { readonly kind: "model"; readonly message: string }
	| { readonly kind: "stopped"; readonly cause: StopCause }
	| { readonly kind: "unfinalized"; readonly attempts: number }
	/** The supervisor is gone and left no result. */
	| { readonly kind: "lost" };

/** How a run ended, whoever asks: the content of result.json, and the last event of every run. */
export interface RunResult {
	readonly runId: string;
	readonly outcome: Outcome;
	readonly exit: Exit;
	readonly startedAt: number;
	readonly endedAt: number;
	/** The last text of the run, also of a failed one; what was being written counts. */
	readonly text: string;
	readonly model: { readonly provider: string; readonly id: string } | undefined;
	readonly stopReason: StopReason | undefined;
	readonly usage: Usage;
	readonly toolCalls: number;
	readonly messageCount: number;
	readonly finalized: Finalized | undefined;
	/** Why it had to finish with what it had; also where it then failed. */
	readonly cutShort: WrapUpReason | undefined;
	/** Models that it went on without, in order. */
	readonly failedModels: readonly FailedModel[];
	/** Processes that the child had left running: ended, or with `leftovers: "keep"` only listed. */
	readonly leftovers: readonly { readonly pid: number; readonly command: string }[];
	/** What it changed in a tree of its own; undefined where it worked in the project itself. */
	readonly changes: Changes | undefined;
	/** Files that could not be written. The run itself does not suffer from it. */
	readonly artifactErrors: readonly string[];
	/** What was seen of its work; missing where nobody was there to see, or where receipts are switched off. */
	readonly receipt?: RunReceipt;
}

/** A person ended this run on purpose: it neither failed nor completed. */
export const isPersonsStop = (failure: Failure): boolean =>
	failure.kind === "stopped" && failure.cause.kind === "aborted" && failure.cause.by === "person";
