import { type BackgroundStatus, endStatusOf, type SaidOfRun } from "../domain/kept-run.ts";
import { type Failure, isPersonsStop, type RunResult } from "../domain/run-result.ts";
import type { RunState } from "../domain/state.ts";
import { shorten } from "./answer-lines.ts";
import { sanitizeLine } from "./sanitize.ts";
import { reportFailure } from "./text.ts";

export function presetStatusOf({ phase }: RunState): BackgroundStatus {
	return phase.kind === "done" ? endStatusOf(phase.result.outcome) : "running";
}

/** The answer of a run by preset, or why there is none and what there was of it; never more than `limit` characters of it. */
export function presetAnswer(runId: string, { outcome, text }: RunResult, limit: number): string {
	if (outcome.kind === "failed") {
		const error = errorText(outcome.failure);
		if (outcome.failure.kind === "rejected") return error; // it never began, so there is no run to look at
		const failed = `${error} (run: ${runId})`;
		return text === "" ? failed : `${failed}\n\nWhat it had written:\n\n${shorten(text, runId, limit)}`;
	}
	if (outcome.text.trim() === "") return `(completed, no text output; run: ${runId})`;
	const remark = outcome.end === "output-limit" ? "\n\n[the model's answer was cut by its output limit]" : "";
	return `${shorten(outcome.text, runId, limit)}${remark}`;
}

/** A person's stop is no error. */
export const errorText = (failure: Failure): string =>
	isPersonsStop(failure) ? "Stopped by you" : `Error: ${reportFailure(failure)}`;

/** The word of a task in the head of its block. */
export const blockStatusOf = (result: RunResult, word: string): string =>
	result.outcome.kind === "failed" && isPersonsStop(result.outcome.failure) ? "stopped by you" : word;

/** Puts a backslash before what could be taken for our own words. */
export const escapeLines = (answer: string, heads: RegExp): string => answer.replaceAll(heads, "\\");

/** How much of each text may be told, so that all together stay within the limit: what short ones leave, long ones get. */
export function shareLimit(lengths: readonly number[], limit: number): number[] {
	const shares: number[] = [];
	let left = limit;
	const shortestFirst = lengths.map((length, index) => ({ length, index })).sort((a, b) => a.length - b.length);
	for (const [done, { length, index }] of shortestFirst.entries()) {
		const share = Math.floor(left / (shortestFirst.length - done));
		shares[index] = share;
		left -= Math.min(length, share);
	}
	return shares;
}

/** One block per task of a parallel call. A line of an answer that looks like the head of a block is none of ours. */
export function presetBlocks(
	tasks: readonly (SaidOfRun & { readonly name: string; readonly status: string; readonly answer: string })[],
): string {
	return tasks
		.map(
			({ name, status, answer, remarks, receipt }, index) =>
				`[${index + 1}/${tasks.length}] ${sanitizeLine(name)}: ${status}\n${[...remarks, ...receipt].map((remark) => `[${remark}]\n`).join("")}${escapeLines(answer, /^(?=\[\d+\/\d+\] )/gm)}`,
		)
		.join("\n\n");
}
