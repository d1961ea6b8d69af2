import type { ExtensionContext, ToolDefinition } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";
import { type Host, runSessionOf, settingsOf } from "../call/host.ts";
import { hasBegun, type KeptRun, type RunStatus, statusOf } from "../domain/kept-run.ts";
import { DEFAULT_LINES } from "../domain/shown-lines.ts";
import { linesOf } from "../present/answer-lines.ts";
import { renderTitle } from "../present/call-view.ts";
import { remarkBlocks } from "../present/remarks.ts";
import { renderContent } from "../present/text-view.ts";
import { sessionTranscript } from "../present/transcript.ts";
import { findRuns } from "../session/rebuild.ts";
import { historyOf } from "../session/run-history.ts";
import { prepareArguments } from "./prepare-arguments.ts";
import { READ_ONLY } from "./read-only.ts";
import { refuseUnknownFields } from "./unknown-fields.ts";

const sessionId = Type.String();
const lines = Type.Optional(Type.Integer({ minimum: 1 }));
const outputParameters = Type.Object({ sessionId, offset: lines, limit: lines });
const sessionParameters = Type.Object({ sessionId });

interface OutputDetails {
	readonly sessionId: string;
	readonly status: RunStatus;
	readonly taskName: string;
	readonly runCount: number;
	/** Lines shown to the person; the model has the whole text. */
	readonly maxLines: number;
}

interface SessionDetails extends OutputDetails {
	readonly messageCount: number;
	readonly exitCode: number | null;
	readonly model: string | undefined;
}

/** The last text of the latest run: all of it, or some lines. */
export function outputTool(host: Host): ToolDefinition<typeof outputParameters, OutputDetails> {
	return {
		name: "get_subagent_output",
		label: "Sub-agent output",
		description: "A sub-agent's answer, or lines of it.",
		parameters: outputParameters,
		...READ_ONLY,
		prepareArguments: (args) => prepareArguments(outputParameters, args),
		async execute(_callId, asked, _signal, _onUpdate, context) {
			refuseUnknownFields("get_subagent_output", asked, outputParameters);
			const { sessionId, offset, limit } = asked;
			const { runs, latest } = await find(host, sessionId, context);
			const { lastText, remarks, receipt } = await historyOf(latest);
			return {
				content: [{ type: "text", text: outputText(lastText, offset, limit) }, ...remarkBlocks({ remarks, receipt })],
				details: {
					sessionId,
					status: statusOf(latest),
					taskName: latest.label,
					runCount: runs.length,
					maxLines: settingsOf(host, context).maxLinesPerWindow,
				},
			};
		},
		renderCall: ({ sessionId }, theme) => renderTitle("get_subagent_output", subjectOf(host, sessionId), theme),
		renderResult: (result, { expanded }, theme) =>
			renderContent(result, result.details?.maxLines ?? DEFAULT_LINES, expanded, theme),
	};
}

/** Everything that was said and done in all runs. */
export function sessionTool(host: Host): ToolDefinition<typeof sessionParameters, SessionDetails> {
	return {
		name: "get_subagent_session",
		label: "Sub-agent session",
		description: "A sub-agent's whole transcript.",
		parameters: sessionParameters,
		...READ_ONLY,
		prepareArguments: (args) => prepareArguments(sessionParameters, args),
		async execute(_callId, asked, _signal, _onUpdate, context) {
			refuseUnknownFields("get_subagent_session", asked, sessionParameters);
			const { sessionId } = asked;
			const { runs, last } = await find(host, sessionId, context);
			const told = await Promise.all(runs.map(historyOf));
			const end = last.progress.kind === "ended" ? last.progress : undefined;
			return {
				content: [{ type: "text", text: sessionTranscript(told) }],
				details: {
					sessionId,
					status: statusOf(last),
					taskName: last.label,
					messageCount: told.reduce((sum, { messageCount }) => sum + messageCount, 0),
					exitCode: end?.exitCode ?? null,
					model: end?.model,
					runCount: runs.length,
					maxLines: settingsOf(host, context).maxLinesPerWindow,
				},
			};
		},
		renderCall: ({ sessionId }, theme) => renderTitle("get_subagent_session", subjectOf(host, sessionId), theme),
		renderResult: (result, { expanded }, theme) =>
			renderContent(result, result.details?.maxLines ?? DEFAULT_LINES, expanded, theme),
	};
}

function outputText(whole: string, offset: number | undefined, limit: number | undefined): string {
	if (whole.trim() === "") return "(no text output from sub-agent)";
	return offset === undefined && limit === undefined ? whole : linesOf(whole, offset ?? 1, limit);
}

/** Whose session it is; while the arguments are still coming there may be none. */
function subjectOf({ store }: Host, sessionId: string | undefined): string {
	if (sessionId === undefined) return "";
	const name = store.find(sessionId).at(-1)?.label;
	return name === undefined ? sessionId : `${name} (${sessionId})`;
}

interface Found {
	readonly runs: readonly KeptRun[];
	readonly last: KeptRun;
	/** The last one that has begun: a call that was refused hides nothing that was said before. */
	readonly latest: KeptRun;
}

async function find({ store }: Host, sessionId: string, context: ExtensionContext): Promise<Found> {
	const runs = await findRuns(sessionId, store, runSessionOf(context));
	const last = runs.at(-1);
	if (last) return { runs, last, latest: runs.findLast(hasBegun) ?? last };
	throw new Error(`Session "${sessionId}" not found. The session may have expired or the ID is incorrect.`);
}
