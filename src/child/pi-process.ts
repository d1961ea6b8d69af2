import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Duplex, Readable, Writable } from "node:stream";
import { decode, isDelta } from "../domain/decode.ts";
import type { Exit, RunEvent } from "../domain/event.ts";
import { createLineSplitter, MAX_LINE_BYTES } from "../domain/lines.ts";
import { cut, cutFront, describeMessage } from "../domain/messages.ts";
import { createLineRedactor, createStreamRedactor } from "../domain/redact.ts";
import type { RunSpec } from "../domain/spec.ts";
import { MAX_STRAY_CHARS } from "../domain/state.ts";
import type { Artifacts } from "../run-directory/artifacts.ts";
import type { Isolation } from "./isolation.ts";
import {
	CHILD_MARKERS,
	type ChildPacket,
	type FromChild,
	PLACEHOLDER,
	RUN_MARKER,
	type ToChild,
	type WarmUp,
} from "./protocol.ts";
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
	wasStillborn(): boolean;
	/** It is not replaced: what it complained about is told. */
	tellComplaints(): void;
}

export interface Listener {
	onEvent(event: RunEvent): void;
	/** After each chunk of output, when its events have been told. */
	onChunk(): void;
}

const PIPE_GRACE_MS = 250;
const MAX_STDERR_TAIL_CHARS = 2_000;
/** Lines of stderr or stray stdout that are told as events; the log files take more. */
const MAX_STRAY_EVENTS = 200;

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
				when === "early" ? "after speech" : "at once",
			);
			tell(packet); // the lifeline stays open: its end is how the child learns that we are gone
			stdin.end(PLACEHOLDER);
			return {
				stderrTail: reading.stderrTail,
				tellComplaints: reading.tellComplaints,
				wasStillborn: () => when === "early" && !reading.hasSpoken(),
				pid: child.pid,
				exit,
				tell,
				drained: drain(exit, [stdout, stderr]),
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

/**
 * What pi says, on both of its streams. Complaints of one that may have to be replaced are told once it has spoken: the
 * other one will have its own.
 */
function readOutput(
	[stdout, stderr, lifeline]: readonly [Readable, Readable, Readable],
	packet: ChildPacket,
	artifacts: Artifacts,
	listener: Listener,
	complaints: "at once" | "after speech",
) {
	const secrets = packet.apiKey ? [packet.apiKey.key] : [];
	let clean = createLineRedactor(secrets);
	readLifeline(lifeline, (message) => {
		if ("key" in message) {
			secrets.push(message.key);
			clean = createLineRedactor(secrets);
		} else tellOwn(eventOf(message), artifacts, listener);
	});
	const stray = createStray(artifacts, listener);
	const tail = createTail();
	let spoken = false;
	let waiting: string[] | undefined = complaints === "after speech" ? [] : undefined;
	const complain = (text: string) => {
		if (waiting) return void (waiting.length < MAX_STRAY_EVENTS && waiting.push(text));
		tail.push(text);
		artifacts.stderr(`${text}\n`);
		stray("stderr", text);
	};
	const tellComplaints = () => {
		const early = waiting ?? [];
		waiting = undefined;
		for (const text of early) complain(text);
	};
	const onEvent = (event: RunEvent) => {
		spoken = true;
		tellComplaints();
		listener.onEvent(event);
	};
	const onDropped = (count: number) => complain(`${count} line(s) of more than ${MAX_LINE_BYTES} bytes were dropped`);
	const output = createOutput(secrets, artifacts, { ...listener, onEvent }, stray);
	readLines(stdout, (line) => output.read(clean(line)), onDropped, listener);
	stdout.on("close", output.end);
	readLines(stderr, (line) => complain(clean(line).toString("utf8")), onDropped, listener);
	return { stderrTail: tail.text, hasSpoken: () => spoken, tellComplaints };
}

/**
 * What pi prints, as files and events. A secret may be written in two pieces, neither of which is one: where there are
 * secrets, pieces are not kept as they come.
 */
function createOutput(
	secrets: readonly string[],
	artifacts: Artifacts,
	listener: Listener,
	stray: (stream: "stdout", text: string) => void,
) {
	const pieces =
		secrets.length > 0 ? { delta: createStreamRedactor(secrets), thinking: createStreamRedactor(secrets) } : undefined;
	let last: RunEvent["type"] | undefined;
	const stamp = ({ type }: RunEvent, kind: "delta" | "whole") => {
		if (kind === "delta" && type === last) return;
		last = type;
		own({ type: "clock", at: Date.now() });
	};
	const own = (event: RunEvent) => {
		artifacts.own(event);
		listener.onEvent(event);
	};
	const tellPiece = (event: Extract<RunEvent, { type: "delta" | "thinking" }>) => {
		if (event.text === "" && event.type === last) return;
		stamp(event, "delta");
		own(event);
	};
	const readPiece = (event: RunEvent | undefined) => {
		if (event?.type === "calling") own(event);
		if (event?.type === "delta" || event?.type === "thinking") {
			tellPiece({ ...event, text: pieces?.[event.type].push(event.text) ?? "" });
		}
	};
	const readRecord = (line: Buffer, kind: "delta" | "whole", event: RunEvent | undefined) => {
		if (event) stamp(event, kind);
		artifacts.record(line, kind);
		if (event) readEvent(event);
	};
	const readEvent = (event: RunEvent) => {
		if (event.type === "message") {
			pieces?.delta.end(); // the message has it all
			pieces?.thinking.end();
			for (const part of describeMessage(event.message)) artifacts.transcript(`${part}\n`);
		}
		listener.onEvent(event);
	};
	const readStray = (text: string) => {
		if (text.trim() === "") return;
		artifacts.stdout(`${text}\n`);
		stray("stdout", text);
	};
	return {
		read(line: Buffer): void {
			const decoded = decode(line);
			const event = decoded.kind === "event" ? decoded.event : undefined;
			if (decoded.kind === "stray") readStray(decoded.text);
			else if (pieces && isDelta(decoded)) readPiece(event);
			else readRecord(line, isDelta(decoded) ? "delta" : "whole", event);
		},
		end() {
			const text = pieces?.delta.end() ?? "";
			if (text !== "") own({ type: "delta", text });
		},
	};
}

function createStray(artifacts: Artifacts, listener: Listener) {
	let count = 0;
	return (stream: "stdout" | "stderr", text: string) => {
		if (count++ >= MAX_STRAY_EVENTS) return;
		const event: RunEvent = { type: "stray", stream, text: cut(text, MAX_STRAY_CHARS) };
		artifacts.own(event);
		listener.onEvent(event);
	};
}

function createTail() {
	let text = "";
	return {
		push(line: string) {
			text = cutFront(`${text}${line}\n`, MAX_STDERR_TAIL_CHARS);
		},
		text: () => text.trim(),
	};
}

const eventOf = (message: Exclude<FromChild, { key: string }>): RunEvent =>
	"wrapUp" in message ? { type: "wrap-up", ...message.wrapUp } : { type: "model-failed", ...message.failed };

function tellOwn(event: RunEvent, artifacts: Artifacts, listener: Listener): void {
	artifacts.own(event);
	listener.onEvent(event);
	listener.onChunk();
}

/** Whatever else is told there is not ours. */
function readLifeline(lifeline: Readable, onMessage: (message: FromChild) => void): void {
	const lines = createLineSplitter((line) => {
		try {
			const message = JSON.parse(line.toString("utf8")) as FromChild;
			const isKnown =
				"key" in message
					? typeof message.key === "string"
					: "wrapUp" in message
						? typeof message.wrapUp.reason === "object"
						: typeof message.failed.message === "string";
			if (isKnown) onMessage(message);
		} catch {
			// nothing that a child of ours says
		}
	});
	lifeline.on("data", (chunk: Buffer) => lines.write(chunk));
}

function readLines(
	stream: Readable,
	onLine: (line: Buffer) => void,
	onDropped: (count: number) => void,
	listener: Listener,
): void {
	const lines = createLineSplitter(onLine);
	stream.on("data", (chunk: Buffer) => {
		lines.write(chunk);
		listener.onChunk();
	});
	stream.on("error", () => {});
	stream.on("close", () => {
		lines.end();
		if (lines.dropped > 0) onDropped(lines.dropped);
		listener.onChunk();
	});
}

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

async function drain(exit: Promise<Exit>, streams: readonly Readable[]): Promise<void> {
	const closed = Promise.all(
		streams.map(
			(stream) => new Promise<void>((resolve) => (stream.closed ? resolve() : stream.once("close", resolve))),
		),
	);
	await exit;
	if (await within(closed, PIPE_GRACE_MS)) return;
	for (const stream of streams) stream.destroy();
	await closed;
}

async function within(event: Promise<unknown>, ms: number): Promise<boolean> {
	let timer: NodeJS.Timeout | undefined;
	const timeout = new Promise<false>((resolve) => {
		timer = setTimeout(resolve, ms, false);
	});
	const inTime = await Promise.race([event.then(() => true as const), timeout]);
	clearTimeout(timer);
	return inTime;
}
