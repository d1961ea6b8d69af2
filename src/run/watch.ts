import { basename, dirname, join } from "node:path";
import { isSocketOf, ORPHAN_GRACE_MS, socketPathOf } from "../child/protocol.ts";
import { kill, stopOrphans } from "../child/stop-ladder.ts";
import { lastProvider, resultWithout } from "../domain/conclude.ts";
import type { RunEvent } from "../domain/event.ts";
import type { Failure, RunResult } from "../domain/run-result.ts";
import type { RunSpec } from "../domain/spec.ts";
import { initialState, type RunState, reduce } from "../domain/state.ts";
import { isTrusted } from "../files/private.ts";
import { FILES } from "../run-directory/names.ts";
import { isRunPath } from "../run-directory/places.ts";
import { follow, openTrail, readRun, readSpec } from "../run-directory/read.ts";
import { leaveResult } from "../run-directory/result.ts";
import { type ControlClient, connectControl } from "./control-client.ts";

/** A run that was started, by whomever. */
export interface StartedRun {
	readonly runId: string;
	readonly directory: string;
	readonly socket: string;
	/** Nothing is read from its directory, only its socket tells of it. */
	readonly distrusted?: boolean;
}

/**
 * Folds what a run does, from its beginning, until it is done. A supervisor that is gone without a word leaves its run to
 * us: it is ended here, and `fate` says what that amounts to. Aborting `detach` leaves the run to itself, and the state
 * as it is.
 */
export async function watch(
	run: StartedRun,
	control: ControlClient,
	onState: (state: RunState) => void,
	detach: AbortSignal,
	fate: () => Failure = () => ({ kind: "lost" }),
): Promise<RunState> {
	let state = initialState;
	let piPid: number | undefined;
	const apply = (event: RunEvent) => {
		if (event.type === "started") piPid = event.pid;
		state = reduce(state, event);
		onState(state);
	};
	const leave = () => control.close();
	detach.addEventListener("abort", leave, { once: true });
	if (detach.aborted) leave();
	try {
		const events = run.distrusted ? endFrom(control) : follow(run.directory, control);
		for await (const event of events) {
			if (detach.aborted) break; // whoever follows it now is told of its end
			apply(event);
		}
	} finally {
		detach.removeEventListener("abort", leave);
	}
	if (state.phase.kind === "done" || detach.aborted) return state;
	await stopOrphans(run.runId, piPid, ORPHAN_GRACE_MS, run.socket);
	const result = await leaveLost(run, state, fate());
	apply({ type: "ended", result });
	return state;
}

/** The end of a run, if its supervisor tells it. */
async function* endFrom(control: Pick<ControlClient, "next">): AsyncGenerator<RunEvent> {
	let message = await control.next();
	while (message?.type === "grown") message = await control.next();
	if (message) yield message;
}

/** What became of a run that was started earlier: its supervisor answers, all is over, or it cannot be told yet. */
export type Found =
	| { readonly kind: "alive"; readonly control: ControlClient }
	| { readonly kind: "over"; readonly result: RunResult }
	/** It has neither a supervisor nor a result; `state` is how far it came. */
	| { readonly kind: "unwatched"; readonly state: RunState }
	/** It can never be told, because others have a hand in this place; `result` is what is known all the same. */
	| { readonly kind: "closed"; readonly place: "directory" | "socket"; readonly result: RunResult }
	| { readonly kind: "unknown" };

/** Looks for a run that somebody has written down: nothing is connected to, or read, where others can have put it. */
export async function findNamed(run: StartedRun): Promise<Found> {
	if (isSocketOf(run.runId, run.socket)) return await findRun(run);
	if (run.distrusted) return closed(run, "directory", initialState);
	const state = (await readRun(run.directory)) ?? initialState;
	return state.phase.kind === "done" ? { kind: "over", result: state.phase.result } : closed(run, "socket", state);
}

const closed = ({ runId }: StartedRun, place: "directory" | "socket", state: RunState): Found => ({
	kind: "closed",
	place,
	result: resultWithout(runId, state, { kind: "lost" }, Date.now()),
});

/** Looks for a run again, and changes nothing. */
export async function findRun(run: StartedRun): Promise<Found> {
	const control = await connectControl(run.socket);
	if (control.ok) return { kind: "alive", control: control.value };
	const { presence } = control.error;
	if (run.distrusted) return presence === "absent" ? closed(run, "directory", initialState) : { kind: "unknown" };
	const state = (await readRun(run.directory)) ?? initialState;
	if (state.phase.kind === "done") return { kind: "over", result: state.phase.result };
	return presence === "absent" ? { kind: "unwatched", state } : { kind: "unknown" };
}

/** Kills what is left of a run that has no supervisor, and writes its result: it was lost, unless another process was first. */
export async function endUnwatched({ runId, directory, socket }: StartedRun, state: RunState): Promise<RunResult> {
	await stopOrphans(runId, undefined, ORPHAN_GRACE_MS, socket);
	return await leaveLost({ runId, directory }, state, { kind: "lost" });
}

/** What such a run changed in a tree of its own is brought back first. */
async function leaveLost(
	{ runId, directory }: Pick<StartedRun, "runId" | "directory">,
	state: RunState,
	failure: Failure,
): Promise<RunResult> {
	const spec = isTrusted(directory) ? await readSpec(directory) : undefined;
	const changes = spec?.isolation === "worktree" ? await changesOf(spec, directory, state) : undefined;
	return await leaveResult(directory, { ...resultWithout(runId, state, failure, Date.now()), changes });
}

async function changesOf(spec: RunSpec, directory: string, state: RunState): Promise<RunResult["changes"]> {
	const { endTree } = await import("../tree/parent-side.ts");
	return await endTree(spec, directory, lastProvider(state) ?? spec.model?.provider);
}

/** Whether what somebody wrote down of a run can be ours: nothing else is ever read or connected to. */
export const isOurs = (run: StartedRun): boolean =>
	isPlaced(run) && isTrusted(run.directory) && isSocketOf(run.runId, run.socket);

/** Whether the paths of a run are such as we give to runs, be it in another home. */
export function isPlaced({ runId, directory, socket }: StartedRun): boolean {
	if (!isRunPath(directory, runId)) return false;
	if (process.platform === "win32") return socket === socketPathOf(runId);
	return basename(socket) === runId && /^pi-subagents-\d+$/.test(basename(dirname(socket)));
}

/** For a supervisor that no longer answers. To be called only while its connection is open: then its pid is its own. */
export async function killSupervisor(directory: string): Promise<void> {
	const started = await startOf(directory);
	if (started) kill(started.supervisorPid, "SIGKILL");
}

/** What a run's supervisor has said of itself, once it has started its pi. */
export async function startOf(directory: string): Promise<Extract<RunEvent, { type: "started" }> | undefined> {
	const trail = await openTrail(join(directory, FILES.events));
	try {
		for await (const event of trail.read()) if (event.type === "started") return event;
		return undefined;
	} finally {
		await trail.close();
	}
}
