import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { StopCause } from "../domain/event.ts";
import { messageOf } from "../domain/result.ts";
import type { Packet, RunSpec } from "../domain/spec.ts";
import { removeTree } from "../files/remove-tree.ts";
import { openArtifacts } from "../run-directory/artifacts.ts";
import { FILES } from "../run-directory/names.ts";
import { ownTree } from "../tree/own-tree.ts";
import { type Client, type ControlServer, listen } from "./control-server.ts";
import { parkPi } from "./parked-pi.ts";
import { ORPHAN_GRACE_MS, PACKET_TIMEOUT_MS, type ToSupervisor } from "./protocol.ts";
import { createLookout } from "./run-processes.ts";
import { stopOrphans, sweep } from "./stop-ladder.ts";
import { createRun } from "./supervised-run.ts";
import { createSupervisorTalk, isTalk } from "./supervisor-talk.ts";

/** However long a parent lives: one that has not come for its run by then will not. */
const MAX_PARKED_MS = 10 * 60 * 1_000;
/** Between two notices that there is more to read. */
const NUDGE_MS = 15;

// Whoever waits for a supervisor sees it end, and looks after its run.
main(process.argv.slice(2)).catch((error: unknown) => {
	process.stderr.write(`${messageOf(error)}\n`);
	process.exit(1);
});

async function main([command, subject, piPid]: readonly string[]): Promise<void> {
	if (command === "supervise" && subject !== undefined) await supervise(subject);
	if (command === "clean" && subject !== undefined) await stopOrphans(subject, Number(piPid), ORPHAN_GRACE_MS);
	process.exit(0);
}

/** What a supervisor is waiting for. */
type Beginning = { readonly kind: "start"; readonly packet: Packet } | { readonly kind: "none" };

/**
 * Carries out one run, from the packet to result.json. Whatever happens, it ends with a result; unless the run was only
 * parked and nobody came for it: then nothing is left of it.
 */
async function supervise(directory: string): Promise<void> {
	const parked = existsSync(join(directory, FILES.parked));
	let spec = readSpec(directory, parked ? FILES.parked : FILES.meta);
	const artifacts = openArtifacts(directory);
	const parkedPi = parkPi(spec, parked ? "early" : "on time", directory);
	process.title = `pi-subagents ${spec.runId}`;

	const beginning = Promise.withResolvers<Beginning>();
	let stopCause: StopCause | undefined;
	let stop = (cause: StopCause) => {
		stopCause ??= cause;
		beginning.resolve({ kind: "none" });
	};
	for (const signal of ["SIGTERM", "SIGINT"] as const) {
		process.on(signal, () => stop({ kind: "aborted", by: "signal" }));
	}
	process.on("SIGHUP", () => {}); // a terminal that closes says nothing about this run
	process.on("uncaughtException", (error) => {
		artifacts.stderr(`supervisor: ${error.stack ?? error.message}\n`);
		stop({ kind: "broken", message: messageOf(error) });
	});

	let overdue = setTimeout(() => beginning.resolve({ kind: "none" }), PACKET_TIMEOUT_MS);
	const talk = createSupervisorTalk((message) => control.send(message));
	const onMessage = (message: ToSupervisor, client: Client) => {
		if (isTalk(message)) return talk.take(message, client);
		clearTimeout(overdue);
		if (message.type === "start") {
			talk.begin(message.token);
			beginning.resolve({ kind: "start", packet: message.packet });
		}
		if (message.type === "stop") stop(message.cause);
		if (message.type !== "hold") return;
		overdue = setTimeout(() => beginning.resolve({ kind: "none" }), MAX_PARKED_MS);
		if (message.dialect !== undefined) parkedPi.warmUp(message.dialect);
		control.send({ type: "grown" });
	};
	let hasLeft = false;
	let parentLeft = () => {
		hasLeft = true; // before its run began
	};
	const onOwnerGone = () => {
		if (spec.lifetime === "foreground" && !talk.isReleased()) stop({ kind: "aborted", by: "parent-death" });
		else parentLeft();
	};
	const control = await listen(spec.socket, onMessage, onOwnerGone).catch((error: unknown) => {
		process.stderr.write(`${messageOf(error)}\n`); // whoever started us waits for a line on stdout or our last words
		return process.exit(1);
	});
	process.stdout.write("ready\n");

	const begun = await beginning.promise;
	if (parked && begun.kind === "none" && !existsSync(join(directory, FILES.meta))) {
		await parkedPi.end();
		await sweep(createLookout(spec.runId)); // its extensions may have started something
		await removeTree(directory).catch(() => {});
		return await control.close();
	}
	if (parked) {
		spec = readSpec(directory, FILES.meta);
		rmSync(join(directory, FILES.parked), { force: true });
	}
	const run = createRun(spec, artifacts, parkedPi, ownTree(spec, directory));
	run.onGrowth(createNudge(control));
	talk.attach(run.steering, run.questions);
	stop = run.stop;
	parentLeft = run.parentLeft;
	if (hasLeft) parentLeft();
	if (stopCause) run.stop(stopCause);
	const result = await run.carryOut(begun.kind === "start" ? begun.packet : undefined);
	const failure = artifacts.result(result);
	await control.close({
		type: "ended",
		result: failure ? { ...result, artifactErrors: [...result.artifactErrors, failure] } : result,
	});
}

function readSpec(directory: string, name: string): RunSpec {
	return JSON.parse(readFileSync(join(directory, name), "utf8")) as RunSpec;
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
