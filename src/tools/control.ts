import type { ToolDefinition } from "@earendil-works/pi-coding-agent";
import { type Static, Type } from "typebox";
import { type Host, settingsOf } from "../call/host.ts";
import { type BackgroundCounts, type BackgroundRun, isBackground } from "../domain/kept-run.ts";
import { DEFAULT_LINES } from "../domain/shown-lines.ts";
import { countsText, runRow, type ShownRun, shownRun } from "../present/background-text.ts";
import { renderTitle } from "../present/call-view.ts";
import { renderContent } from "../present/text-view.ts";
import { createSteer } from "../run/act-on-run.ts";
import { answersOf, describe } from "./background-status.ts";
import { prepareArguments } from "./prepare-arguments.ts";
import { refuseUnknownFields } from "./unknown-fields.ts";

const ACTIONS = ["wait", "message", "stop"] as const;
const parameters = Type.Object({
	ids: Type.Array(Type.String()),
	action: Type.Unsafe<(typeof ACTIONS)[number]>({ type: "string", enum: [...ACTIONS] }),
	message: Type.Optional(Type.String()),
	timeout: Type.Optional(Type.Number({ description: "Seconds" })),
});
type Asked = Static<typeof parameters>;

export interface ControlDetails {
	readonly counts: BackgroundCounts;
	readonly runs: readonly ShownRun[];
	readonly maxLines: number;
}

/** What the parent's model can do about background runs, beside starting and looking at them. */
export function controlTool(host: Host): ToolDefinition<typeof parameters, ControlDetails> {
	return {
		name: "subagent_control",
		label: "Control sub-agents",
		description: "Wait for the answers of background agents, send them a message, or stop them.",
		parameters,
		prepareArguments: (args) => prepareArguments(parameters, args),
		async execute(_callId, asked, signal, _onUpdate, context) {
			refuseUnknownFields("subagent_control", asked, parameters);
			const runs = selected(host, asked);
			const { outputLimit, maxLinesPerWindow } = settingsOf(host, context);
			const done = await act(host, runs, asked, outputLimit, signal);
			return {
				content: [{ type: "text", text: done.text }],
				details: {
					counts: host.store.counts(),
					runs: runs.map(now(host)).map((run) => shownRun(run)),
					maxLines: maxLinesPerWindow,
				},
				...(done.usage && { usage: done.usage }),
			};
		},
		renderCall: ({ action, ids }, theme) =>
			renderTitle("subagent_control", [action ?? "", ...(Array.isArray(ids) ? ids : [])].join(" "), theme),
		renderResult: (result, { expanded }, theme) =>
			renderContent(result, result.details?.maxLines ?? DEFAULT_LINES, expanded, theme),
	};
}

/** As the session knows it at the moment. */
const now =
	({ store }: Host) =>
	(run: BackgroundRun): BackgroundRun => {
		const known = store.get(run.runId);
		return known && isBackground(known) ? known : run;
	};

function running({ store }: Host): string {
	const ids = store.background.filter(({ progress }) => progress.kind === "running").map(({ runId }) => runId);
	return `Running: ${ids.join(", ") || "(none)"}`;
}

function selected(host: Host, { ids, action, message, timeout }: Asked): readonly BackgroundRun[] {
	const refuse = (why: string): never => {
		throw new Error(`${why}. ${running(host)}`);
	};
	if (ids.length === 0) refuse("ids names no background agent");
	if (action === "message" && (message ?? "").trim() === "") refuse('action "message" needs a message');
	if (timeout !== undefined && !(timeout > 0)) refuse("timeout must be more than 0 seconds");
	return [...new Set(ids)].map((id) => {
		const { background } = host.store;
		const run =
			background.find(({ runId }) => runId === id) ?? background.findLast(({ sessionId }) => sessionId === id);
		if (!run) return refuse(`Unknown background agent: "${id}"`);
		if (action !== "wait" && run.progress.kind === "ended") refuse(`Run ${run.runId} has ended`);
		return run;
	});
}

interface Done {
	readonly text: string;
	readonly usage?: ReturnType<Host["background"]["bill"]>;
}

async function act(
	host: Host,
	runs: readonly BackgroundRun[],
	asked: Asked,
	limit: number,
	signal: AbortSignal | undefined,
): Promise<Done> {
	if (asked.action === "wait") return await wait(host, runs, asked.timeout, limit, signal);
	const lines = await Promise.all(
		runs.map(async ({ runId }) => {
			if (asked.action === "stop") return (await host.background.stop(runId, "caller")) ?? `Stopping ${runId}`;
			const sent = await host.background.message(runId, createSteer(asked.message ?? "", "turn-end"), "model");
			return sent.ok ? `Queued for ${runId}: it reads the message before its next request` : sent.error;
		}),
	);
	return { text: lines.join("\n") };
}

/** Until all have ended, the time is over, or the call is stopped; the runs go on in any case. */
async function wait(
	host: Host,
	runs: readonly BackgroundRun[],
	timeout: number | undefined,
	limit: number,
	signal: AbortSignal | undefined,
): Promise<Done> {
	const { background, store } = host;
	const stop = AbortSignal.any([host.sessionSignal(), ...(signal ? [signal] : [])]);
	const overdue = timeout === undefined ? [] : [AbortSignal.timeout(timeout * 1_000)];
	const leave = await background.wait(
		runs.map(({ runId }) => runId),
		AbortSignal.any([stop, ...overdue]),
	);
	leave(!stop.aborted);
	if (stop.aborted)
		throw new Error("The waiting was stopped. The background agents go on, and their ends are announced");
	const latest = runs.map(now(host));
	const blocks = describe(latest, await answersOf(latest), limit, runRow);
	const usage = background.bill();
	return {
		text: [`Background agents: ${countsText(store.counts())}`, ...blocks].join("\n\n"),
		...(usage && { usage }),
	};
}
