import { modelName } from "../domain/model-name.ts";
import { describeFailedModels } from "../domain/provider-failure.ts";
import type { RunResult } from "../domain/run-result.ts";
import { describeWrapUp } from "../domain/wrap-up.ts";

/** What is said of a run besides how it ended, one sentence each: below its status, or behind it. */
export function remarksOn(result: RemarkableResult): readonly string[] {
	return [...failedModels(result), ...cutShortBy(result)];
}

/** Results of earlier versions lack some of it. */
type RemarkableResult = Pick<RunResult, "outcome" | "model"> & Partial<Pick<RunResult, "cutShort" | "failedModels">>;

function failedModels({ outcome, model, failedModels: failed = [] }: RemarkableResult): readonly string[] {
	// The error of a run whose last model failed names them all.
	if (failed.length === 0 || (outcome.kind === "failed" && outcome.failure.kind === "model")) return [];
	const next = model ? `; went on with ${modelName(model)}` : "";
	return [`${describeFailedModels(failed)}${next}`];
}

function cutShortBy({ outcome, cutShort }: RemarkableResult): readonly string[] {
	// A run without an answer has failed for that reason, and its error says so.
	const cause =
		outcome.kind === "failed" && outcome.failure.kind === "stopped" ? outcome.failure.cause.kind : undefined;
	const isSaid = cause === (cutShort?.kind === "time" ? "timeout" : "budget");
	return cutShort && !isSaid ? [describeWrapUp(cutShort)] : [];
}

/** As a block of text of its own, beside an answer that stays as it is; nothing where there is nothing to say. */
export const remarkBlocks = (remarks: readonly string[]): { type: "text"; text: string }[] =>
	remarks.length === 0 ? [] : [{ type: "text", text: `[${remarks.join("; ")}]` }];
