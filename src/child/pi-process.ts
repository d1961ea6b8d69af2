import { type ChildProcess, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { decode, isDelta } from "../domain/decode.ts";
import type { Exit, RunEvent } from "../domain/event.ts";
import { createLineSplitter, MAX_LINE_BYTES } from "../domain/lines.ts";
import { cut, cutFront, describeMessage } from "../domain/messages.ts";
import { createRedactor, createStreamRedactor } from "../domain/redact.ts";
import type { Packet, RunSpec } from "../domain/spec.ts";
import { MAX_STRAY_CHARS } from "../domain/state.ts";
import type { Artifacts } from "./artifacts.ts";
import { CHILD_MARKERS, PLACEHOLDER, RUN_MARKER } from "./protocol.ts";
import type { Pi } from "./stop-ladder.ts";

export interface PiProcess extends Pi {
	readonly pid: number | undefined;
	readonly exit: Promise<Exit>;
	/** All output has been read, or given up: a grandchild may hold a pipe for ever. */
	readonly drained: Promise<void>;
	/** The last words on stderr. */
	stderrTail(): string;
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

/** Starts pi, hands it its packet, and turns what it prints into events and files. Throws where spawn does. */
export function startPi(spec: RunSpec, packet: Packet, artifacts: Artifacts, listener: Listener): PiProcess {
	const child = spawn(spec.invocation.command, spec.invocation.args, {
		cwd: spec.cwd,
		env: { ...process.env, ...CHILD_MARKERS, [RUN_MARKER]: spec.runId },
		stdio: ["pipe", "pipe", "pipe", "pipe"],
		windowsHide: true,
	});
	const exit = exitOf(child);
	const [stdin, stdout, stderr, lifeline] = child.stdio as unknown as [Writable, Readable, Readable, Writable];
	for (const stream of [stdin, lifeline]) stream.on("error", () => {}); // EPIPE: the child may end before it reads
	lifeline.write(`${JSON.stringify(packet)}\n`); // stays open: its end is how the child learns that we are gone
	stdin.end(PLACEHOLDER);

	const redact = createRedactor(packet.apiKey ? [packet.apiKey.key] : []);
	const clean = packet.apiKey ? (line: Buffer) => Buffer.from(redact(line.toString("utf8"))) : (line: Buffer) => line;
	const stray = createStray(artifacts, listener);
	const tail = createTail();
	const complain = (text: string) => {
		tail.push(text);
		artifacts.stderr(`${text}\n`);
		stray("stderr", text);
	};
	const onDropped = (count: number) => complain(`${count} line(s) of more than ${MAX_LINE_BYTES} bytes were dropped`);
	const output = createOutput(packet.apiKey ? [packet.apiKey.key] : [], artifacts, listener, stray);
	readLines(stdout, (line) => output.read(clean(line)), onDropped, listener);
	stdout.on("close", output.end);
	readLines(stderr, (line) => complain(clean(line).toString("utf8")), onDropped, listener);
	return {
		pid: child.pid,
		exit,
		drained: drain(exit, [stdout, stderr]),
		stderrTail: tail.text,
		signal: (signal) => void child.kill(signal),
		endsWithin: (ms) => within(exit, ms),
	};
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
	const pieces = secrets.length > 0 ? createStreamRedactor(secrets) : undefined;
	const tellPiece = (text: string) => {
		if (text === "") return;
		artifacts.own({ type: "delta", text });
		listener.onEvent({ type: "delta", text });
	};
	const readEvent = (event: RunEvent) => {
		if (event.type === "message") {
			pieces?.end(); // the message has it all
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
			else if (!pieces || !isDelta(decoded)) {
				artifacts.record(line, isDelta(decoded) ? "delta" : "whole");
				if (event) readEvent(event);
			} else if (event?.type === "delta") tellPiece(pieces.push(event.text));
		},
		end: () => tellPiece(pieces?.end() ?? ""),
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
function exitOf(child: ChildProcess): Promise<Exit> {
	return new Promise((resolve) => {
		child.on("error", (error) => {
			if (child.pid === undefined) resolve({ kind: "spawn-failed", message: error.message });
		});
		child.once("exit", (code, signal) =>
			resolve(signal ? { kind: "signal", signal } : code === null ? { kind: "unknown" } : { kind: "code", code }),
		);
	});
}

async function drain(exit: Promise<Exit>, streams: readonly Readable[]): Promise<void> {
	const closed = Promise.all(
		streams.map((stream) => new Promise<void>((resolve) => stream.once("close", () => resolve()))),
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
