import type { RunResult } from "../domain/state.ts";
import { describeWrapUp } from "../domain/wrap-up.ts";

/** What is said of a run besides how it ended, one sentence each: below its status, or behind it. */
export function remarksOn({ outcome, cutShort }: Pick<RunResult, "outcome" | "cutShort">): readonly string[] {
	// A run without an answer has failed for that reason, and its error says so.
	const isSaid =
		outcome.kind === "failed" && outcome.failure.kind === "stopped" && outcome.failure.cause.kind === "budget";
	return cutShort && !isSaid ? [describeWrapUp(cutShort)] : [];
}

/** As a block of text of its own, beside an answer that stays as it is; nothing where there is nothing to say. */
export const remarkBlocks = (remarks: readonly string[]): { type: "text"; text: string }[] =>
	remarks.length === 0 ? [] : [{ type: "text", text: `[${remarks.join("; ")}]` }];
