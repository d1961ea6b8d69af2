import { resultWithout } from "../domain/conclude.ts";
import type { Result } from "../domain/result.ts";
import type { Failure } from "../domain/run-result.ts";
import { initialState, type RunState, reduce } from "../domain/state.ts";
import type { ParkedRun } from "../head-start/parked-run.ts";
import type { PlannedRun } from "../plan/parent.ts";
import type { RunRequest } from "../plan/run.ts";

/** A task on its way through a call of any tool that starts children. */
export interface Row {
	request: RunRequest;
	plan: Result<PlannedRun>;
	/** Its child, where that has been started ahead of its turn (`row-start.ts`). */
	parked: ParkedRun | undefined;
	/** Once it has one. */
	directory: string | undefined;
	/** A person has let it go on as a background run. */
	moved: boolean;
	state: RunState;
}

/** The state of a run that never began. */
export const refused = (runId: string, failure: Failure): RunState =>
	reduce(initialState, { type: "ended", result: resultWithout(runId, initialState, failure, Date.now()) });
