import type { Exit, RunEvent, StopCause } from "../domain/event.ts";
import { createGuard } from "../domain/guard.ts";
import { messageOf } from "../domain/result.ts";
import type { Packet, RunSpec } from "../domain/spec.ts";
import { conclude, initialState, type RunResult, reduce, resultOf } from "../domain/state.ts";
import type { Artifacts } from "./artifacts.ts";
import { type PiProcess, startPi } from "./pi-process.ts";
import { GRACE_MS, ORPHAN_GRACE_MS } from "./protocol.ts";
import { processesOf } from "./run-processes.ts";
import { lockSession } from "./session-lock.ts";
import { stopPi, sweep } from "./stop-ladder.ts";

/** How long a child may stay after it has settled, and how long it then has to go: its answer is being waited for. */
const SETTLED_GRACE_MS = 1_000;
const SETTLED_STOP_MS = 3_000;

/** One run: pi, the fold over its events, the guard that watches them, and the one way to stop it. */
export function createRun(spec: RunSpec, artifacts: Artifacts) {
	let state = initialState;
	let pi: PiProcess | undefined;
	let ending: Promise<void> | undefined;
	/** pi is gone: from here on nothing can be stopped, and what is known is told. */
	let over = false;
	let grown = () => {};
	const stopped = new AbortController();

	const apply = (event: RunEvent) => {
		state = reduce(state, event);
		guard.observe(event);
		if (event.type === "settled") setTimeout(endPi, SETTLED_GRACE_MS, SETTLED_STOP_MS).unref();
	};
	const own = (event: RunEvent) => {
		artifacts.own(event);
		apply(event);
	};
	const flush = () => {
		artifacts.flush();
		grown();
	};
	const endPi = (graceMs: number) => {
		if (pi && !over) ending ??= stopPi(pi, graceMs);
	};
	const stop = (cause: StopCause) => {
		if (over) return;
		stopped.abort();
		if (state.stopCause === undefined && !state.settled) {
			own({ type: "stopping", at: Date.now(), cause });
			flush();
		}
		endPi(cause.kind === "aborted" && cause.by === "parent-death" ? ORPHAN_GRACE_MS : GRACE_MS);
	};
	const guard = createGuard(spec.limits, stop);

	const end = async (exit: Exit, startedAt: number): Promise<RunResult> => {
		over = true;
		guard.dispose();
		const keep = spec.leftovers === "keep" && state.stopCause === undefined;
		const leftovers = await (keep ? processesOf(spec.runId) : sweep(spec.runId));
		await pi?.drained;
		if (state.partial !== "") artifacts.transcript(`${state.partial}\n`);
		flush();
		const outcome = conclude(state, exit, spec.contract, pi?.stderrTail() ?? "");
		// A child that had to be helped out after its answer did not fail.
		const seen: Exit = outcome.kind === "completed" && ending ? { kind: "code", code: 0 } : exit;
		const endedAt = Math.max(Date.now(), startedAt);
		const { errors: artifactErrors } = artifacts;
		return { ...resultOf(spec.runId, state, { outcome, exit: seen, endedAt, leftovers, artifactErrors }), startedAt };
	};

	const runPi = async (packet: Packet, startedAt: number): Promise<Exit> => {
		if (state.stopCause) return { kind: "spawn-failed", message: "stopped before it was started" };
		try {
			pi = startPi(spec, packet, artifacts, { onEvent: apply, onChunk: flush });
		} catch (error) {
			return { kind: "spawn-failed", message: messageOf(error) };
		}
		const { pid } = pi;
		if (pid !== undefined) own({ type: "started", at: startedAt, supervisorPid: process.pid, pid });
		flush();
		return await pi.exit;
	};

	return {
		stop,
		onGrowth(listener: () => void) {
			grown = listener;
		},
		async carryOut(packet: Packet | undefined): Promise<RunResult> {
			const startedAt = Date.now();
			if (!packet) return await end({ kind: "spawn-failed", message: "the parent never sent the task" }, startedAt);
			const lock = await lockSession(spec.sharedSession, spec, stopped.signal);
			if (!lock.ok) return await end({ kind: "refused", message: lock.error }, startedAt);
			try {
				return await end(await runPi(packet, startedAt), startedAt);
			} finally {
				lock.value.release();
			}
		},
	};
}
