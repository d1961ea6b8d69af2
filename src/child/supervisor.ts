import { readFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../domain/result.ts";
import { FILES } from "../domain/run-files.ts";
import type { Packet, RunSpec } from "../domain/spec.ts";
import { openArtifacts } from "./artifacts.ts";
import { type ControlServer, listen } from "./control-server.ts";
import { ORPHAN_GRACE_MS, PACKET_TIMEOUT_MS, type ToSupervisor } from "./protocol.ts";
import { stopOrphans } from "./stop-ladder.ts";
import { createRun } from "./supervised-run.ts";

/** Between two notices that there is more to read. */
const NUDGE_MS = 15;

void main(process.argv.slice(2));

async function main([command, subject, piPid]: readonly string[]): Promise<void> {
	if (command === "supervise" && subject !== undefined) await supervise(subject);
	if (command === "clean" && subject !== undefined) await stopOrphans(subject, Number(piPid), ORPHAN_GRACE_MS);
	process.exit(0);
}

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
	const control = await listen(spec.socket, onMessage, onOwnerGone).catch((error: unknown) => {
		process.stderr.write(`${messageOf(error)}\n`); // whoever started us waits for a line on stdout or our last words
		return process.exit(1);
	});
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
