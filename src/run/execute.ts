import { GRACE_MS } from "../child/protocol.ts";
import { resultWithout } from "../domain/conclude.ts";
import type { StopCause } from "../domain/event.ts";
import { err, type Result } from "../domain/result.ts";
import type { Failure, RunResult } from "../domain/run-result.ts";
import type { Packet, RunSpec } from "../domain/spec.ts";
import { initialState, type RunState, reduce } from "../domain/state.ts";
import { leaveResult } from "../run-directory/result.ts";
import type { ControlClient } from "./control-client.ts";
import { type Launched, type Launcher, launchProcess } from "./launch-process.ts";
import { watch } from "./watch.ts";

/** A run that is ready to start: its directory exists and holds meta.json. */
export interface PreparedRun {
	readonly spec: RunSpec;
	readonly packet: Packet;
	readonly directory: string;
	/** Proves to the run's supervisor that a message is this session's own. Known to nobody else. */
	readonly token: string;
}

/** On top of the ladder's own time: then a supervisor that does not answer is killed. */
const UNRESPONSIVE_MS = 4_000;

/** The reason of a signal by which a person stops one run; any other abort is the caller's. */
export const STOPPED_BY_PERSON = Symbol("stopped by a person");

/** Why a run is stopped whose signal was aborted. */
export const stopCauseOf = ({ reason }: AbortSignal): StopCause => ({
	kind: "aborted",
	by: reason === STOPPED_BY_PERSON ? "person" : "caller",
});
const abortedBy = (signal: AbortSignal): Failure => ({ kind: "stopped", cause: stopCauseOf(signal) });

export interface Hooks {
	/** The run's supervisor is there, and waits for the task. */
	onControl(control: ControlClient): void;
	/** The run's supervisor has the task, and takes messages. */
	onBegun(): void;
	/** Aborted once the run was released: it is left to itself, and its state stays as it is. */
	readonly detach: AbortSignal;
}
const NO_HOOKS: Hooks = { onControl() {}, onBegun() {}, detach: new AbortController().signal };

/**
 * Starts a run that goes on without us. Its packet goes out last: nothing happens before `admit` has taken the run, and
 * where that refuses it, or this process dies before, nothing will.
 */
export async function start(
	run: PreparedRun,
	admit: (control: ControlClient) => Result<undefined>,
	launch: Launcher = launchProcess,
): Promise<Result<undefined>> {
	const launched = await launch(run.directory, run.spec);
	if (!launched.ok) {
		await leave(run, { kind: "spawn", message: launched.error });
		return err(`Failed to spawn sub-agent process: ${launched.error}`);
	}
	const { control } = launched.value;
	launched.value.unref();
	const admitted = admit(control);
	if (admitted.ok) control.send({ type: "start", packet: run.packet, token: run.token });
	else {
		control.send({ type: "stop", cause: { kind: "aborted", by: "caller" } });
		control.closeWhenSent();
	}
	return admitted;
}

/**
 * Carries out one run and folds its events. Never throws, and returns only when the run is done and its processes are
 * gone, or goes on without us. Aborting `signal` stops the run.
 */
export async function execute(
	run: PreparedRun,
	signal: AbortSignal,
	onState: (state: RunState) => void,
	launch: Launcher = launchProcess,
	hooks: Hooks = NO_HOOKS,
): Promise<RunState> {
	const fail = async (failure: Failure) => {
		const state = reduce(initialState, { type: "ended", result: await leave(run, failure) });
		onState(state);
		return state;
	};
	if (signal.aborted) return await fail(abortedBy(signal));
	const launched = await launch(run.directory, run.spec);
	if (!launched.ok) return await fail({ kind: "spawn", message: launched.error });
	return await attend(launched.value, run, signal, onState, hooks);
}

/** A run that never had a supervisor has a result all the same. */
const leave = ({ spec, directory }: PreparedRun, failure: Failure): Promise<RunResult> =>
	leaveResult(directory, resultWithout(spec.runId, initialState, failure, Date.now()));

async function attend(
	launched: Launched,
	{ spec, packet, directory, token }: PreparedRun,
	signal: AbortSignal,
	onState: (state: RunState) => void,
	{ onControl, onBegun, detach }: Hooks,
): Promise<RunState> {
	const { control } = launched;
	let unresponsive: NodeJS.Timeout | undefined;
	const stop = () => {
		control.send({ type: "stop", cause: stopCauseOf(signal) });
		unresponsive = setTimeout(launched.kill, GRACE_MS + UNRESPONSIVE_MS);
	};
	if (signal.aborted) stop();
	else {
		onControl(control);
		control.send({ type: "start", packet, token });
		signal.addEventListener("abort", stop, { once: true });
		onBegun();
	}
	try {
		const fate = (): Failure => (signal.aborted ? abortedBy(signal) : { kind: "lost" });
		const state = await watch(
			{ runId: spec.runId, directory, socket: spec.socket, distrusted: false },
			control,
			onState,
			detach,
			fate,
		);
		if (state.phase.kind === "done") await launched.done();
		else launched.unref();
		return state;
	} finally {
		clearTimeout(unresponsive);
		signal.removeEventListener("abort", stop);
		control.close();
	}
}
