import type { ToolDefinition } from "@earendil-works/pi-coding-agent";
import { type CallDetails, callOf, resultOf, runRows } from "../call/call.ts";
import type { Host } from "../call/host.ts";
import { planRows } from "../call/plan-rows.ts";
import type { Row } from "../call/row.ts";
import { STRUCTURED_OUTPUT, structuredContent } from "../call/structured.ts";
import type { EarlierSession } from "../domain/earlier-session.ts";
import { type Finalized, textOfSuccess } from "../domain/finalized.ts";
import type { SaidOfRun } from "../domain/kept-run.ts";
import { cutBytes } from "../domain/messages.ts";
import type { RunResult } from "../domain/run-result.ts";
import type { AvailableModel } from "../plan/model.ts";
import type { RunRequest } from "../plan/run.ts";
import { agentAnswer, agentStatusOf } from "../present/agent-text.ts";
import { renderSubagentCall } from "../present/call-view.ts";
import { blockStatusOf, presetAnswer, presetBlocks, presetStatusOf, shareLimit } from "../present/preset-text.ts";
import { NOTHING_SAID, saidOf } from "../present/remarks.ts";
import { movedText } from "../present/text.ts";
import { renderWindows } from "../present/windows-view.ts";
import { askedSessions } from "./agent-sessions.ts";
import { respellModels } from "./model-parameter.ts";
import { prepareArguments } from "./prepare-arguments.ts";
import { parseSubagent, type SubagentParameters, subagentParameters } from "./subagent-schema.ts";

/** Of all answers in the details of one call. */
const MAX_FINALIZED_BYTES = 20_000;

/** A typed answer is told by its value alone. */
type ToldAnswer = Finalized | { readonly status: "SUCCESS"; readonly result: unknown };

/** The session of an agent, and what it handed over; empty for a preset. */
interface AgentDetails {
	readonly sessionId?: string;
	readonly finalized?: ToldAnswer;
}

/** A single call of an agent says its own, a parallel call those of each of its tasks. */
export interface SubagentDetails extends CallDetails, AgentDetails {
	readonly answers?: readonly AgentDetails[];
}

export function subagentTool(
	host: Host,
	models: readonly AvailableModel[],
): ToolDefinition<ReturnType<typeof subagentParameters>, SubagentDetails> {
	const parameters = subagentParameters(models);
	return {
		name: "subagent",
		label: "Sub-agent",
		description: "Have a named sub-agent do a task, and get its answer. It knows only the task.",
		parameters,
		...STRUCTURED_OUTPUT,
		prepareArguments: (args) => respellModels<SubagentParameters>(models, prepareArguments(parameters, args)),
		async execute(callId, parameters, signal, onUpdate, context) {
			const call = callOf(host, callId, signal, onUpdate, context);
			const parsed = parseSubagent(parameters, call.parent);
			if (!parsed.ok) throw new Error(parsed.error);
			const sessions = await askedSessions(parsed.value.requests, call);
			const rows = await planRows(parsed.value.requests, call);
			await runRows(rows, call);
			const { outputLimit } = call.parent.settings;
			const limits = shareLimit(rows.map(lengthOf), outputLimit);
			const answers = rows.flatMap((row, at) => answerOf(row, sessions[at], limits[at] ?? outputLimit));
			const [first] = answers;
			const [text, details, said] =
				parsed.value.form === "parallel"
					? [presetBlocks(answers), { answers: answers.map(agentDetails) }, NOTHING_SAID]
					: [first?.answer ?? "", first && agentDetails(first, 0, [first]), first ?? NOTHING_SAID];
			const result = resultOf(rows, call.parent, text, said);
			const structured = structuredContent(callId, rows, statusOf);
			return { ...result, ...structured, details: { ...result.details, ...details } };
		},
		renderShell: "self",
		renderCall: (args, theme, context) => renderSubagentCall(prepareArguments(parameters, args), theme, context),
		renderResult: renderWindows,
	};
}

/** With what the answer does not say itself. */
interface Answer extends SaidOfRun {
	readonly name: string;
	readonly status: string;
	readonly answer: string;
	readonly request: RunRequest;
	/** Undefined where it goes on in the background. */
	readonly result: RunResult | undefined;
}

function lengthOf({ state: { phase } }: Row): number {
	if (phase.kind !== "done") return 0;
	const { outcome, text } = phase.result;
	return outcome.kind === "completed" ? outcome.text.length : text.length;
}

function answerOf(row: Row, session: EarlierSession | undefined, limit: number): Answer[] {
	const { request, state } = row;
	if (row.moved) {
		const session = request.family === "agent" ? `\n**Session ID:** \`${request.sessionId}\`` : "";
		const answer = `Moved to the background (run: ${request.runId}). Its end is announced.${session}`;
		return [{ name: request.label, status: statusOf(row), answer, ...NOTHING_SAID, request, result: undefined }];
	}
	if (state.phase.kind !== "done") return [];
	const { result } = state.phase;
	const shared = { name: request.label, request, result };
	if (request.family === "agent") {
		const answer = agentAnswer(request.sessionId, session, result, limit);
		return [{ ...shared, status: statusOf(row), answer, ...NOTHING_SAID }];
	}
	const answer = presetAnswer(request.runId, result, limit);
	return [{ ...shared, status: statusOf(row), answer, ...saidOf(result) }];
}

function statusOf({ request, state, moved }: Row): string {
	if (moved) return movedText(request.runId);
	if (state.phase.kind !== "done") return "running";
	const { result } = state.phase;
	return blockStatusOf(result, request.family === "agent" ? agentStatusOf(result) : presetStatusOf(state));
}

function agentDetails({ request, result }: Answer, _at: number, answers: readonly Answer[]): AgentDetails {
	if (request.family !== "agent") return {};
	const finalized = result?.finalized;
	const share = MAX_FINALIZED_BYTES / answers.length;
	return { sessionId: request.sessionId, ...(finalized && { finalized: shortened(finalized, share) }) };
}

/**
 * The details of a call are sent as a whole; the answer itself is in its text, and get_subagent_output has all of it. A value
 * that is too large becomes a part of its JSON.
 */
function shortened(finalized: Finalized, maxBytes: number): ToldAnswer {
	if (finalized.status === "SUCCESS" && finalized.typed === true) {
		const { status, result } = finalized;
		const json = textOfSuccess(finalized);
		return { status, result: Buffer.byteLength(json) <= maxBytes ? result : cutBytes(json, maxBytes) };
	}
	const texts = Object.entries(finalized).filter(([key, value]) => key !== "status" && typeof value === "string");
	const cut = texts.map(([key, value]) => [key, cutBytes(String(value), Math.floor(maxBytes / texts.length))]);
	return { ...finalized, ...Object.fromEntries(cut) };
}
