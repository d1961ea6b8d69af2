import { dirname, join } from "node:path";
import type { Exit, RunEvent } from "../domain/event.ts";
import { messageOf } from "../domain/result.ts";
import type { RunResult } from "../domain/run-result.ts";
import type { RunSpec } from "../domain/spec.ts";
import type { RunState } from "../domain/state.ts";
import type { Artifacts } from "../run-directory/artifacts.ts";
import { createFileLocks } from "./file-locks.ts";
import { locksOf } from "./lock-request.ts";
import type { ParkedPi } from "./parked-pi.ts";
import type { Listener } from "./pi-output.ts";
import type { PiProcess, WaitingPi } from "./pi-process.ts";
import { type ChildPacket, PROTOCOL, type ToChild } from "./protocol.ts";
import { createLookout } from "./run-processes.ts";
import { createSessionSpending } from "./session-spending.ts";
import { createSlots } from "./slots.ts";
import { stopPi, sweep } from "./stop-ladder.ts";

/** How long a child may stay after it has settled, and how long it then has to exit: somebody waits for its answer. */
const SETTLED_GRACE_MS = 1_000;
const SETTLED_STOP_MS = 3_000;

/** The process of a run. docs/architecture.md draws how one state follows another. */
type ProcessState =
	| { readonly kind: "none" }
	| { readonly kind: "working"; readonly pi: PiProcess }
	/** It has its answer and should exit by itself; the timer stops one that does not. */
	| { readonly kind: "settled"; readonly pi: PiProcess; readonly timer: NodeJS.Timeout }
	/** It has been sent SIGTERM. */
	| { readonly kind: "stopping"; readonly pi: PiProcess }
	/** It exited, `stopped` or by itself. Another process may follow it. */
	| { readonly kind: "exited"; readonly pi: PiProcess; readonly stopped: boolean }
	/** No process follows: there is nothing left to stop. */
	| { readonly kind: "over"; readonly pi: PiProcess | undefined; readonly stopped: boolean };

/** The pi that a run has at the moment: one that exited without an answer may be followed by another. */
export function superviseProcess(
	spec: RunSpec,
	artifacts: Artifacts,
	listener: Pick<Listener, "onEvent" | "onChunk" | "onAsk" | "onWithdraw"> & {
		readonly record: (event: RunEvent) => void;
	},
	unheard: () => readonly ToChild[],
) {
	const { runId, leftovers, maxInFlight, socket } = spec;
	const spending = createSessionSpending(spec);
	const look = createLookout(runId);
	let current: ProcessState = { kind: "none" };
	const enter = (next: ProcessState) => {
		if (current.kind === "settled") clearTimeout(current.timer);
		current = next;
	};
	const slots = createSlots(maxInFlight, join(dirname(socket), "slots"), listener.record);
	const locks = createFileLocks(locksOf(spec.writeGuard ?? dirname(socket)), () => piOf(current)?.pid);
	const stop = (graceMs: number) => {
		slots.release();
		if (current.kind !== "working" && current.kind !== "settled") return;
		const { pi } = current;
		enter({ kind: "stopping", pi });
		void stopPi(pi, graceMs);
	};
	const begin = async (waiting: WaitingPi, packet: ChildPacket, startedAt: number): Promise<Exited> => {
		const pi = waiting.begin(packet, artifacts, {
			...listener,
			...{ onSlots: slots.request, onSpent: spending.spend, onLock: locks.request },
		});
		enter({ kind: "working", pi });
		if (pi.pid !== undefined) listener.record(startOf(pi.pid, startedAt));
		for (const message of unheard()) pi.tell(message);
		const exit = await pi.exit;
		slots.release();
		locks.release();
		const stopped = wasStopped(current);
		enter({ kind: "exited", pi, stopped });
		return { exit, pi, stopped };
	};
	return {
		run: (spawn: Spawn, packet: ChildPacket, startedAt: number, parkedPi: WaitingPi | undefined): Promise<Exit> =>
			runOne((waiting) => begin(waiting, packet, startedAt), spawn, parkedPi),
		stop,
		tell(message: ToChild) {
			if (isRunning(current)) current.pi.tell(message);
		},
		/** While a settled one has its time to exit, there is time to see which processes it has started. */
		observe({ type }: RunEvent) {
			if (type === "working" && current.kind === "settled") enter({ kind: "working", pi: current.pi });
			if (type !== "settled") return;
			look().catch(() => {});
			if (current.kind !== "working") return;
			const timer = setTimeout(() => stop(SETTLED_STOP_MS), SETTLED_GRACE_MS).unref();
			enter({ kind: "settled", pi: current.pi, timer });
		},
		/** No process follows. Ends, or only lists, those that were left running, and reads the rest of what pi printed. */
		async close({ stopCause, settled, usage }: RunState, parkedPi: ParkedPi): Promise<RunResult["leftovers"]> {
			const pi = piOf(current);
			enter({ kind: "over", pi, stopped: wasStopped(current) });
			await parkedPi.end(); // one that was not taken is no leftover
			spending.end({ tokens: usage.totalTokens, cost: usage.cost.total, turns: 0 });
			const keep = leftovers === "keep" && (stopCause === undefined || settled);
			const found = await (keep ? look().catch(() => []) : sweep(look));
			await pi?.drained;
			return found;
		},
		parentLeft: spending.parentLeft,
		isOver: () => current.kind === "over",
		wasStopped: () => wasStopped(current),
		drained: async () => await piOf(current)?.drained,
		stderrTail: () => piOf(current)?.stderrTail() ?? "",
	};
}

/** Undefined once the run is stopped. */
type Spawn = () => WaitingPi | undefined;

/**
 * The pi that waits, replaced by another where it dies at once, or a new one. Never throws: how it ended, or why it could not
 * be started.
 */
async function runOne(
	begin: (waiting: WaitingPi) => Promise<Exited>,
	spawn: Spawn,
	parkedPi: WaitingPi | undefined,
): Promise<Exit> {
	try {
		const first = parkedPi ?? spawn();
		if (!first) return { kind: "spawn-failed", message: "stopped before it was started" };
		const { exit, pi, stopped } = await begin(first);
		if (!parkedPi) return exit;
		await pi.drained;
		const next = pi.diedBeforeItsTask() && !stopped ? spawn() : undefined;
		if (next) return (await begin(next)).exit;
		pi.tellComplaints();
		return exit;
	} catch (error) {
		return { kind: "spawn-failed", message: messageOf(error) };
	}
}

interface Exited {
	readonly exit: Exit;
	readonly pi: PiProcess;
	readonly stopped: boolean;
}

const piOf = (state: ProcessState) => (state.kind === "none" ? undefined : state.pi);

const isRunning = (state: ProcessState) =>
	state.kind === "working" || state.kind === "settled" || state.kind === "stopping";

function wasStopped(state: ProcessState): boolean {
	if (state.kind === "exited" || state.kind === "over") return state.stopped;
	return state.kind === "stopping";
}

const startOf = (pid: number, at: number): RunEvent => ({
	type: "started",
	at,
	supervisorPid: process.pid,
	pid,
	protocol: PROTOCOL,
});
