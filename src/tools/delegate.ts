import type { ToolDefinition } from "@earendil-works/pi-coding-agent";
import { type Call, type CallDetails, callOf, resultOf, runRows } from "../call/call.ts";
import { type Host, runSessionOf } from "../call/host.ts";
import { planRows } from "../call/plan-rows.ts";
import type { Row } from "../call/row.ts";
import { STRUCTURED_OUTPUT, structuredContent } from "../call/structured.ts";
import type { KeptRun } from "../domain/kept-run.ts";
import type { RunRequest } from "../plan/run.ts";
import { renderDelegateCall } from "../present/call-view.ts";
import { saidOf } from "../present/remarks.ts";
import { sanitizeLine } from "../present/sanitize.ts";
import { delegateStatusOf, movedLine, summaryLine } from "../present/text.ts";
import { resumePrompt } from "../present/transcript.ts";
import { renderWindows } from "../present/windows-view.ts";
import { findRuns } from "../session/rebuild.ts";
import { historyOf } from "../session/run-history.ts";
import { type AskedTask, delegateParameters, parseTasks } from "./delegate-schema.ts";
import { prepareArguments } from "./prepare-arguments.ts";

export function delegateTool(host: Host): ToolDefinition<typeof delegateParameters, CallDetails> {
	return {
		name: "delegate_to_subagents",
		label: "Delegate to sub-agents",
		description:
			"Run tasks in parallel, each by a sub-agent. Returns a status line with a session id per task; get_subagent_output has the answers.",
		parameters: delegateParameters,
		prepareArguments: (args) => prepareArguments(delegateParameters, args),
		...STRUCTURED_OUTPUT,
		async execute(callId, parameters, signal, onUpdate, context) {
			const call = callOf(host, callId, signal, onUpdate, context);
			const asked = parseTasks(parameters);
			const release = await claimSessions(asked, call);
			try {
				const rows = await planRows(await resumed(asked, call), call);
				await runRows(rows, call);
				const result = resultOf(rows, call.parent, rows.flatMap(linesOf).join("\n"));
				return { ...result, ...structuredContent(callId, rows, ({ state }) => delegateStatusOf(state)) };
			} finally {
				release();
			}
		},
		renderShell: "self",
		renderCall: (args, theme, context) =>
			renderDelegateCall(prepareArguments(delegateParameters, args), theme, context),
		renderResult: renderWindows,
	};
}

function linesOf({ request, plan, state, moved }: Row): string[] {
	if (moved) return [movedLine(request.label, request)];
	if (state.phase.kind !== "done") return [];
	const { result } = state.phase;
	const { label, sessionId } = request;
	const line = summaryLine(label, sessionId, result.outcome, plan.ok ? plan.value.spec : undefined);
	const shortfall = plan.ok && plan.value.shortfall !== undefined ? ` [${sanitizeLine(plan.value.shortfall)}]` : "";
	const { remarks, receipt } = saidOf(result);
	return [`${line}${shortfall}`, ...[...remarks, ...receipt].map((each) => `  ${each}`)];
}

/**
 * Takes the sessions that are to go on, for this call alone, until the returned function gives them back. One that cannot
 * go on refuses the whole call.
 */
async function claimSessions(
	asked: readonly AskedTask[],
	{ host: { store, resuming }, context }: Call,
): Promise<() => void> {
	const claimed: string[] = [];
	const release = () => {
		for (const id of claimed) resuming.delete(id);
	};
	for (const { resume } of asked) {
		if (resume === undefined) continue;
		const runs = await findRuns(resume, store, runSessionOf(context));
		const problem = claimed.includes(resume) ? TWICE : whyNotResume(resume, runs, resuming);
		if (problem !== undefined) {
			release();
			throw new Error(`Cannot resume: session "${resume}" ${problem}`);
		}
		resuming.add(resume);
		claimed.push(resume);
	}
	return release;
}

const TWICE = "is resumed by two tasks of this call. Resume it in one of them, or in two calls after each other.";

function whyNotResume(id: string, runs: readonly KeptRun[], resuming: ReadonlySet<string>): string | undefined {
	if (runs.at(-1)?.family !== "delegate") return "not found. The session may have expired or the ID is incorrect.";
	const busy = resuming.has(id) || runs.some(({ progress }) => progress.kind === "running");
	return busy ? "is still running. Wait for it to complete before resuming." : undefined;
}

/** Puts what a resumed session has done before its prompt. */
async function resumed(asked: readonly AskedTask[], { host, context }: Call): Promise<RunRequest[]> {
	return await Promise.all(
		asked.map(async ({ request, resume }) => {
			if (resume === undefined) return request;
			const known = await findRuns(resume, host.store, runSessionOf(context));
			const runs = await Promise.all(known.map(historyOf));
			return { ...request, instructions: resumePrompt(runs, request.task) };
		}),
	);
}
