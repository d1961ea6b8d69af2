import { createMeter, type Meter, NO_AMOUNTS } from "../domain/budget.ts";
import { conclude, lastProvider, resultOf } from "../domain/conclude.ts";
import type { Exit, RunEvent, StopCause } from "../domain/event.ts";
import { createGuard } from "../domain/guard.ts";
import { cut } from "../domain/messages.ts";
import type { Result } from "../domain/result.ts";
import type { Outcome, RunResult } from "../domain/run-result.ts";
import type { Packet, RunSpec } from "../domain/spec.ts";
import { initialState, type RunState, reduce } from "../domain/state.ts";
import { sessionStart } from "../files/session-start.ts";
import type { Artifacts } from "../run-directory/artifacts.ts";
import { NO_TREE, type OwnTree } from "../tree/own-tree.ts";
import { createCorrections } from "./corrections.ts";
import type { Isolation } from "./isolation.ts";
import type { ParkedPi } from "./parked-pi.ts";
import { spawnPi, type WaitingPi } from "./pi-process.ts";
import { type ChildPacket, GRACE_MS, ORPHAN_GRACE_MS, type ToChild } from "./protocol.ts";
import { createQuestions } from "./questions.ts";
import { createReceipt, type Receipt } from "./receipt/receipt.ts";
import { lockSession } from "./session-lock.ts";
import { createSteering } from "./steering.ts";
import { superviseProcess } from "./supervised-process.ts";

interface Observer {
	observe(event: RunEvent): void;
}

/** Takes an event of ours into the trail and the state, and tells that there is more to read. */
const recordIn =
	(artifacts: Artifacts, apply: (event: RunEvent) => void, flush: () => void) =>
	(event: RunEvent): void => {
		artifacts.own(event);
		apply(event);
		flush();
	};

/** One run: pi, the fold over its events, the guard that watches them, and the one way to stop it. */
export function createRun(spec: RunSpec, artifacts: Artifacts, parkedPi: ParkedPi, tree: OwnTree = NO_TREE) {
	let state = initialState;
	let grown = () => {};
	const stopped = new AbortController();
	const meter = createMeter({ limit: spec.budget, before: NO_AMOUNTS });
	const corrections = createCorrections(spec.contract, () => (meter.usedUp() ?? state.wrapUp) !== undefined);

	const apply = (event: RunEvent) => {
		state = reduce(state, event);
		const observers: readonly Observer[] = [guard, meter, corrections, steering, child, tree, receipt];
		for (const observer of observers) observer.observe(event);
	};
	const flush = () => {
		artifacts.flush();
		grown();
	};
	const record = recordIn(artifacts, apply, flush);
	const told = { artifacts, record, state: () => state, tell: (message: ToChild) => child.tell(message) };
	const steering = createSteering(told);
	const questions = createQuestions(told, spec.limits);
	const listener = { onEvent: apply, onChunk: flush, record, onAsk: questions.ask, onWithdraw: questions.withdraw };
	const child = superviseProcess(spec, artifacts, listener, () => [...steering.unheard(), ...questions.unheard()]);
	const receipt = createReceipt(spec, artifacts.directory, () => child.tell({ looked: true }));
	const stop = (cause: StopCause) => {
		if (child.isOver()) return;
		stopped.abort();
		if (state.stopCause === undefined) record({ type: "stopping", at: Date.now(), cause });
		child.stop(cause.kind === "aborted" && cause.by === "parent-death" ? ORPHAN_GRACE_MS : GRACE_MS);
	};
	const guard = createGuard(spec.limits, stop, () => steering.remind(spec));

	/** Decided from all that pi has printed: to be asked when its pipes are drained. */
	const outcomeAfter = (exit: Exit) => corrections.judge(conclude(state, exit, corrections.made(), child.stderrTail()));
	const end = async (exit: Exit, startedAt: number): Promise<RunResult> => {
		guard.dispose();
		const leftovers = await child.close(state, parkedPi);
		if (state.partial !== "") artifacts.transcript(`${state.partial}\n`);
		steering.end();
		flush();
		const outcome = outcomeAfter(exit);
		const seen = child.wasStopped() ? exitAfterStop(outcome, exit) : exit;
		const ended = { outcome, exit: seen, leftovers, artifactErrors: artifacts.errors };
		const endedAt = Math.max(Date.now(), startedAt);
		return { ...(await withEvidence(spec, state, { ...ended, endedAt }, tree, receipt)), startedAt };
	};

	/** pi, and where it left without an answer and may be corrected, pi again with the same session. */
	const runPi = async (isolation: Isolation, packet: Packet, startedAt: number): Promise<Exit> => {
		const waiting = await parkedPi.take(spec);
		if (state.stopCause) return await endUnstarted(waiting);
		const spawn = () => (stopped.signal.aborted ? undefined : spawnPi(spec, isolation));
		const whole = { ...packetFor(packet, spec, meter, startedAt, receipt), person: questions.isAttended() };
		const exit = await child.run(spawn, whole, startedAt, waiting);
		questions.end();
		if (spec.contract.kind !== "finalize" || (!child.wasStopped() && hasCrashed(exit))) return exit;
		await child.drained();
		const next = stopped.signal.aborted ? undefined : corrections.next(packet, outcomeAfter(exit));
		return next ? await runPi(isolation, next, startedAt) : exit;
	};

	return {
		...{ stop, steering, questions, parentLeft: child.parentLeft },
		onGrowth(listener: () => void) {
			grown = listener;
		},
		async carryOut(packet: Packet | undefined): Promise<RunResult> {
			const startedAt = Date.now();
			if (!packet) return await end({ kind: "spawn-failed", message: "the parent never sent the task" }, startedAt);
			return await withSession(spec, parkedPi, stopped.signal, async (isolation) => {
				if (!isolation.ok) return await end({ kind: "refused", message: isolation.error }, startedAt);
				receipt.begin(startedAt);
				return await end(await runPi(isolation.value, packet, startedAt), startedAt);
			});
		},
	};
}

/** The result of a run whose processes are gone, with what it has left in its tree and what was seen of its work. */
async function withEvidence(
	spec: RunSpec,
	state: RunState,
	ended: Parameters<typeof resultOf>[2],
	tree: OwnTree,
	receipt: Receipt,
): Promise<RunResult> {
	const changes = await tree.end(lastProvider(state) ?? spec.model?.provider, ended.outcome.kind);
	const seen = await receipt.end(state, ended.outcome, ended.leftovers, changes);
	return { ...resultOf(spec.runId, state, { ...ended, ...seen }), changes };
}

/** Does the work while the run's session is this run's alone, or tells it why that cannot be. */
async function withSession<T>(
	spec: RunSpec,
	parkedPi: ParkedPi,
	stopped: AbortSignal,
	work: (isolation: Result<Isolation>) => Promise<T>,
): Promise<T> {
	const lock = await lockSession(spec.sharedSession, spec, stopped);
	if (!lock.ok) return await work(lock);
	try {
		return await work(await parkedPi.isolationFor(spec));
	} finally {
		lock.value.release();
	}
}

/** A child that had to be stopped after its answer did not fail. */
const exitAfterStop = (outcome: Outcome, exit: Exit): Exit =>
	outcome.kind === "completed" ? { kind: "code", code: 0 } : exit;

/** Of a name in a refusal. */
const MAX_NAME_CHARS = 60;

const packetFor = (
	packet: Packet,
	spec: RunSpec,
	meter: Meter,
	startedAt: number,
	receipt: Receipt,
): Omit<ChildPacket, "person"> => ({
	...packet,
	callTimes: receipt.forChild(),
	allowance: meter.allowance(),
	fallback: spec.fallback,
	maxInFlight: spec.maxInFlight,
	sharesBudget: spec.sessionBudget !== undefined,
	writeGuard: writeGuardOf(spec, startedAt),
});

function writeGuardOf({ writeGuard, label, sessionId, sharedSession }: RunSpec, startedAt: number) {
	if (writeGuard === undefined) return undefined;
	// What an agent read in an earlier run of its session, it may still rely on.
	const since = (sharedSession === undefined ? undefined : sessionStart(sharedSession)) ?? startedAt;
	return { ledger: writeGuard, name: cut(label, MAX_NAME_CHARS), session: sessionId, since, holder: "" };
}

const hasCrashed = (exit: Exit) => exit.kind !== "code" || exit.code !== 0;

async function endUnstarted(waiting: WaitingPi | undefined): Promise<Exit> {
	await waiting?.end();
	return { kind: "spawn-failed", message: "stopped before it was started" };
}
