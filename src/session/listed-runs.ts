import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { backgroundStatusOf, isBackground, type KeptRun } from "../domain/kept-run.ts";
import type { RunStore } from "../records/run-store.ts";
import { stopRun } from "../run/act-on-run.ts";
import { connectControl } from "../run/control-client.ts";
import { isOurs, type StartedRun } from "../run/watch.ts";
import { isRunId, startOfRun } from "../run-directory/names.ts";
import { homeRunsOf, projectRunsOf, type RunPlaces } from "../run-directory/places.ts";
import { readSpec } from "../run-directory/read.ts";
import { readResult } from "../run-directory/result.ts";
import type { Background } from "./background.ts";
import type { LiveRuns } from "./live-runs.ts";

/** A run as a person is shown it, and how to stop it. */
export interface ListedRun {
	readonly runId: string;
	readonly sessionId: string;
	readonly label: string;
	readonly task: string;
	readonly status: "queued" | "running" | "completed" | "failed" | "aborted";
	/** `elsewhere`: another session of this project has started it. */
	readonly place: "foreground" | "background" | "elsewhere";
	readonly startedAt: number;
	readonly endedAt: number | undefined;
	/** Asks it to stop; resolves to why that is not possible. */
	stop(): Promise<string | undefined>;
}

interface Session {
	readonly store: RunStore;
	readonly live: LiveRuns;
	readonly background: Background;
}

/** All runs of the session, oldest first, then those of other sessions of the project that still run. */
export async function listRuns(session: Session, places: RunPlaces): Promise<ListedRun[]> {
	const live = session.live.runs.map((run): ListedRun => {
		const { runId, sessionId, label, task, state } = run;
		const isQueued = state.phase.kind === "queued";
		return {
			...{ runId, sessionId, label, task, place: "foreground", endedAt: undefined },
			status: isQueued ? "queued" : "running",
			startedAt: state.phase.kind === "running" ? state.phase.since : startOfRun(runId),
			async stop() {
				run.stop();
				return undefined;
			},
		};
	});
	const isLive = new Set(live.map(({ runId }) => runId));
	const kept = session.store.runs.filter(({ runId }) => !isLive.has(runId));
	const known = new Set([...isLive, ...kept.map(({ runId }) => runId)]);
	return [...kept.map((run) => keptRun(run, session.background)), ...live, ...(await elsewhere(places, known))];
}

function keptRun(run: KeptRun, background: Background): ListedRun {
	const { runId, sessionId, label, task, startedAt, progress } = run;
	return {
		...{ runId, sessionId, label, task, startedAt },
		status: backgroundStatusOf(run),
		place: isBackground(run) ? "background" : "foreground",
		endedAt: progress.kind === "ended" ? progress.at : undefined,
		stop: () => background.stop(runId),
	};
}

/** Runs of the project whose supervisors answer. */
async function elsewhere(places: RunPlaces, known: ReadonlySet<string>): Promise<ListedRun[]> {
	const directories = await Promise.all(
		[homeRunsOf(places), projectRunsOf(places.cwd)].map(async (runs) =>
			(await readdir(runs).catch(() => [])).filter(isRunId).map((runId) => ({ runId, directory: join(runs, runId) })),
		),
	);
	const others = directories.flat().filter(({ runId }) => !known.has(runId));
	return (await Promise.all(others.map(({ runId, directory }) => runningElsewhere(runId, directory)))).flat();
}

async function runningElsewhere(runId: string, directory: string): Promise<ListedRun[]> {
	if ((await readResult(directory)) !== undefined) return [];
	const spec = await readSpec(directory);
	const run: StartedRun = { runId, directory, socket: spec?.socket ?? "" };
	if (!spec || !isOurs(run)) return [];
	const control = await connectControl(run.socket);
	if (!control.ok) return [];
	control.value.close();
	const { sessionId, label, task } = spec;
	const stop = async () => {
		const stopped = await stopRun(run);
		return stopped.ok ? undefined : stopped.error;
	};
	const startedAt = startOfRun(runId);
	return [
		{ runId, sessionId, label, task, status: "running", place: "elsewhere", startedAt, endedAt: undefined, stop },
	];
}
