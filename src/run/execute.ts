import { GRACE_MS, ORPHAN_GRACE_MS } from "../child/protocol.ts";
import { stopOrphans } from "../child/stop-ladder.ts";
import type { RunEvent } from "../domain/event.ts";
import type { Packet, RunSpec } from "../domain/spec.ts";
import { type Failure, initialState, type RunState, reduce, resultWithout } from "../domain/state.ts";
import { follow } from "./follow.ts";
import { type Launched, launchProcess } from "./launch-process.ts";

/** A run that is ready to start: its directory exists and holds meta.json. */
export interface PreparedRun {
	readonly spec: RunSpec;
	readonly packet: Packet;
	readonly directory: string;
}

/** On top of the ladder's own time: then a supervisor that does not answer is killed. */
const UNRESPONSIVE_MS = 4_000;
const GONE_MS = 1_000;

/**
 * Carries out one run and folds its events. Never throws, and returns only when the run is done and its processes are
 * gone. Aborting `signal` stops the run.
 */
export async function execute(
	run: PreparedRun,
	signal: AbortSignal,
	onState: (state: RunState) => void,
): Promise<RunState> {
	let state = initialState;
	let piPid: number | undefined;
	const apply = (event: RunEvent) => {
		if (event.type === "started") piPid = event.pid;
		state = reduce(state, event);
		onState(state);
	};
	const fail = (failure: Failure) =>
		apply({ type: "ended", result: resultWithout(run.spec.runId, state, failure, Date.now()) });
	const aborted: Failure = { kind: "stopped", cause: { kind: "aborted", by: "caller" } };

	if (signal.aborted) fail(aborted);
	else {
		const launched = await launchProcess(run.directory, run.spec.runId);
		if (!launched.ok) fail({ kind: "spawn", message: launched.error });
		else await attend(launched.value, run, signal, apply);
		// The supervisor is gone without a word: what it watched over is ours to end now.
		if (state.phase.kind !== "done") {
			await stopOrphans(run.spec.runId, piPid, ORPHAN_GRACE_MS);
			fail(signal.aborted ? aborted : { kind: "lost" });
		}
	}
	return state;
}

async function attend(
	launched: Launched,
	run: PreparedRun,
	signal: AbortSignal,
	apply: (event: RunEvent) => void,
): Promise<void> {
	const { control } = launched;
	let unresponsive: NodeJS.Timeout | undefined;
	const stop = () => {
		control.send({ type: "stop", cause: { kind: "aborted", by: "caller" } });
		unresponsive = setTimeout(launched.kill, GRACE_MS + UNRESPONSIVE_MS);
	};
	if (signal.aborted) stop();
	else {
		control.send({ type: "start", packet: run.packet });
		signal.addEventListener("abort", stop, { once: true });
	}
	try {
		for await (const event of follow(run.directory, control)) apply(event);
		await launched.gone(GONE_MS);
	} finally {
		clearTimeout(unresponsive);
		signal.removeEventListener("abort", stop);
		control.close();
	}
}
