import type { ToolDefinition } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";
import { type Host, settingsOf } from "../call/host.ts";
import type { BackgroundCounts, BackgroundRun } from "../domain/kept-run.ts";
import type { RunResult } from "../domain/run-result.ts";
import { DEFAULT_LINES } from "../domain/shown-lines.ts";
import {
	countsText,
	receiptOf,
	runRow,
	runText,
	type ShownRun,
	saidText,
	shownRun,
} from "../present/background-text.ts";
import { renderTitle } from "../present/call-view.ts";
import { shareLimit } from "../present/preset-text.ts";
import { renderContent } from "../present/text-view.ts";
import { shownDirectory } from "../run-directory/places.ts";
import { readResult } from "../run-directory/result.ts";
import { unknownRun } from "../session/background-actions.ts";
import { prepareArguments } from "./prepare-arguments.ts";
import { READ_ONLY } from "./read-only.ts";
import { refuseUnknownFields } from "./unknown-fields.ts";

const parameters = Type.Object({
	runId: Type.Optional(Type.String({ description: "Default: all that run" })),
	includeCompleted: Type.Optional(Type.Boolean()),
});

export interface StatusDetails {
	readonly counts: BackgroundCounts;
	readonly runs: readonly ShownRun[];
	readonly maxLines: number;
}

export function backgroundStatusTool(host: Host): ToolDefinition<typeof parameters, StatusDetails> {
	return {
		name: "background_agent_status",
		label: "Background agents",
		description: "State of background agents; the answer of one that has ended.",
		parameters,
		prepareArguments: (args) => prepareArguments(parameters, args),
		...READ_ONLY,
		async execute(_callId, asked, _signal, _onUpdate, context) {
			refuseUnknownFields("background_agent_status", asked, parameters);
			const { runId, includeCompleted } = asked;
			const { store, background } = host;
			const runs = selected(host, runId, includeCompleted ?? false);
			const { outputLimit, maxLinesPerWindow } = settingsOf(host, context);
			const shown = runs.map((run) => ({ ...run, directory: shownDirectory(run.directory, context.cwd) }));
			const results = await resultsOf(runs);
			const blocks = describe(shown, results.map(textOf), outputLimit, runId === undefined ? runRow : runText);
			const counts = store.counts();
			const usage = background.bill();
			return {
				content: [{ type: "text", text: [`Background agents: ${countsText(counts)}`, ...blocks].join("\n\n") }],
				details: {
					counts,
					runs: shown.map((run, at) => shownRun(run, results[at]?.receipt)),
					maxLines: maxLinesPerWindow,
				},
				...(usage && { usage }),
			};
		},
		renderCall: ({ runId, includeCompleted }, theme) =>
			renderTitle("background_agent_status", runId ?? (includeCompleted ? "all" : ""), theme),
		renderResult: (result, { expanded }, theme) =>
			renderContent(result, result.details?.maxLines ?? DEFAULT_LINES, expanded, theme),
	};
}

function selected({ store }: Host, runId: string | undefined, includeCompleted: boolean): readonly BackgroundRun[] {
	if (runId === undefined) {
		return includeCompleted ? store.background : store.background.filter(({ progress }) => progress.kind === "running");
	}
	const run = store.background.find((each) => each.runId === runId);
	if (!run) throw new Error(unknownRun(runId, store));
	return [run];
}

/** Of runs that have ended, whole from their directories while those are there. */
async function resultsOf(runs: readonly BackgroundRun[]): Promise<(RunResult | undefined)[]> {
	return await Promise.all(
		runs.map(async ({ progress, directory, distrusted }) =>
			progress.kind === "ended" && !distrusted ? await readResult(directory) : undefined,
		),
	);
}

const textOf = (result: RunResult | undefined): string | undefined =>
	result?.outcome.kind === "completed" ? result.outcome.text : result?.text;

/** What runs that have ended said. */
export const answersOf = async (runs: readonly BackgroundRun[]): Promise<(string | undefined)[]> =>
	(await resultsOf(runs)).map(textOf);

/** The text is all that the model sees: a run that has ended tells its answer, all together no more than the limit. */
export function describe(
	runs: readonly BackgroundRun[],
	whole: readonly (string | undefined)[],
	limit: number,
	rowOf: (run: BackgroundRun, now: number) => string,
): string[] {
	const lengths = runs.map(({ progress }, at) => (progress.kind === "ended" ? (whole[at] ?? progress.text).length : 0));
	const limits = shareLimit(lengths, limit);
	return runs.map((run, at) => {
		const said = run.progress.kind === "ended" ? saidText(run, run.progress, whole[at], limits[at] ?? limit) : "";
		const receipt = run.progress.kind === "ended" ? receiptOf(run.progress) : [];
		return [rowOf(run, Date.now()), ...receipt, ...(said === "" ? [] : [said])].join("\n");
	});
}
