import {
	type BackgroundCounts,
	type BackgroundRun,
	backgroundStatusOf,
	isBackground,
	type KeptRun,
} from "../domain/kept-run.ts";

/** Foreground sessions that are held in memory. Others are read from the session's entries when they are asked for. */
const MAX_SESSIONS = 32;
/** Runs of one sub-agent session that are known; the oldest make room for new ones. */
const MAX_RUNS = 10;

/** The runs of this pi session, oldest first. */
export interface RunStore {
	/** Adds a run, or replaces what was known of it. */
	put(run: KeptRun): void;
	get(runId: string): KeptRun | undefined;
	/** The runs of a sub-agent session, or the one run that has this id. */
	find(id: string): readonly KeptRun[];
	readonly runs: readonly KeptRun[];
	readonly background: readonly BackgroundRun[];
	counts(): BackgroundCounts;
	/** Forgets the runs of one lifetime, or all. */
	clear(lifetime?: KeptRun["lifetime"]["kind"]): void;
}

export function createRunStore(): RunStore {
	const runs = new Map<string, KeptRun>();
	const all = () => [...runs.values()];
	return {
		put(run) {
			runs.set(run.runId, run);
			if (!isBackground(run)) evict(runs, run.sessionId);
		},
		get: (runId) => runs.get(runId),
		find: (id) => runsWith(id, all()),
		get runs() {
			return all();
		},
		get background() {
			return all().filter(isBackground);
		},
		counts() {
			const background = all().filter(isBackground);
			const counts = { running: 0, completed: 0, failed: 0, aborted: 0, total: background.length };
			for (const run of background) counts[backgroundStatusOf(run)]++;
			return counts;
		},
		clear(lifetime) {
			for (const run of all()) if (lifetime === undefined || run.lifetime.kind === lifetime) runs.delete(run.runId);
		},
	};
}

/** The newest runs of a sub-agent session, or the one run that has this id. */
export function runsWith(id: string, runs: readonly KeptRun[]): readonly KeptRun[] {
	const session = runs.filter(({ sessionId }) => sessionId === id).slice(-MAX_RUNS);
	return session.length > 0 ? session : runs.filter(({ runId }) => runId === id);
}

/** Forgets the oldest finished sessions. One that runs, and the newest, stay even if that makes too many. */
function evict(runs: Map<string, KeptRun>, newest: string): void {
	const sessions = Map.groupBy(
		[...runs.values()].filter((run) => !isBackground(run)),
		({ sessionId }) => sessionId,
	);
	const excess = sessions.size - MAX_SESSIONS;
	if (excess <= 0) return;
	const finished = [...sessions.values()].filter(
		([first, ...more]) =>
			first?.sessionId !== newest && [first, ...more].every((run) => run?.progress.kind === "ended"),
	);
	const oldest = finished.sort(([a], [b]) => (a?.startedAt ?? 0) - (b?.startedAt ?? 0)).slice(0, excess);
	for (const { runId } of oldest.flat()) runs.delete(runId);
}
