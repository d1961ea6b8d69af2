import type { ToolDefinition } from "@earendil-works/pi-coding-agent";
import { backgroundRunOf } from "../call/background-run.ts";
import { type Call, callOf } from "../call/call.ts";
import type { Host } from "../call/host.ts";
import { planRows } from "../call/plan-rows.ts";
import { prepareRow } from "../call/row-start.ts";
import type { BackgroundCounts, BackgroundRun } from "../domain/kept-run.ts";
import { err, ok, type Result } from "../domain/result.ts";
import { DEFAULT_LINES } from "../domain/shown-lines.ts";
import type { AvailableModel } from "../plan/model.ts";
import type { RunRequest } from "../plan/run.ts";
import { countsText, type ShownRun, shownRun } from "../present/background-text.ts";
import { renderTitle } from "../present/call-view.ts";
import { renderContent } from "../present/text-view.ts";
import { start } from "../run/execute.ts";
import { shownDirectory } from "../run-directory/places.ts";
import { type BackgroundParameters, backgroundParameters, parseBackground } from "./background-schema.ts";
import { respellModels } from "./model-parameter.ts";
import { prepareArguments } from "./prepare-arguments.ts";

const ABORTED = "The call was aborted before the agent was started";

/** The handle of a run, and how many there are now. */
export interface BackgroundDetails {
	readonly run: ShownRun;
	readonly counts: BackgroundCounts;
}

export function backgroundTool(
	host: Host,
	models: readonly AvailableModel[],
): ToolDefinition<ReturnType<typeof backgroundParameters>, BackgroundDetails> {
	const parameters = backgroundParameters(models);
	const prepare = (args: unknown) => respellModels<BackgroundParameters>(models, prepareArguments(parameters, args));
	return {
		name: "background_agent",
		label: "Background agent",
		description:
			"Start a named sub-agent and go on: it outlives this turn, and knows only the task. Its end is announced; background_agent_status has its answer.",
		parameters,
		prepareArguments: prepare,
		async execute(callId, parameters, signal, _onUpdate, context) {
			const call = callOf(host, callId, signal, undefined, context);
			const request = parseBackground(parameters, call.parent);
			if (!request.ok) throw new Error(request.error);
			const place = host.background.reserve(call.parent.settings.maxBackground);
			if (!place.ok) throw new Error(place.error);
			try {
				const run = await launch(request.value, call);
				if (!run.ok) throw new Error(run.error);
				const shown = { ...run.value, directory: shownDirectory(run.value.directory, context.cwd) };
				const counts = host.store.counts();
				return {
					content: [{ type: "text", text: startedText(shown, counts) }],
					details: { run: shownRun(shown), counts },
				};
			} finally {
				place.value();
			}
		},
		renderCall: (args, theme) => renderTitle("background_agent", args.preset ?? "", theme),
		renderResult: (result, { expanded }, theme) => renderContent(result, DEFAULT_LINES, expanded, theme),
	};
}

/** From what was asked to a run that goes on without us. */
async function launch(request: RunRequest, call: Call): Promise<Result<BackgroundRun>> {
	const { host, parent, signal, context } = call;
	const [row] = await planRows([request], call);
	if (!row) return err("a call without a task");
	if (!row.plan.ok) return row.plan;
	const stop = AbortSignal.any([host.sessionSignal(), ...(signal ? [signal] : [])]);
	const prepared = await prepareRow(row, host, parent, stop);
	if (stop.aborted) return err(ABORTED);
	if (!prepared.ok) return prepared;
	const { spec, directory } = prepared.value.run;
	const run = backgroundRunOf(spec, directory, context.sessionManager.getSessionId());
	const started = await start(
		prepared.value.run,
		(control) => (stop.aborted ? err(ABORTED) : host.background.add(run, control, prepared.value.run.token)),
		prepared.value.launch,
	);
	return started.ok ? ok(run) : started;
}

const startedText = ({ runId, label, resolvedModel, directory }: BackgroundRun, counts: BackgroundCounts) =>
	[
		`Started ${label} in the background (run: ${runId}, model: ${resolvedModel ?? "pi's default"})`,
		`Artifacts: ${directory}`,
		`Background agents: ${countsText(counts)}`,
	].join("\n");
