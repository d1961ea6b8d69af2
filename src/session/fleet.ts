import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Usage } from "@earendil-works/pi-ai";
import { isBackground, type KeptRun } from "../domain/kept-run.ts";
import { err, ok, type Result } from "../domain/result.ts";
import type { RunSpec } from "../domain/spec.ts";
import { initialState, type RunState, reduce } from "../domain/state.ts";
import type { Steer } from "../domain/steer.ts";
import { noUsage } from "../domain/usage.ts";
import { endNote } from "../present/end-note.ts";
import { endStateOf, type TaskState, taskStateOf } from "../present/task-state.ts";
import { describeEnd } from "../present/text.ts";
import type { RunStore } from "../records/run-store.ts";
import { createSteer, type SentMessage, STRANGER, sendMessage, stopRun } from "../run/act-on-run.ts";
import { connectControl } from "../run/control-client.ts";
import { isOurs, type StartedRun } from "../run/watch.ts";
import { isRunId, startOfRun } from "../run-directory/names.ts";
import { homeRuns, homeRunsOf, isReadable, projectRunsOf } from "../run-directory/places.ts";
import { follow, readRun, readSpec } from "../run-directory/read.ts";
import { readResult } from "../run-directory/result.ts";
import type { Background } from "./background.ts";
import type { LiveRun, LiveRuns } from "./live-runs.ts";

/** Which runs are looked at. */
export type FleetScope = "session" | "project" | "all";
export const SCOPES: readonly FleetScope[] = ["session", "project", "all"];

/** A run as a person sees it among others. */
export interface FleetRun {
	readonly runId: string;
	readonly sessionId: string;
	readonly family: RunSpec["family"];
	readonly label: string;
	readonly task: string;
	readonly model: string | undefined;
	readonly lifetime: "foreground" | "background";
	readonly cwd: string;
	/** Undefined while it is queued, and where nothing may be read. */
	readonly directory: string | undefined;
	readonly shown: TaskState;
	/** How it ended, in a line. */
	readonly note: string | undefined;
	readonly startedAt: number;
	readonly endedAt: number | undefined;
	readonly usage: Usage;
	/** What it has done so far, where that is known. */
	readonly state: RunState | undefined;
	readonly handle: Handle;
}

/** How a run is reached. */
type Handle =
	| { readonly kind: "live"; readonly run: LiveRun }
	| { readonly kind: "own"; readonly run: KeptRun }
	| { readonly kind: "foreign"; readonly run: StartedRun };

export interface FleetHost {
	readonly store: RunStore;
	readonly live: LiveRuns;
	readonly background: Background;
	places(): { readonly cwd: string; readonly agentDirectory: string };
}

/** The runs of this session, of this project, or of all projects, and what a person can do about them. */
export interface Fleet {
	/** What is known at this moment: running ones first, then the newest. */
	runs(scope: FleetScope): readonly FleetRun[];
	/** Looks through the directories of the scope. Resolves when `runs` has what is there. */
	look(scope: FleetScope): Promise<void>;
	/** Has the run's state told as it grows, or read once where it has ended. */
	attend(run: FleetRun): void;
	message(run: FleetRun, text: string, when: Steer["when"]): Promise<Result<SentMessage>>;
	stop(run: FleetRun): Promise<Result<undefined>>;
	/** Lets a running task of a call go on as a background run. */
	release(run: FleetRun): Promise<Result<undefined>>;
	/** Ends all that was begun for whoever looks. */
	close(): void;
}

/** More than anybody scrolls through; older runs are found by their id. */
const MAX_FOUND = 200;

export function createFleet(host: FleetHost, onChange: () => void = () => {}): Fleet {
	const followed = createFollowed(onChange);
	const found = new Map<FleetScope, readonly FleetRun[]>();
	const own = (): FleetRun[] => {
		const live = host.live.runs.map(fromLive);
		const known = new Set(live.map(({ runId }) => runId));
		return [...live, ...host.store.runs.filter(({ runId }) => !known.has(runId)).map((run) => fromKept(run))];
	};
	return {
		runs(scope) {
			const mine = own();
			const known = new Set(mine.map(({ runId }) => runId));
			const others = (found.get(scope) ?? []).filter(({ runId }) => !known.has(runId));
			return [...mine, ...others].map((run) => followed.with(run)).toSorted(byImportance);
		},
		async look(scope) {
			if (scope === "session") return;
			const known = new Map((found.get(scope) ?? []).map((run) => [run.runId, run]));
			found.set(scope, await scan(scope, host.places(), known));
			onChange();
		},
		attend: followed.attend,
		async message({ handle }, text, when) {
			if (handle.kind === "live") return await handle.run.message(text, when);
			const started = startedOf(handle);
			return started.ok ? await sendMessage(started.value, createSteer(text, when), STRANGER) : started;
		},
		async stop({ handle, runId }) {
			if (handle.kind === "live") {
				handle.run.stop();
				return ok(undefined);
			}
			if (handle.kind === "foreign") return await stopRun(handle.run);
			const problem = await host.background.stop(runId);
			return problem === undefined ? ok(undefined) : err(problem);
		},
		async release({ handle, endedAt, runId, lifetime }) {
			if (handle.kind === "live") return await handle.run.release();
			if (endedAt !== undefined) return err(`Run ${runId} has ended`);
			return err(lifetime === "background" ? "It runs in the background already" : "It belongs to another session");
		},
		close: followed.close,
	};
}

const RANKS: Readonly<Record<TaskState, number>> = {
	...{ asks: 0, running: 1, queued: 2 },
	...{ moved: 3, done: 3, failed: 3, stopped: 3 },
};
const byImportance = (a: FleetRun, b: FleetRun) =>
	RANKS[a.shown] - RANKS[b.shown] || (RANKS[a.shown] < 3 ? 0 : b.startedAt - a.startedAt);

function startedOf(handle: Exclude<Handle, { kind: "live" }>): Result<StartedRun> {
	if (handle.kind === "foreign") return ok(handle.run);
	const { run } = handle;
	if (run.progress.kind === "ended" || !isBackground(run)) return err(`Run ${run.runId} has ended`);
	const { runId, directory, lifetime, distrusted } = run;
	return ok({ runId, directory, socket: lifetime.socket, ...(distrusted && { distrusted: true as const }) });
}

function fromLive(run: LiveRun): FleetRun {
	const { state, runId, sessionId, family, label, task, directory } = run;
	return {
		...{ runId, sessionId, family, label, task, directory, state },
		...{ model: modelOf(state), lifetime: "foreground", cwd: "" },
		...ofState(state),
		handle: { kind: "live", run },
	};
}

const modelOf = (state: RunState): string | undefined => {
	const last = state.entries.findLast(({ kind, ...entry }) => kind === "message" && isAnswer(entry));
	return last?.kind === "message" && last.message.role === "assistant" ? last.message.model : undefined;
};
const isAnswer = (entry: object) => (entry as { message?: { role?: string } }).message?.role === "assistant";

function ofState(state: RunState): Pick<FleetRun, "shown" | "note" | "startedAt" | "endedAt" | "usage"> {
	const { phase, usage } = state;
	const result = phase.kind === "done" ? phase.result : undefined;
	return {
		shown: taskStateOf(state),
		note: endNote(state, undefined, PLACE),
		startedAt: phase.kind === "running" ? phase.since : (result?.startedAt ?? 0),
		...{ endedAt: result?.endedAt, usage },
	};
}

const PLACE = { width: 200, cwd: "", home: "" };

function fromKept(run: KeptRun): FleetRun {
	const { runId, sessionId, family, label, task, progress, startedAt } = run;
	const ended = progress.kind === "ended" ? progress : undefined;
	return {
		...{ runId, sessionId, family, label, task, startedAt, state: undefined },
		model: (ended?.model ?? run.resolvedModel)?.split("/").slice(1).join("/"),
		lifetime: run.lifetime.kind,
		cwd: run.cwd ?? "",
		directory: run.distrusted ? undefined : run.directory,
		shown: shownOf(run),
		note: ended && (describeEnd(run) ?? ended.text),
		endedAt: ended?.at,
		usage: ended?.usage ?? noUsage,
		handle: { kind: "own", run },
	};
}

function shownOf({ progress }: KeptRun): TaskState {
	if (progress.kind === "running") return "running";
	const { outcome } = progress;
	if (outcome.kind === "completed") return "done";
	const { failure } = outcome;
	if (failure.kind === "told") return failure.status === "aborted" ? "stopped" : "failed";
	if (failure.kind === "interrupted" || failure.kind === "closed" || failure.kind === "gone") return "failed";
	return endStateOf({ kind: "failed", failure });
}

/** The runs whose directories are there; what has ended is not read again. */
async function scan(
	scope: Exclude<FleetScope, "session">,
	places: ReturnType<FleetHost["places"]>,
	known: ReadonlyMap<string, FleetRun>,
): Promise<FleetRun[]> {
	const inHome = scope === "project" ? [homeRunsOf(places)] : await inside(homeRuns(places.agentDirectory));
	const directories = await Promise.all([...inHome, projectRunsOf(places.cwd)].map(inside));
	const newest = directories
		.flat()
		.filter((path) => isRunId(basename(path)))
		.toSorted((a, b) => (basename(a) < basename(b) ? 1 : -1))
		.slice(0, MAX_FOUND);
	const runs = await Promise.all(
		newest.map(async (directory) => {
			const before = known.get(basename(directory));
			return before?.endedAt === undefined ? await fromDirectory(directory) : [before];
		}),
	);
	return runs.flat();
}

const inside = async (path: string): Promise<string[]> =>
	(await readdir(path).catch(() => [])).map((name) => join(path, name));

/** Nothing is read from a directory to which others can write. */
export async function fromDirectory(directory: string): Promise<FleetRun[]> {
	if (!isReadable(directory)) return [];
	const spec = await readSpec(directory);
	const runId = basename(directory);
	if (spec?.runId !== runId || typeof spec.label !== "string" || typeof spec.socket !== "string") return [];
	const started = { runId, directory, socket: spec.socket };
	const result = await readResult(directory);
	const alive = !result && isOurs(started) && (await answers(spec.socket));
	const ended = result && reduce(initialState, { type: "ended", result });
	return [
		{
			...{ runId, directory, sessionId: spec.sessionId, family: spec.family, label: spec.label, task: spec.task },
			model: result?.model?.id ?? spec.model?.id,
			...{ lifetime: spec.lifetime, cwd: spec.cwd, state: undefined },
			...(ended ? ofState(ended) : UNKNOWN),
			startedAt: result?.startedAt ?? startOfRun(runId),
			...(!ended && alive && { shown: "running" as const, note: undefined }),
			handle: { kind: "foreign", run: started },
		},
	];
}

/** A pid proves nothing: it may be somebody else's by now. */
async function answers(socket: string): Promise<boolean> {
	const control = await connectControl(socket);
	if (control.ok) control.value.close();
	return control.ok;
}

const UNKNOWN = {
	shown: "failed",
	note: "broke off: nobody watches over it",
	endedAt: undefined,
	usage: noUsage,
} as const;

/** The states of runs that are looked at, told as they grow. */
function createFollowed(onChange: () => void) {
	const states = new Map<string, RunState>();
	const begun = new Set<string>();
	const closing = new AbortController();
	const put = (runId: string, state: RunState) => {
		states.set(runId, state);
		onChange();
	};
	const read = async ({ runId, directory }: FleetRun) => {
		const state = directory === undefined ? undefined : await readRun(directory);
		if (state) put(runId, state);
	};
	const watch = async (run: FleetRun, { directory, socket, distrusted }: StartedRun) => {
		const control = distrusted ? undefined : await connectControl(socket);
		if (!control?.ok || closing.signal.aborted) return control?.ok ? control.value.close() : await read(run);
		closing.signal.addEventListener("abort", () => control.value.close(), { once: true });
		control.value.unref();
		let state = initialState;
		for await (const event of follow(directory, control.value)) {
			state = reduce(state, event);
			put(run.runId, state);
		}
		begun.delete(run.runId);
	};
	return {
		attend(run: FleetRun) {
			if (run.handle.kind === "live" || begun.has(run.runId) || run.directory === undefined) return;
			begun.add(run.runId);
			const started = run.shown === "running" ? startedOf(run.handle) : err("");
			void (started.ok ? watch(run, started.value) : read(run)).catch(() => {});
		},
		with(run: FleetRun): FleetRun {
			const state = states.get(run.runId);
			if (!state || run.handle.kind === "live") return run;
			if (run.shown !== "running") return { ...run, state };
			return { ...run, state, ...(state.phase.kind === "queued" ? {} : ofState(state)) };
		},
		close: () => closing.abort(),
	};
}
