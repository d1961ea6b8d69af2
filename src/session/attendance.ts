import { type BackgroundRun, endOf, type RunEnd } from "../domain/kept-run.ts";
import { messageOf } from "../domain/result.ts";
import type { Failure, RunResult } from "../domain/state.ts";
import { remarksOn } from "../present/remarks.ts";
import type { ControlClient } from "../run/control-client.ts";
import { endUnwatched, findNamed, type StartedRun, watch } from "../run/watch.ts";

/** Follows runs until they have ended or nobody wants to know any more. */
export interface Attendance {
	/** Returns at once. */
	attend(run: BackgroundRun, control: ControlClient): void;
	/** Finds a run of an earlier start where it is now. Never rejects. */
	pickUp(run: BackgroundRun): Promise<void>;
	/** A person wants it to end: where its supervisor dies over that, it was not lost. */
	expectStop(runId: string): void;
	/** Leaves all runs to themselves. */
	detach(): void;
}

/** Between two attempts to reach a run of which nothing can be told. */
const RETRY_MS = 1_000;
const STOPPED: Failure = { kind: "stopped", cause: { kind: "aborted", by: "person" } };

export function createAttendance(
	onEnd: (run: BackgroundRun, end: RunEnd) => void,
	warn: (text: string) => void,
): Attendance {
	let detached = new AbortController();
	const stopping = new Set<string>();
	const follow = async (run: BackgroundRun, control: ControlClient) => {
		const { signal } = detached;
		control.unref();
		const fate = (): Failure => (stopping.has(run.runId) ? STOPPED : { kind: "lost" });
		const { phase } = await watch(startedOf(run), control, () => {}, signal, fate);
		if (!signal.aborted && phase.kind === "done") onEnd(run, endOf(phase.result, remarksOn(phase.result), "open"));
	};
	const attend = (run: BackgroundRun, control: ControlClient) => void follow(run, control).catch(unfollowed(run));
	const unfollowed = (run: BackgroundRun) => (error: unknown) =>
		warn(`Run ${run.runId} is not followed: ${messageOf(error)}`);
	const find = async (run: BackgroundRun) => {
		const { signal } = detached;
		const found = await findNamed(startedOf(run));
		if (signal.aborted) return found.kind === "alive" ? found.control.close() : undefined;
		const end = (result: RunResult) => onEnd(run, endOf(result, remarksOn(result), "open"));
		if (found.kind === "alive") attend(run, found.control);
		else if (found.kind === "over") end(found.result);
		else if (found.kind === "unwatched") end(await endUnwatched(startedOf(run), found.state));
		else if (found.kind === "closed") {
			const failure = { kind: "closed", place: found.place } as const;
			onEnd(run, { ...endOf(found.result, [], "open"), outcome: { kind: "failed", failure } });
		} else setTimeout(() => void (signal.aborted || pickUp(run)), RETRY_MS).unref();
	};
	const pickUp = (run: BackgroundRun) => find(run).catch(unfollowed(run));
	return {
		attend,
		pickUp,
		expectStop: (runId) => void stopping.add(runId),
		detach() {
			detached.abort();
			detached = new AbortController();
		},
	};
}

export const startedOf = ({ runId, directory, distrusted, lifetime: { socket } }: BackgroundRun): StartedRun => ({
	...{ runId, directory, distrusted, socket },
});
