import type { Readable } from "node:stream";
import type { Amounts, UsedUp } from "../domain/budget.ts";
import { DROPPED_MESSAGE, decode, isDelta, isMessageHead } from "../domain/decode.ts";
import type { RunEvent } from "../domain/event.ts";
import { createLineSplitter, MAX_LINE_BYTES } from "../domain/lines.ts";
import { cut, cutFront, describeMessage } from "../domain/messages.ts";
import type { Question } from "../domain/question.ts";
import { createLineRedactor, createStreamRedactor } from "../domain/redact.ts";
import { MAX_STRAY_CHARS } from "../domain/state.ts";
import type { Artifacts } from "../run-directory/artifacts.ts";
import { readLifeline } from "./lifeline.ts";
import type { ChildPacket, LockRequest, SlotRequest, ToChild } from "./protocol.ts";

export interface Listener {
	onEvent(event: RunEvent): void;
	/** What is held is given back. `grant` is called when a slot of each key has been taken. */
	onSlots(request: SlotRequest, grant: () => void): void;
	/** Notes what the run has used, and returns the limit of the session that has been reached. */
	onSpent(used: Amounts): UsedUp | undefined;
	/** `answer` is called when it is known whether the lock was had; a request that gives one back has no answer. */
	onLock(request: LockRequest, answer: (got: boolean) => void): void;
	onAsk(question: Question): void;
	onWithdraw(id: string): void;
	/** After each chunk of output, when its events have been told. */
	onChunk(): void;
}

const MAX_STDERR_TAIL_CHARS = 2_000;
/** Lines of stderr or stray stdout that are told as events; the log files take more. */
const MAX_STRAY_EVENTS = 200;

/**
 * What pi says, on both of its streams. Complaints of a pi that may have to be replaced are held back until its first event:
 * another one would have its own.
 */
export function readOutput(
	[stdout, stderr, lifeline]: readonly [Readable, Readable, Readable],
	packet: ChildPacket,
	artifacts: Artifacts,
	listener: Listener,
	complaints: "at once" | "after an event",
	answer: (message: ToChild) => void,
) {
	const secrets = packet.apiKey ? [packet.apiKey.key] : [];
	let clean = createLineRedactor(secrets);
	let exitCode: number | undefined;
	readLifeline(lifeline, {
		onKey(key) {
			secrets.push(key);
			clean = createLineRedactor(secrets);
		},
		onSlots: (request) => listener.onSlots(request, () => answer({ granted: request.id })),
		onSpent: ({ id, used }) => answer({ spending: { id, usedUp: listener.onSpent(used) ?? null } }),
		onLock: (request) =>
			listener.onLock(request, (got) => "id" in request && answer({ locked: { id: request.id, got } })),
		onEvent(event) {
			artifacts.own(event);
			listener.onEvent(event);
			listener.onChunk();
		},
		onAsk: (question) => listener.onAsk(JSON.parse(clean(Buffer.from(JSON.stringify(question))).toString("utf8"))),
		onWithdraw: listener.onWithdraw,
		onNotice(text) {
			const notice = clean(Buffer.from(text)).toString("utf8");
			artifacts.transcript(`[notice]: ${notice}\n`);
			stray("notice", notice);
			listener.onChunk();
		},
		onExit(code) {
			exitCode = code;
		},
	});
	const stray = createStray(artifacts, listener);
	const tail = createTail();
	let heldBack: string[] | undefined = complaints === "after an event" ? [] : undefined;
	const complain = (text: string) => {
		if (heldBack) return void (heldBack.length < MAX_STRAY_EVENTS && heldBack.push(text));
		tail.push(text);
		artifacts.stderr(`${text}\n`);
		stray("stderr", text);
	};
	const tellComplaints = () => {
		const early = heldBack ?? [];
		heldBack = undefined;
		for (const text of early) complain(text);
	};
	const onEvent = (event: RunEvent) => {
		tellComplaints();
		listener.onEvent(event);
	};
	const onDropped = (count: number) => complain(`${count} line(s) of more than ${MAX_LINE_BYTES} bytes were dropped`);
	const onLongLine = (head: Buffer) => {
		if (!isMessageHead(head)) return;
		stray("stdout", DROPPED_MESSAGE);
		artifacts.transcript(`${DROPPED_MESSAGE}\n`);
	};
	const output = createOutput(secrets, artifacts, { ...listener, onEvent }, stray);
	readLines(stdout, (line) => output.read(clean(line)), onDropped, listener, onLongLine);
	stdout.on("close", output.end);
	readLines(stderr, (line) => complain(clean(line).toString("utf8")), onDropped, listener);
	return {
		stderrTail: tail.text,
		isHoldingBack: () => heldBack !== undefined,
		tellComplaints,
		exitCode: () => exitCode,
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
	return (stream: "stdout" | "stderr" | "notice", text: string) => {
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
	onLongLine: (head: Buffer) => void = () => {},
): void {
	const lines = createLineSplitter(onLine, MAX_LINE_BYTES, onLongLine);
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
