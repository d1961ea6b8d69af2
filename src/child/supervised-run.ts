import { dirname, join } from "node:path";
import { createMeter, type Meter, NO_AMOUNTS } from "../domain/budget.ts";
import type { Exit, RunEvent, StopCause } from "../domain/event.ts";
import { createGuard } from "../domain/guard.ts";
import { messageOf, type Result } from "../domain/result.ts";
import type { Packet, RunSpec } from "../domain/spec.ts";
import {
	conclude,
	initialState,
	type Outcome,
	type RunResult,
	type RunState,
	reduce,
	resultOf,
} from "../domain/state.ts";
import type { Artifacts } from "../run-directory/artifacts.ts";
import { createCorrections } from "./corrections.ts";
import { type HeldPi, holdPi } from "./held-pi.ts";
import type { Isolation } from "./isolation.ts";
import type { Listener } from "./pi-output.ts";
import { type PiProcess, spawnPi, type WaitingPi } from "./pi-process.ts";
import { type ChildPacket, GRACE_MS, ORPHAN_GRACE_MS, PROTOCOL, type ToChild } from "./protocol.ts";
import { createLookout } from "./run-processes.ts";
import { lockSession } from "./session-lock.ts";
import { createSessionSpending } from "./session-spending.ts";
import { createSlots } from "./slots.ts";
import { createSteering } from "./steering.ts";
import { stopPi, sweep } from "./stop-ladder.ts";

/** How long a child may stay after it has settled, and how long it then has to go: its answer is being waited for. */
const SETTLED_GRACE_MS = 1_000;
const SETTLED_STOP_MS = 3_000;

/** One run: pi, the fold over its events, the guard that watches them, and the one way to stop it. */
export function createRun(spec: RunSpec, artifacts: Artifacts, held: HeldPi = holdPi(spec, "on time")) {
	let state = initialState;
	/** pi is gone: from here on nothing can be stopped, and what is known is told. */
	let over = false;
	let grown = () => {};
	const stopped = new AbortController();
	const meter = createMeter({ limit: spec.budget, before: NO_AMOUNTS });
	const corrections = createCorrections(spec.contract, () => (meter.usedUp() ?? state.wrapUp) !== undefined);

	const apply = (event: RunEvent) => {
		state = reduce(state, event);
		const observers: readonly Pick<typeof guard, "observe">[] = [guard, meter, corrections, steering, child];
		for (const observer of observers) observer.observe(event);
	};
	const flush = () => {
		artifacts.flush();
		grown();
	};
	const record = (event: RunEvent) => {
		artifacts.own(event);
		apply(event);
		flush();
	};
	const steering = createSteering({ artifacts, record, state: () => state, tell: (message) => child.tell(message) });
	const child = createChild(spec, artifacts, { onEvent: apply, onChunk: flush, record }, steering.unheard);
	const stop = (cause: StopCause) => {
		if (over) return;
		stopped.abort();
		if (state.stopCause === undefined) record({ type: "stopping", at: Date.now(), cause });
		child.end(cause.kind === "aborted" && cause.by === "parent-death" ? ORPHAN_GRACE_MS : GRACE_MS);
	};
	const guard = createGuard(spec.limits, stop);

	/** Decided from all that pi has printed: to be asked when its pipes are drained. */
	const outcomeAfter = (exit: Exit) => corrections.judge(conclude(state, exit, corrections.made(), child.stderrTail()));
	const end = async (exit: Exit, startedAt: number): Promise<RunResult> => {
		over = true;
		guard.dispose();
		await held.end(); // one that was not taken is no leftover
		const leftovers = await child.clear(state);
		await child.drained();
		if (state.partial !== "") artifacts.transcript(`${state.partial}\n`);
		steering.end();
		flush();
		const outcome = outcomeAfter(exit);
		const seen = child.wasEnded() ? exitAfterStop(outcome, exit) : exit;
		const ended = { outcome, exit: seen, endedAt: Math.max(Date.now(), startedAt), leftovers };
		return { ...resultOf(spec.runId, state, { ...ended, artifactErrors: artifacts.errors }), startedAt };
	};

	/** pi, and where it left without an answer and may be corrected, pi again with the same session. */
	const runPi = async (isolation: Isolation, packet: Packet, startedAt: number): Promise<Exit> => {
		const waiting = await held.take(spec);
		if (state.stopCause) return await endUnstarted(waiting);
		const spawn = () => (stopped.signal.aborted ? undefined : spawnPi(spec, isolation));
		const exit = await child.run(spawn, packetFor(packet, spec, meter), startedAt, waiting);
		if (spec.contract.kind !== "finalize" || (!child.wasEnded() && hasCrashed(exit))) return exit;
		await child.drained();
		const next = stopped.signal.aborted ? undefined : corrections.next(packet, outcomeAfter(exit));
		return next ? await runPi(isolation, next, startedAt) : exit;
	};

	return {
		stop,
		parentLeft: child.parentLeft,
		steering,
		onGrowth(listener: () => void) {
			grown = listener;
		},
		async carryOut(packet: Packet | undefined): Promise<RunResult> {
			const startedAt = Date.now();
			if (!packet) return await end({ kind: "spawn-failed", message: "the parent never sent the task" }, startedAt);
			return await withSession(spec, held, stopped.signal, async (isolation) => {
				if (!isolation.ok) return await end({ kind: "refused", message: isolation.error }, startedAt);
				return await end(await runPi(isolation.value, packet, startedAt), startedAt);
			});
		},
	};
}

/** Does the work while the run's session is this run's alone, or tells it why that cannot be. */
async function withSession<T>(
	spec: RunSpec,
	held: HeldPi,
	stopped: AbortSignal,
	work: (isolation: Result<Isolation>) => Promise<T>,
): Promise<T> {
	const lock = await lockSession(spec.sharedSession, spec, stopped);
	if (!lock.ok) return await work(lock);
	try {
		return await work(await held.isolationFor(spec));
	} finally {
		lock.value.release();
	}
}

/** A child that had to be stopped after its answer did not fail. */
const exitAfterStop = (outcome: Outcome, exit: Exit): Exit =>
	outcome.kind === "completed" ? { kind: "code", code: 0 } : exit;

const packetFor = (packet: Packet, { fallback, maxInFlight, sessionBudget }: RunSpec, meter: Meter): ChildPacket => ({
	...packet,
	allowance: meter.allowance(),
	fallback,
	maxInFlight,
	sharesBudget: sessionBudget !== undefined,
});

const hasCrashed = (exit: Exit) => exit.kind !== "code" || exit.code !== 0;

async function endUnstarted(waiting: WaitingPi | undefined): Promise<Exit> {
	await waiting?.end();
	return { kind: "spawn-failed", message: "stopped before it was started" };
}

/** The pi that a run has at the moment: one that left without its answer may be followed by another. */
function createChild(
	spec: RunSpec,
	artifacts: Artifacts,
	listener: Pick<Listener, "onEvent" | "onChunk"> & { readonly record: (event: RunEvent) => void },
	unheard: () => readonly ToChild[],
) {
	const { runId, leftovers, maxInFlight, socket } = spec;
	const spending = createSessionSpending(spec);
	const look = createLookout(runId);
	let pi: PiProcess | undefined;
	let ending: Promise<void> | undefined;
	let gone = false;
	let leaving: NodeJS.Timeout | undefined;
	const slots = createSlots(maxInFlight, join(dirname(socket), "slots"), listener.record);
	const end = (graceMs: number) => {
		slots.release();
		if (pi && !gone) ending ??= stopPi(pi, graceMs);
	};
	const begin = async (waiting: WaitingPi, packet: ChildPacket, startedAt: number): Promise<Exit> => {
		pi = waiting.begin(packet, artifacts, { ...listener, onSlots: slots.request, onSpent: spending.spend });
		ending = undefined;
		gone = false;
		if (pi.pid !== undefined) {
			const pids = { supervisorPid: process.pid, pid: pi.pid };
			const started: RunEvent = { type: "started", at: startedAt, ...pids, protocol: PROTOCOL };
			listener.record(started);
		}
		for (const message of unheard()) pi.tell(message);
		const exit = await pi.exit;
		slots.release();
		gone = true;
		return exit;
	};
	return {
		/**
		 * The pi that waits, or a new one, unless `spawn` has none any more. Never throws: how it ended, or why it could not be
		 * started.
		 */
		async run(
			spawn: () => WaitingPi | undefined,
			packet: ChildPacket,
			startedAt: number,
			held: WaitingPi | undefined,
		): Promise<Exit> {
			try {
				const first = held ?? spawn();
				if (!first) return { kind: "spawn-failed", message: "stopped before it was started" };
				const exit = await begin(first, packet, startedAt);
				if (!held) return exit;
				await pi?.drained;
				const next = pi?.wasStillborn() && !ending ? spawn() : undefined;
				if (next) return await begin(next, packet, startedAt);
				pi?.tellComplaints();
				return exit;
			} catch (error) {
				return { kind: "spawn-failed", message: messageOf(error) };
			}
		},
		end,
		tell(message: ToChild) {
			if (!gone) pi?.tell(message);
		},
		/** Once it has settled it has a moment to go by itself. Meanwhile there is time to see who else is there. */
		observe({ type }: RunEvent) {
			if (type === "working") clearTimeout(leaving);
			if (type !== "settled") return;
			look().catch(() => {});
			const settled = pi;
			leaving = setTimeout(() => settled === pi && end(SETTLED_STOP_MS), SETTLED_GRACE_MS).unref();
		},
		/** Ends, or only lists, the processes that it left running. */
		async clear({ stopCause, settled, usage }: RunState): Promise<RunResult["leftovers"]> {
			spending.end({ tokens: usage.totalTokens, cost: usage.cost.total, turns: 0 });
			const keep = leftovers === "keep" && (stopCause === undefined || settled);
			return await (keep ? look().catch(() => []) : sweep(look));
		},
		parentLeft: spending.parentLeft,
		wasEnded: () => ending !== undefined,
		drained: async () => await pi?.drained,
		stderrTail: () => pi?.stderrTail() ?? "",
	};
}
