import type { RunRecord } from "../domain/record.ts";

const MAX_SESSIONS = 32;
const MAX_RUNS = 10;

/** The runs of this session of pi, by sub-agent session; the oldest finished ones make room for new ones. */
export interface SessionStore {
	/** Adds a run, or replaces what was known of it. */
	put(record: RunRecord): void;
	/** Oldest first; empty when the session is not known. */
	runsOf(sessionId: string): readonly RunRecord[];
	/** The runs of a session, or the one run that has this id. */
	find(id: string): readonly RunRecord[];
	readonly records: readonly RunRecord[];
	/** Until the returned function is called none of these sessions makes room for others. */
	hold(sessionIds: readonly string[]): () => void;
	clear(): void;
}

export function createSessionStore(): SessionStore {
	const sessions = new Map<string, RunRecord[]>();
	const holds = new Set<readonly string[]>();
	return {
		put(record) {
			const runs = sessions.get(record.sessionId) ?? [];
			const index = runs.findIndex(({ runId }) => runId === record.runId);
			if (index === -1) runs.push(record);
			else runs[index] = record;
			if (runs.length > MAX_RUNS) runs.shift();
			sessions.set(record.sessionId, runs);
			evict(sessions, new Set([record.sessionId, ...[...holds].flat()]));
		},
		runsOf: (sessionId) => [...(sessions.get(sessionId) ?? [])],
		find: (id) => [...(sessions.get(id) ?? [...sessions.values()].flat().filter(({ runId }) => runId === id))],
		get records() {
			return [...sessions.values()].flat();
		},
		hold(sessionIds) {
			holds.add(sessionIds);
			return () => void holds.delete(sessionIds);
		},
		clear: () => sessions.clear(),
	};
}

/** A session that runs, or is held, is never dropped, even if that makes too many. */
function evict(sessions: Map<string, RunRecord[]>, held: ReadonlySet<string>): void {
	const excess = sessions.size - MAX_SESSIONS;
	if (excess <= 0) return;
	const finished = [...sessions].filter(
		([id, runs]) => !held.has(id) && runs.every(({ progress }) => progress.kind === "ended"),
	);
	const age = ([, runs]: [string, RunRecord[]]) => runs[0]?.startedAt ?? 0;
	for (const [id] of finished.sort((a, b) => age(a) - age(b)).slice(0, excess)) sessions.delete(id);
}
