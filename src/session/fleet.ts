import { err, ok, type Result } from "../domain/result.ts";
import type { Steer } from "../domain/steer.ts";
import type { Step } from "../domain/transcript.ts";
import type { TaskState } from "../present/task-state.ts";
import type { RunStore } from "../records/run-store.ts";
import { createSteer, type SentMessage, STRANGER, sendMessage, stopRun } from "../run/act-on-run.ts";
import type { Background } from "./background.ts";
import { type FleetRun, fromKept, fromLive, hasEnded } from "./fleet-run.ts";
import { createFollowedRuns } from "./followed-runs.ts";
import { findRuns } from "./found-runs.ts";
import type { LiveRuns } from "./live-runs.ts";
import type { Questions } from "./questions.ts";

export type { FleetRun } from "./fleet-run.ts";

/** Which runs are looked at. */
export type FleetScope = "session" | "project" | "all";
export const SCOPES: readonly FleetScope[] = ["session", "project", "all"];

export interface FleetHost {
	readonly store: RunStore;
	readonly live: LiveRuns;
	readonly background: Background;
	/** What extensions of sub-agents ask: answered in the view while that is open. */
	readonly questions: Questions;
	places(): { readonly cwd: string; readonly agentDirectory: string };
	/** How many tokens a model takes in; undefined where nobody knows. */
	contextWindow(model: { readonly provider: string; readonly id: string }): number | undefined;
}

/** The runs of this session, of this project, or of all projects, and what a person can do about them. */
export interface Fleet {
	/** What is known at this moment: running ones first, then the newest. */
	runs(scope: FleetScope): readonly FleetRun[];
	/** Looks through the directories of the scope. Resolves when `runs` has what is there. */
	look(scope: FleetScope): Promise<void>;
	/** Has the run's state told as it grows, or read once where it has ended. */
	attend(run: FleetRun): void;
	/** All steps of the one run that is watched, as far as they are known yet. Undefined: none is watched any more. */
	watch(run: FleetRun | undefined): readonly Step[];
	message(run: FleetRun, text: string, when: Steer["when"]): Promise<Result<SentMessage>>;
	stop(run: FleetRun): Promise<Result<undefined>>;
	/** Lets a running task of a call go on as a background run. */
	release(run: FleetRun): Promise<Result<undefined>>;
	/** Ends all that was begun for whoever looks. */
	close(): void;
}

export function createFleet(host: FleetHost, onChange: () => void = () => {}): Fleet {
	const followed = createFollowedRuns(onChange);
	const found = new Map<FleetScope, readonly FleetRun[]>();
	const own = (): FleetRun[] => {
		const live = host.live.runs.map(fromLive);
		const known = new Set(live.map(({ runId }) => runId));
		return [...live, ...host.store.runs.filter(({ runId }) => !known.has(runId)).map(fromKept)];
	};
	const windows = new Map<string, number | undefined>();
	const withContext = (run: FleetRun): FleetRun => {
		if (!run.model) return run;
		const name = `${run.model.provider}/${run.model.id}`;
		if (!windows.has(name)) windows.set(name, host.contextWindow(run.model));
		return { ...run, contextWindow: windows.get(name) };
	};
	return {
		runs(scope) {
			const mine = own();
			const known = new Set(mine.map(({ runId }) => runId));
			const others = (found.get(scope) ?? []).filter(({ runId }) => !known.has(runId));
			return [...mine, ...others].map((run) => withContext(followed.with(run))).toSorted(byImportance);
		},
		async look(scope) {
			if (scope === "session") return;
			const known = new Map((found.get(scope) ?? []).map((run) => [run.runId, run]));
			found.set(scope, await findRuns(scope, host.places(), known));
			onChange();
		},
		attend: followed.attend,
		watch: followed.watch,
		async message({ handle, runId, ...run }, text, when) {
			if (handle.kind === "live") return await handle.run.message(text, when);
			if (hasEnded(run)) return err(`Run ${runId} has ended`);
			const steer = createSteer(text, when);
			if (handle.kind === "foreign") return await sendMessage(handle.run, steer, STRANGER);
			return await host.background.message(runId, steer, "session");
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
		async release({ handle, runId, lifetime, ...run }) {
			if (handle.kind === "live") return await handle.run.release();
			if (hasEnded(run)) return err(`Run ${runId} has ended`);
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
