import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Duplex, Readable, Writable } from "node:stream";
import type { Exit } from "../domain/event.ts";
import type { RunSpec } from "../domain/spec.ts";
import { identityOf } from "../files/process-identity.ts";
import type { Artifacts } from "../run-directory/artifacts.ts";
import type { Isolation } from "./isolation.ts";
import { type Listener, readOutput } from "./pi-output.ts";
import { CHILD_MARKERS, type ChildPacket, PLACEHOLDER, RUN_MARKER, type ToChild, type WarmUp } from "./protocol.ts";
import type { Pi } from "./stop-ladder.ts";

export interface PiProcess extends Pi {
	readonly pid: number | undefined;
	readonly exit: Promise<Exit>;
	/** One that has ended does not hear it. */
	tell(message: ToChild): void;
	/** All output has been read, or given up: a grandchild may hold a pipe for ever. */
	readonly drained: Promise<void>;
	/** The last words on stderr. */
	stderrTail(): string;
	/** It was started ahead of its task, and ended before it had told anything: another one may take its place. */
	diedBeforeItsTask(): boolean;
	/** It is not replaced: what it complained about is told. */
	tellComplaints(): void;
}

const PIPE_GRACE_MS = 250;

/** A pi that has been started and does nothing before it is given its task. */
export interface WaitingPi {
	isAlive(): boolean;
	/** Has it load what a first request in this dialect needs. */
	warmUp(dialect: string): void;
	/** Hands over the packet, and turns what pi prints into events and files: nothing is read before. */
	begin(packet: ChildPacket, artifacts: Artifacts, listener: Listener): PiProcess;
	/** Ends one that is not needed; there is nothing in it that could be lost. */
	end(): Promise<void>;
}

/** Throws where spawn does. */
export function spawnPi(spec: RunSpec, isolation: Isolation, when: "on time" | "early" = "on time"): WaitingPi {
	const { command, args } = isolation.invocation;
	const child = spawn(command, args, {
		cwd: spec.cwd,
		env: { ...process.env, ...CHILD_MARKERS, [RUN_MARKER]: spec.runId },
		stdio: ["pipe", "pipe", "pipe", "pipe"],
		windowsHide: true,
	});
	const exit = exitOf(child, spec.cwd).then(isolation.exitOf);
	if (!child.stdio) throw new Error(`spawn ${command}: too many open files`); // no pipes could be had
	const [stdin, stdout, stderr, lifeline] = child.stdio as unknown as [Writable, Readable, Readable, Duplex];
	for (const stream of [stdin, lifeline]) stream.on("error", () => {}); // EPIPE: the child may end before it reads
	const isAlive = () => child.pid !== undefined && child.exitCode === null && child.signalCode === null;
	const signal = (name: NodeJS.Signals) => {
		if (child.pid !== undefined && isAlive()) isolation.signal(child.pid, name);
	};
	const tell = (message: ChildPacket | WarmUp | ToChild) => void lifeline.write(`${JSON.stringify(message)}\n`);
	return {
		isAlive,
		warmUp: (dialect) => tell({ warmUp: dialect }),
		begin(packet, artifacts, listener) {
			const reading = readOutput(
				[stdout, stderr, lifeline],
				packet,
				artifacts,
				listener,
				when === "early" ? "after an event" : "at once",
				tell,
			);
			tell(withHolder(packet, child.pid)); // the lifeline stays open: its end is how the child learns that we are gone
			stdin.end(PLACEHOLDER);
			const told = exit.then((exit) => exitAsTold(exit, lifeline, reading.exitCode));
			return {
				stderrTail: reading.stderrTail,
				tellComplaints: reading.tellComplaints,
				diedBeforeItsTask: reading.isHoldingBack,
				pid: child.pid,
				exit: told,
				tell,
				drained: drain(told, [stdout, stderr]),
				signal,
				endsWithin: (ms) => within(exit, ms),
			};
		},
		async end() {
			signal("SIGKILL");
			for (const stream of [stdin, stdout, stderr, lifeline]) stream.destroy();
			await exit;
		},
	};
}

/** The child itself does not know its pid outside of a namespace. */
const withHolder = (packet: ChildPacket, pid: number | undefined): ChildPacket => ({
	...packet,
	writeGuard: packet.writeGuard && { ...packet.writeGuard, holder: identityOf(pid ?? 0) ?? String(pid) },
});

/** A failed spawn reports `error` and nothing else. A signal that could not be sent is reported the same way. */
function exitOf(child: ChildProcess, cwd: string): Promise<Exit> {
	return new Promise((resolve) => {
		child.on("error", (error) => {
			if (child.pid !== undefined) return;
			// It may have been removed since it was asked for, and what is reported then names the program.
			resolve({ kind: "spawn-failed", message: existsSync(cwd) ? error.message : `cwd does not exist: ${cwd}` });
		});
		child.once("exit", (code, signal) =>
			resolve(signal ? { kind: "signal", signal } : code === null ? { kind: "unknown" } : { kind: "code", code }),
		);
	});
}

/** A child that is done tells its exit code and kills itself: see quick-exit.ts. A kill by another process comes without a code. */
async function exitAsTold(exit: Exit, lifeline: Readable, exitCode: () => number | undefined): Promise<Exit> {
	if (exit.kind !== "signal" || exit.signal !== "SIGKILL") return exit;
	await within(closed([lifeline]), PIPE_GRACE_MS); // its last word may still be on its way
	const code = exitCode();
	return code === undefined ? exit : { kind: "code", code };
}

async function drain(exit: Promise<Exit>, streams: readonly Readable[]): Promise<void> {
	const ended = closed(streams);
	await exit;
	if (await within(ended, PIPE_GRACE_MS)) return;
	for (const stream of streams) stream.destroy();
	await ended;
}

const closed = (streams: readonly Readable[]): Promise<unknown> =>
	Promise.all(
		streams.map(
			(stream) => new Promise<void>((resolve) => (stream.closed ? resolve() : stream.once("close", resolve))),
		),
	);

async function within(event: Promise<unknown>, ms: number): Promise<boolean> {
	let timer: NodeJS.Timeout | undefined;
	const timeout = new Promise<false>((resolve) => {
		timer = setTimeout(resolve, ms, false);
	});
	const inTime = await Promise.race([event.then(() => true as const), timeout]);
	clearTimeout(timer);
	return inTime;
}
