import type { Result } from "../domain/result.ts";
import type { Limits, ModelRef, RunSpec } from "../domain/spec.ts";
import type { RunState } from "../domain/state.ts";
import type { Steer } from "../domain/steer.ts";
import type { SentMessage } from "../run/act-on-run.ts";
import type { StartedRun } from "../run/watch.ts";

/** A task of a call of this session that is queued or runs, and what a person can do about it. */
export interface LiveRun {
	readonly runId: string;
	readonly sessionId: string;
	readonly family: RunSpec["family"];
	readonly label: string;
	readonly task: string;
	/** How its supervisor is reached; undefined while it is queued. */
	readonly started: StartedRun | undefined;
	readonly limits: Limits | undefined;
	/** The one that it was given, before another has answered. */
	readonly model: ModelRef | undefined;
	readonly state: RunState;
	/** To a queued task: waits for its first turn. */
	message(text: string, when: Steer["when"]): Promise<Result<SentMessage>>;
	/** Drops a queued task. The other tasks of the call go on. */
	stop(): void;
	/** Lets a running task go on as a background run of this session; the call's result says so. */
	release(): Promise<Result<undefined>>;
}

/** The tasks of all running calls of this session, in the order in which they were asked for. */
export interface LiveRuns {
	readonly runs: readonly LiveRun[];
	/** Returns how to take it out again. */
	add(run: LiveRun): () => void;
	/** Calls the listener whenever a task comes, changes or goes. Returns how to leave. */
	subscribe(listener: () => void): () => void;
	/** A task has changed. */
	changed(): void;
}

export function createLiveRuns(): LiveRuns {
	const runs = new Set<LiveRun>();
	const listeners = new Set<() => void>();
	const changed = () => {
		for (const listener of [...listeners]) listener();
	};
	return {
		get runs() {
			return [...runs];
		},
		add(run) {
			runs.add(run);
			changed();
			return () => {
				if (runs.delete(run)) changed();
			};
		},
		subscribe(listener) {
			listeners.add(listener);
			return () => void listeners.delete(listener);
		},
		changed,
	};
}
