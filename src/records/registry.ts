import { type BackgroundCounts, type BackgroundRun, backgroundStatusOf } from "../domain/background.ts";

/** The background runs that this session knows of, oldest first. */
export interface Registry {
	put(run: BackgroundRun): void;
	get(runId: string): BackgroundRun | undefined;
	readonly runs: readonly BackgroundRun[];
	counts(): BackgroundCounts;
	clear(): void;
}

export function createRegistry(): Registry {
	const runs = new Map<string, BackgroundRun>();
	return {
		put: (run) => void runs.set(run.runId, run),
		get: (runId) => runs.get(runId),
		get runs() {
			return [...runs.values()];
		},
		counts() {
			const counts = { running: 0, completed: 0, failed: 0, aborted: 0, total: runs.size };
			for (const run of runs.values()) counts[backgroundStatusOf(run)]++;
			return counts;
		},
		clear: () => runs.clear(),
	};
}
