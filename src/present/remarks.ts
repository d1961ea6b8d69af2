import type { Application, Changes } from "../domain/changes.ts";
import type { SaidOfRun } from "../domain/kept-run.ts";
import { modelName } from "../domain/model-name.ts";
import { describeFailedModels } from "../domain/provider-failure.ts";
import { unreachable } from "../domain/result.ts";
import type { RunResult } from "../domain/run-result.ts";
import { describeWrapUp } from "../domain/wrap-up.ts";
import { receiptLines } from "./receipt-text.ts";

/** What is said of a run besides how it ended, one sentence each: below its status, or behind it. */
export function remarksOn(result: RemarkableResult): readonly string[] {
	return [...failedModels(result), ...cutShortBy(result), ...changesWords(result.changes)];
}

/** Results of earlier versions lack some of it. */
type RemarkableResult = Pick<RunResult, "outcome" | "model"> &
	Partial<Pick<RunResult, "cutShort" | "failedModels" | "changes">>;

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

/** Where to find what it changed in a tree of its own. */
function changesWords(changes: Changes | undefined): readonly string[] {
	if (!changes) return [];
	const { at, ignored, leftOut } = changes;
	const rest = [
		...applicationWords(changes.application),
		...(ignored === 0 ? [] : [`${counted(ignored, "ignored file")} not carried back`]),
		...(leftOut.length === 0 ? [] : [`not carried back: ${listed(leftOut)}`]),
	];
	switch (at.kind) {
		case "nowhere":
			return rest;
		case "branch":
			return [`changed ${amount(changes)} on branch ${at.name}`, ...rest];
		case "layer":
			return [`changed ${amount(changes)}; no git repository, so they are in ${at.directory}`, ...rest];
		case "stuck":
			return [`its changes are in ${at.directory}: no branch could be made (${at.why})`, ...rest];
		default:
			return unreachable(at);
	}
}

function applicationWords(application: Application | undefined): readonly string[] {
	if (!application) return [];
	const { applied, conflicts, held, failure } = application;
	if (failure !== undefined) return [`nothing was applied: ${failure}`];
	return [
		applied.length === 0 ? "nothing was applied" : `applied ${counted(applied.length, "file")}`,
		...(conflicts.length === 0 ? [] : [`conflicts, left as they are: ${listed(conflicts)}`]),
		...(held.length === 0 ? [] : [`never applied: ${listed(held)}`]),
	];
}

const counted = (count: number, word: string) => `${count} ${word}${count === 1 ? "" : "s"}`;

const amount = ({ count, added, removed, at }: Changes) =>
	`${counted(count, "file")}${at.kind === "branch" ? ` (+${added} −${removed})` : ""}`;

const MAX_LISTED = 3;
const listed = (paths: readonly string[]) =>
	`${paths.slice(0, MAX_LISTED).join(", ")}${paths.length > MAX_LISTED ? ` and ${paths.length - MAX_LISTED} more` : ""}`;

/** All that a session keeps of what is said of a run. */
export const saidOf = (result: RunResult): SaidOfRun => ({
	remarks: remarksOn(result),
	receipt: receiptLines(result.receipt),
});

export const NOTHING_SAID: SaidOfRun = { remarks: [], receipt: [] };

/** As a block of text of its own, beside an answer that stays as it is; nothing where there is nothing to say. */
export function remarkBlocks({ remarks, receipt }: SaidOfRun): { type: "text"; text: string }[] {
	const lines = [...(remarks.length === 0 ? [] : [`[${remarks.join("; ")}]`]), ...receipt];
	return lines.length === 0 ? [] : [{ type: "text", text: lines.join("\n") }];
}
