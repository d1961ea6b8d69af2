import type { AgentToolResult, ExtensionContext, ToolDefinition } from "@earendil-works/pi-coding-agent";
import pLimit from "p-limit";
import { agentDirectory } from "../agent-directory.ts";
import { scriptPath } from "../child/scripts.ts";
import type { RunEvent } from "../domain/event.ts";
import type { Result } from "../domain/result.ts";
import { type Failure, initialState, type RunState, reduce, resultWithout } from "../domain/state.ts";
import { addUsage, noUsage } from "../domain/usage.ts";
import { type DelegateTask, planDelegate } from "../plan/delegate.ts";
import type { Parent, PlannedRun } from "../plan/parent.ts";
import { delegateStatusOf, globalStatusLine, summaryLine } from "../present/text.ts";
import { finalWindow, partialWindow, type ShownTask, type TaskWindow } from "../present/window.ts";
import { renderDelegateCall, renderWindows } from "../present/windows-view.ts";
import { createRunDirectory } from "../records/run-directory.ts";
import { execute } from "../run/execute.ts";
import { type DelegateParameters, delegateParameters, parseTasks } from "./delegate-schema.ts";
import { type Host, parentOf } from "./host.ts";
import { createThrottle } from "./throttle.ts";

export interface DelegateDetails {
	readonly windows: readonly TaskWindow[];
	readonly maxLinesPerWindow: number;
	readonly globalStatus: "running" | "done";
	readonly sessionIds: readonly string[];
}

/** A task on its way through a call. */
interface Row {
	readonly task: DelegateTask;
	readonly plan: Result<PlannedRun>;
	state: RunState;
}

export function delegateTool(host: Host): ToolDefinition<typeof delegateParameters, DelegateDetails> {
	return {
		name: "delegate_to_subagents",
		label: "Delegate to sub-agents",
		description:
			"Run tasks in parallel, each by a sub-agent: a separate agent with its own context and tools. Returns one status line per task with its session id; read the answers with get_subagent_output.",
		parameters: delegateParameters,
		async execute(callId, parameters, signal, onUpdate, context) {
			const parent = parentOf(host, context);
			const stop = AbortSignal.any([host.sessionSignal(), ...(signal ? [signal] : [])]);
			const rows = await planRows(parameters, parent);
			const updates = createThrottle(() => onUpdate?.(progressOf(rows, parent)));
			const change = (row: Row, state: RunState) => {
				row.state = state;
				updates.request();
			};
			updates.request();
			try {
				const inTurn = pLimit(parent.settings.maxConcurrency);
				await inTurn.map(rows, (row) => runRow(row, { host, parent, context, stop, change }));
			} finally {
				updates.dispose();
			}
			if (rows.every(({ state }) => delegateStatusOf(state) === "error")) host.failedCalls.add(callId);
			return resultOf(rows, parent);
		},
		renderCall: renderDelegateCall,
		renderResult: renderWindows,
	};
}

async function planRows(parameters: DelegateParameters, parent: Parent): Promise<Row[]> {
	const extension = scriptPath("extension");
	return await Promise.all(
		parseTasks(parameters).map(async (task) => {
			const plan = await planDelegate(task, parent, extension);
			return { task, plan, state: plan.ok ? initialState : refused({ kind: "rejected", message: plan.error }) };
		}),
	);
}

const refused = (failure: Failure, runId = ""): RunState => {
	const event: RunEvent = { type: "ended", result: resultWithout(runId, initialState, failure, Date.now()) };
	return reduce(initialState, event);
};

interface Surroundings {
	readonly host: Host;
	readonly parent: Parent;
	readonly context: ExtensionContext;
	readonly stop: AbortSignal;
	readonly change: (row: Row, state: RunState) => void;
}

async function runRow(row: Row, { host, parent, context, stop, change }: Surroundings): Promise<void> {
	if (!row.plan.ok) return;
	const { spec, packet } = row.plan.value;
	if (stop.aborted) {
		return change(row, refused({ kind: "stopped", cause: { kind: "aborted", by: "caller" } }, spec.runId));
	}
	const directory = createRunDirectory(spec, parent.cwd, agentDirectory());
	if (!directory.ok) return change(row, refused({ kind: "rejected", message: directory.error }, spec.runId));
	if (directory.value.warning !== undefined) host.warn(directory.value.warning, context);
	change(row, await execute({ spec, packet, directory: directory.value.path }, stop, (state) => change(row, state)));
}

const shown = ({ task, plan, state }: Row): ShownTask => ({
	name: task.name,
	sessionId: task.sessionId,
	timeoutSeconds: task.timeoutSeconds,
	profile: task.profile,
	spec: plan.ok ? plan.value.spec : undefined,
	state,
});

function detailsOf(rows: readonly Row[], parent: Parent, globalStatus: "running" | "done"): DelegateDetails {
	const { maxLinesPerWindow } = parent.settings;
	return {
		windows: rows.map((row) =>
			globalStatus === "done" ? finalWindow(shown(row)) : partialWindow(shown(row), maxLinesPerWindow),
		),
		maxLinesPerWindow,
		globalStatus,
		sessionIds: rows.map(({ task }) => task.sessionId),
	};
}

function progressOf(rows: readonly Row[], parent: Parent): AgentToolResult<DelegateDetails> {
	const text = globalStatusLine(rows.map(({ state }) => delegateStatusOf(state)));
	return { content: [{ type: "text", text }], details: detailsOf(rows, parent, "running") };
}

function resultOf(rows: readonly Row[], parent: Parent): AgentToolResult<DelegateDetails> {
	const lines = rows.flatMap(({ task, plan, state }) =>
		state.phase.kind === "done"
			? [summaryLine(task.name, task.sessionId, state.phase.result.outcome, plan.ok ? plan.value.spec : undefined)]
			: [],
	);
	return {
		content: [{ type: "text", text: lines.join("\n") }],
		details: detailsOf(rows, parent, "done"),
		usage: rows.reduce((sum, { state }) => addUsage(sum, state.usage), noUsage),
	};
}
