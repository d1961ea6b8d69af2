import type { ToolDefinition } from "@earendil-works/pi-coding-agent";
import { type Static, Type } from "typebox";
import { backgroundRunOf } from "../call/background-run.ts";
import { type Call, callOf, planRows, prepareRow } from "../call/call.ts";
import type { Host } from "../call/host.ts";
import type { BackgroundCounts, BackgroundRun } from "../domain/kept-run.ts";
import { err, ok, type Result } from "../domain/result.ts";
import type { AvailableModel } from "../plan/model.ts";
import { presetRequest } from "../plan/preset.ts";
import { countsText, type ShownRun, shownRun } from "../present/background-text.ts";
import { renderTitle } from "../present/call-view.ts";
import { renderContent } from "../present/text-view.ts";
import { start } from "../run/execute.ts";
import { shownDirectory } from "../run-directory/places.ts";
import { askedModel, MODEL_FIELDS, modelSchema, respellModels } from "./model-parameter.ts";
import { prepareArguments } from "./prepare-arguments.ts";
import { unknownFields } from "./unknown-fields.ts";

function backgroundParameters(models: readonly AvailableModel[]) {
	return Type.Object({
		preset: Type.String(),
		model: modelSchema(models),
		cwd: Type.Optional(Type.String({ description: "Absolute" })),
		task: Type.String(),
	});
}
const FIELDS: readonly string[] = ["preset", "model", "cwd", "task", ...MODEL_FIELDS];
const SHOWN_LINES = 15;
const ABORTED = "The call was aborted before the agent was started";
type BackgroundParameters = Static<ReturnType<typeof backgroundParameters>>;

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
			const refusal = refusalOf(parameters);
			if (refusal !== undefined) throw new Error(refusal);
			const call = callOf(host, callId, signal, undefined, context);
			const place = host.background.reserve(call.parent.settings.maxBackground);
			if (!place.ok) throw new Error(place.error);
			try {
				const run = await launch(parameters, call);
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
		renderResult: (result, { expanded }, theme) => renderContent(result, SHOWN_LINES, expanded, theme),
	};
}

/** What the schema leaves open. */
function refusalOf(parameters: BackgroundParameters): string | undefined {
	const unknown = unknownFields("background_agent", parameters, FIELDS);
	if (unknown !== undefined) return `${unknown}. Valid form: {preset, task, model?, cwd?}`;
	return parameters.task.trim() === "" ? "background_agent needs a task" : undefined;
}

/** From what was asked to a run that goes on without us. */
async function launch(parameters: BackgroundParameters, call: Call): Promise<Result<BackgroundRun>> {
	const { host, parent, signal, context } = call;
	const { preset, task, cwd } = parameters;
	const asked = { preset, task, cwd, model: askedModel(parameters) };
	const [row] = await planRows([presetRequest(asked, "background", parent.settings.timeout)], call);
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
