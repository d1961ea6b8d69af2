import { homedir } from "node:os";
import type { AgentToolResult, AgentToolUpdateCallback, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { endOf, type KeptRun, type SaidOfRun } from "../domain/kept-run.ts";
import { err, ok, type Result } from "../domain/result.ts";
import type { Failure } from "../domain/run-result.ts";
import { isStoppedByPerson, messagesOf, type RunState } from "../domain/state.ts";
import { addUsage, noUsage } from "../domain/usage.ts";
import type { Parent } from "../plan/parent.ts";
import type { RunRequest } from "../plan/run.ts";
import { displayOf } from "../present/display.ts";
import { paneTitle } from "../present/pane-text.ts";
import { NOTHING_SAID, remarkBlocks, saidOf } from "../present/remarks.ts";
import { delegateStatusOf, globalStatusLine } from "../present/text.ts";
import { finalWindows, partialWindows, type ShownTask, type TaskWindow } from "../present/window.ts";
import type { ControlClient } from "../run/control-client.ts";
import { execute, stopCauseOf } from "../run/execute.ts";
import type { Launcher } from "../run/launch-process.ts";
import { createPanes } from "../run/launch-tmux.ts";
import { spentRefusal } from "../session/spending.ts";
import { modelsOf, moveToBackground } from "./background-run.ts";
import { type Host, parentOf } from "./host.ts";
import { createLiveRow, type LiveRow } from "./live-row.ts";
import { createNestedFooter } from "./nested-footer.ts";
import { createQueue } from "./queue.ts";
import { type Row, refused } from "./row.ts";
import { dropParked, prepareRow } from "./row-start.ts";
import { createThrottle } from "./throttle.ts";
import { createUpdates } from "./updates.ts";

/** What every such tool tells a person, while it runs and afterwards. */
export interface CallDetails {
	readonly windows: readonly TaskWindow[];
	readonly maxLinesPerWindow: number;
	readonly maxConcurrency: number;
	readonly globalStatus: "running" | "done";
	readonly sessionIds: readonly string[];
}

/** Where a call is made. */
export interface Call {
	readonly id: string;
	readonly host: Host;
	readonly context: ExtensionContext;
	readonly parent: Parent;
	readonly signal: AbortSignal | undefined;
	readonly onUpdate: AgentToolUpdateCallback<CallDetails> | undefined;
}

export function callOf(
	host: Host,
	id: string,
	signal: AbortSignal | undefined,
	onUpdate: Call["onUpdate"],
	context: ExtensionContext,
): Call {
	return { id, host, context, parent: parentOf(host, context), signal, onUpdate };
}

/** Runs all tasks, as many at a time as the settings allow, and tells how they get on. Never throws. */
export async function runRows(rows: readonly Row[], call: Call): Promise<void> {
	const { host, parent, context, signal } = call;
	const stop = AbortSignal.any([host.sessionSignal(), ...(signal ? [signal] : [])]);
	const footer = createNestedFooter(rows, call);
	const requests = rows.map(({ request }) => request);
	const send = createUpdates(context.mode, requests, () => updateOf(rows, parent), call.onUpdate);
	const updates = createThrottle(
		() => {
			footer.show();
			return send();
		},
		context.mode === "tui" ? "clock" : "no clock",
	);
	const queue = createQueue(rows, parent);
	const change = (row: Row, state: RunState) => {
		row.state = state;
		if (state.messageCount > 0) queue.atWork(row);
		updates.request();
		host.live.changed();
	};
	const move: Parameters<typeof createLiveRow>[1] = (run, startedAt, detach) =>
		moveToBackground(run, startedAt, detach, call);
	updates.request();
	const live = new Map(rows.filter(({ plan }) => plan.ok).map((row) => [row, createLiveRow(row, move)]));
	const removals = new Map([...live].map(([row, each]) => [row, host.live.add(each.live)]));
	try {
		const line = host.turns.join(parent.settings.maxConcurrency);
		const inTurn = async (row: Row) => {
			const own = live.get(row);
			const stopRow = own ? AbortSignal.any([stop, own.stop]) : stop;
			const end = row.plan.ok ? await line.turn(stopRow) : () => {};
			queue.begun(row);
			await runRow(row, call, stopRow, change, own).finally(end);
			if (row.moved) removals.get(row)?.(); // the session has it as a background run now
		};
		await Promise.all(rows.map(inTurn));
	} finally {
		for (const remove of removals.values()) remove();
		updates.dispose();
		footer.clear();
		await Promise.all(rows.map(dropParked));
	}
	const failed = rows.every(({ state }) => delegateStatusOf(state) === "error");
	if (failed && !rows.every(({ state }) => isStoppedByPerson(state))) host.failedCalls.add(call.id);
}

/** From its turn to its end, whatever that is: the session keeps every task. */
async function runRow(
	row: Row,
	{ host, parent }: Call,
	stop: AbortSignal,
	change: (row: Row, state: RunState) => void,
	live: LiveRow | undefined,
): Promise<void> {
	const end = (state: RunState, directory: string | undefined) => {
		live?.over();
		change(row, state);
		host.keep(recordOf(row, directory));
	};
	const refuse = (failure: Failure) => end(refused(row.request.runId, failure), undefined);
	if (!row.plan.ok) return end(row.state, undefined);
	const shownIn = await paneOf(row.request, host, parent);
	if (!shownIn.ok) return refuse({ kind: "rejected", message: shownIn.error });
	const spent = spentRefusal(parent.sessionBudget);
	if (spent !== undefined) return refuse({ kind: "rejected", message: spent });
	const prepared = stop.aborted ? err("") : await prepareRow(row, host, parent, stop);
	if (stop.aborted) return refuse({ kind: "stopped", cause: stopCauseOf(stop) });
	if (!prepared.ok) return refuse({ kind: "rejected", message: prepared.error });
	const { run, launch } = prepared.value;
	row.directory = run.directory;
	host.keep(recordOf(row, run.directory));
	const asking = { runId: run.spec.runId, label: run.spec.label, token: run.token };
	const onControl = (control: ControlClient) => void (parent.attended && host.questions.attend(asking, control));
	const hooks = live && { onControl, onBegun: () => live.begun(run), detach: live.moved };
	const state = await execute(run, stop, (state) => change(row, state), shownIn.value(launch), hooks);
	if (state.phase.kind === "done") return end(state, run.directory);
	row.moved = true;
	live?.over();
	change(row, state);
}

/** Panes are for `subagent` alone. */
async function paneOf(
	{ family }: RunRequest,
	host: Host,
	{ settings }: Parent,
): Promise<Result<(launch: Launcher) => Launcher>> {
	if (settings.runner !== "tmux" || family === "delegate") return ok((launch) => launch);
	const atEnd = settings.keepPanes ? "keep" : "close";
	return await createPanes({ titleOf: paneTitle, atEnd, environment: process.env, warn: host.warn });
}

function recordOf({ request, plan, state }: Row, directory: string | undefined): KeptRun {
	const { phase } = state;
	const { runId, sessionId, family, label, task, definition } = request;
	const spec = plan.ok ? plan.value.spec : undefined;
	const progress =
		phase.kind === "done" ? endOf(phase.result, saidOf(phase.result), "billed", messagesOf(state)) : RUNNING;
	return {
		...{ runId, sessionId, family, label, task, definition, directory, progress },
		cwd: spec?.cwd ?? request.cwd,
		...modelsOf(spec),
		startedAt: phase.kind === "done" ? phase.result.startedAt : Date.now(),
		distrusted: false,
		lifetime: { kind: "foreground" },
	};
}

const RUNNING = { kind: "running" } as const;

const shown = ({ request, plan, directory, state, moved }: Row): ShownTask => ({
	moved,
	name: request.label,
	sessionId: request.sessionId,
	timeoutSeconds: plan.ok
		? plan.value.spec.limits.timeoutMs / 1_000
		: (request.timeoutSeconds ?? request.defaultTimeoutSeconds ?? 0),
	profile: request.definition,
	spec: plan.ok ? plan.value.spec : undefined,
	task: request.task,
	directory,
	state,
});

export function detailsOf(rows: readonly Row[], parent: Parent, globalStatus: "running" | "done"): CallDetails {
	const { maxLinesPerWindow, maxConcurrency } = parent.settings;
	const display = displayOf(parent.settings, process.stdout, homedir());
	return {
		windows: (globalStatus === "done" ? finalWindows : partialWindows)(rows.map(shown), display),
		maxLinesPerWindow,
		maxConcurrency,
		globalStatus,
		sessionIds: rows.map(({ request }) => request.sessionId),
	};
}

function updateOf(rows: readonly Row[], parent: Parent): AgentToolResult<CallDetails> {
	const text = globalStatusLine(rows.map(({ state }) => delegateStatusOf(state)));
	return { content: [{ type: "text", text }], details: detailsOf(rows, parent, "running") };
}

/** What the model is told of a call that has ended, with what it cost. */
export function resultOf(
	rows: readonly Row[],
	parent: Parent,
	text: string,
	said: SaidOfRun = NOTHING_SAID,
): AgentToolResult<CallDetails> {
	return {
		content: [{ type: "text", text }, ...remarkBlocks(said)],
		details: detailsOf(rows, parent, "done"),
		// What has moved to the background is billed there.
		usage: rows.reduce((sum, { state, moved }) => (moved ? sum : addUsage(sum, state.usage)), noUsage),
	};
}
