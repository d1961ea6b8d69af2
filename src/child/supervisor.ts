import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Exit, RunEvent, StopCause } from "../domain/event.ts";
import { createGuard } from "../domain/guard.ts";
import { messageOf } from "../domain/result.ts";
import { FILES } from "../domain/run-files.ts";
import type { Packet, RunSpec } from "../domain/spec.ts";
import { conclude, initialState, type RunResult, reduce, resultOf } from "../domain/state.ts";
import { type Artifacts, openArtifacts } from "./artifacts.ts";
import { type ControlServer, listen } from "./control-server.ts";
import { type PiProcess, startPi } from "./pi-process.ts";
import { GRACE_MS, ORPHAN_GRACE_MS, PACKET_TIMEOUT_MS, socketPathOf, type ToSupervisor } from "./protocol.ts";
import { processesOf, type RunProcess } from "./run-processes.ts";
import { stopOrphans, stopRun, sweep } from "./stop-ladder.ts";

/** How long a child may stay after it has settled. */
const SETTLED_GRACE_MS = 1_000;
/** Between two notices that there is more to read. */
const NUDGE_MS = 15;

const [command, ...args] = process.argv.slice(2);
if (command === "supervise" && args[0] !== undefined) await supervise(args[0]);
if (command === "clean" && args[0] !== undefined) await stopOrphans(args[0], Number(args[1]), ORPHAN_GRACE_MS);
process.exit(0);

/** Carries out one run, from the packet to result.json. Whatever happens, it ends with a result. */
async function supervise(directory: string): Promise<void> {
	const spec = JSON.parse(readFileSync(join(directory, FILES.meta), "utf8")) as RunSpec;
	const artifacts = openArtifacts(directory);
	const run = createRun(spec, artifacts);
	process.title = `pi-subagents ${spec.runId}`;
	for (const signal of ["SIGTERM", "SIGINT"] as const) {
		process.on(signal, () => run.stop({ kind: "aborted", by: "signal" }));
	}
	process.on("SIGHUP", () => {}); // a terminal that closes says nothing about this run
	process.on("uncaughtException", (error) => {
		artifacts.stderr(`supervisor: ${error.stack ?? error.message}\n`);
		run.stop({ kind: "aborted", by: "signal" });
	});

	const packet = Promise.withResolvers<Packet | undefined>();
	const onMessage = (message: ToSupervisor) => {
		if (message.type === "start") return packet.resolve(message.packet);
		packet.resolve(undefined);
		run.stop(message.cause);
	};
	const onOwnerGone = () => {
		if (spec.lifetime === "foreground") run.stop({ kind: "aborted", by: "parent-death" });
	};
	const control = await listen(socketPathOf(spec.runId), onMessage, onOwnerGone);
	run.onGrowth(createNudge(control));
	process.stdout.write("ready\n");
	setTimeout(() => packet.resolve(undefined), PACKET_TIMEOUT_MS).unref();

	const result = await run.carryOut(await packet.promise);
	const failure = artifacts.result(result);
	control.send({
		type: "ended",
		result: failure ? { ...result, artifactErrors: [...result.artifactErrors, failure] } : result,
	});
	await control.close();
}

function createNudge(control: ControlServer): () => void {
	let due = false;
	return () => {
		if (due) return;
		due = true;
		setTimeout(() => {
			due = false;
			control.send({ type: "grown" });
		}, NUDGE_MS);
	};
}

/** One run: pi, the fold over its events, the guard that watches them, and the one way to stop it. */
function createRun(spec: RunSpec, artifacts: Artifacts) {
	let state = initialState;
	let pi: PiProcess | undefined;
	let stopping: Promise<RunProcess[]> | undefined;
	let grown = () => {};

	const apply = (event: RunEvent) => {
		state = reduce(state, event);
		guard.observe(event);
		if (event.type === "settled") setTimeout(endPi, SETTLED_GRACE_MS, GRACE_MS).unref();
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
		if (pi) stopping ??= stopRun(spec.runId, pi, graceMs);
	};
	const stop = (cause: StopCause) => {
		if (state.stopCause === undefined && !state.settled) {
			own({ type: "stopping", at: Date.now(), cause });
			flush();
		}
		endPi(cause.kind === "aborted" && cause.by === "parent-death" ? ORPHAN_GRACE_MS : GRACE_MS);
	};
	const guard = createGuard(spec.limits, stop);

	const end = async (exit: Exit, startedAt: number): Promise<RunResult> => {
		guard.dispose();
		const leftovers = await (stopping ?? (spec.leftovers === "end" ? sweep(spec.runId) : processesOf(spec.runId)));
		await pi?.drained;
		if (state.partial !== "") artifacts.transcript(`${state.partial}\n`);
		flush();
		const outcome = conclude(state, exit, spec.contract, pi?.stderrTail() ?? "");
		return {
			...resultOf(spec.runId, state, {
				outcome,
				// A child that had to be helped out after its answer did not fail.
				exit: outcome.kind === "completed" && stopping ? { kind: "code", code: 0 } : exit,
				endedAt: Math.max(Date.now(), startedAt),
				leftovers,
				artifactErrors: artifacts.errors,
			}),
			startedAt,
		};
	};

	return {
		stop,
		onGrowth(listener: () => void) {
			grown = listener;
		},
		async carryOut(packet: Packet | undefined): Promise<RunResult> {
			const startedAt = Date.now();
			if (!packet || state.stopCause) {
				return await end({ kind: "spawn-failed", message: "the parent never sent the task" }, startedAt);
			}
			try {
				pi = startPi(spec, packet, artifacts, { onEvent: apply, onChunk: flush });
			} catch (error) {
				return await end({ kind: "spawn-failed", message: messageOf(error) }, startedAt);
			}
			const { pid } = pi;
			if (pid !== undefined) own({ type: "started", at: startedAt, supervisorPid: process.pid, pid });
			flush();
			return await end(await pi.exit, startedAt);
		},
	};
}
