import { existsSync } from "node:fs";
import { type BackgroundRun, endOf, type KeptFailure, type RunEnd } from "../domain/kept-run.ts";
import { messageOf } from "../domain/result.ts";
import type { Failure, RunResult } from "../domain/run-result.ts";
import { NOTHING_SAID, saidOf } from "../present/remarks.ts";
import type { ControlClient } from "../run/control-client.ts";
import { endUnwatched, type Found, findNamed, type StartedRun, watch } from "../run/watch.ts";

/** Follows runs until they have ended or nobody wants to know any more. */
export interface RunFollower {
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

export function createRunFollower(
	onEnd: (run: BackgroundRun, end: RunEnd) => void,
	warn: (text: string) => void,
	onControl: (run: BackgroundRun, control: ControlClient) => void,
): RunFollower {
	let detached = new AbortController();
	const stopping = new Set<string>();
	const follow = async (run: BackgroundRun, control: ControlClient) => {
		const { signal } = detached;
		control.unref();
		onControl(run, control);
		const fate = (): Failure => (stopping.has(run.runId) ? STOPPED : { kind: "lost" });
		const { phase } = await watch(startedOf(run), control, () => {}, signal, fate);
		if (!signal.aborted && phase.kind === "done") onEnd(run, endOfWatched(run, phase.result));
	};
	const attend = (run: BackgroundRun, control: ControlClient) => void follow(run, control).catch(unfollowed(run));
	const unfollowed = (run: BackgroundRun) => (error: unknown) =>
		warn(`Run ${run.runId} is not followed: ${messageOf(error)}`);
	const find = async (run: BackgroundRun) => {
		const { signal } = detached;
		const found = await findNamed(startedOf(run));
		if (signal.aborted) return found.kind === "alive" ? found.control.close() : undefined;
		if (found.kind === "alive") return attend(run, found.control);
		if (found.kind !== "unknown") return onEnd(run, await endOfFound(run, found));
		setTimeout(() => void (signal.aborted || pickUp(run)), RETRY_MS).unref();
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

/** A supervisor that dies may have answered a moment before: what its run lacks is then the directory, not only a watcher. */
function endOfWatched({ directory }: BackgroundRun, result: RunResult): RunEnd {
	const end = endOf(result, saidOf(result), "open");
	const { outcome } = result;
	const isLost = outcome.kind === "failed" && outcome.failure.kind === "lost";
	return isLost && !existsSync(directory) ? { ...end, outcome: { kind: "failed", failure: { kind: "gone" } } } : end;
}

/** The end of a run that is over. One that nobody watched over is ended here. */
async function endOfFound(run: BackgroundRun, found: Exclude<Found, { kind: "alive" | "unknown" }>): Promise<RunEnd> {
	if (found.kind === "over") return endOf(found.result, saidOf(found.result), "open");
	const failed = (result: RunResult, failure: KeptFailure): RunEnd => ({
		...endOf(result, NOTHING_SAID, "open"),
		outcome: { kind: "failed", failure },
	});
	if (found.kind === "closed") return failed(found.result, { kind: "closed", place: found.place });
	const gone = !existsSync(run.directory);
	const result = await endUnwatched(startedOf(run), found.state);
	return gone ? failed(result, { kind: "gone" }) : endOf(result, saidOf(result), "open");
}

export const startedOf = ({ runId, directory, distrusted, lifetime: { socket } }: BackgroundRun): StartedRun => ({
	...{ runId, directory, distrusted, socket },
});
