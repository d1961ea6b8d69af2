import { constants, lstatSync, readlinkSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { encodeOwn, isPiece } from "../domain/decode.ts";
import type { RunEvent } from "../domain/event.ts";
import { messageOf } from "../domain/result.ts";
import type { RunResult } from "../domain/run-result.ts";
import { createPrivate } from "../files/private.ts";
import { keepReserve } from "../files/write-once.ts";
import { FILES } from "./names.ts";
import { writeResult } from "./result.ts";

/**
 * The files of one run. Appends are best effort: a full disk costs a log line, never the run or its result.
 * All files are opened when the run starts, so that nothing planted in the directory later is ever followed.
 */
export interface Artifacts {
	readonly directory: string;
	/** A record of pi's. Deltas are kept only while events.jsonl is small. */
	record(line: Buffer, kind: "delta" | "whole"): void;
	own(event: RunEvent): void;
	stdout(text: string): void;
	stderr(text: string): void;
	transcript(text: string): void;
	/** Records are collected until this is called: one write per chunk of output, not one per line. */
	flush(): void;
	/** Returns an error where the result could not be written. */
	result(result: RunResult): string | undefined;
	readonly errors: readonly string[];
}

const MAX_DELTA_EVENTS_BYTES = 50 * 1024 * 1024;
const FULL = "events.jsonl has reached 50 MB: pieces of text are no longer kept, whole messages are";
const MAX_LOG_BYTES = 5 * 1024 * 1024;
const LF = Buffer.from("\n");

export function openArtifacts(directory: string): Artifacts {
	const errors: string[] = [];
	const report = (message: string) => {
		if (!errors.includes(message)) errors.push(message);
	};
	const events = openLog(join(directory, FILES.events), Number.POSITIVE_INFINITY, report);
	const stdout = openLog(join(directory, FILES.stdout), MAX_LOG_BYTES, report);
	const stderr = openLog(join(directory, FILES.stderr), MAX_LOG_BYTES, report);
	const transcript = openLog(join(directory, FILES.transcript), MAX_LOG_BYTES * 10, report);
	keepReserve(directory);
	const identity = identityOf(directory);
	let pending: Buffer[] = [];
	let collected = 0;
	let full = false;
	const collect = (...parts: readonly Buffer[]) => {
		for (const part of parts) collected += part.length;
		pending.push(...parts);
	};
	const collectDelta = (...parts: readonly Buffer[]) => {
		if (!full && collected > MAX_DELTA_EVENTS_BYTES) {
			full = true;
			collect(Buffer.from(encodeOwn({ type: "stray", stream: "stderr", text: FULL })));
		}
		if (!full) collect(...parts);
	};
	return {
		directory,
		record: (line, kind) => (kind === "delta" ? collectDelta : collect)(line, LF),
		own: (event) => (isPiece(event) ? collectDelta : collect)(Buffer.from(encodeOwn(event))),
		stdout: (text) => stdout.append(Buffer.from(text)),
		stderr: (text) => stderr.append(Buffer.from(text)),
		transcript: (text) => transcript.append(Buffer.from(text)),
		flush() {
			if (pending.length === 0) return;
			events.append(Buffer.concat(pending));
			pending = [];
		},
		result(result) {
			const now = identityOf(directory);
			if (now !== undefined && now !== identity) return `${directory}: another has taken its place`;
			const moved = now === undefined ? dirname(events.path() ?? "") : directory;
			return writeResult(identityOf(moved) === identity ? moved : directory, result);
		},
		errors,
	};
}

/** Which directory this is, whatever its name; undefined where there is none. */
function identityOf(directory: string): string | undefined {
	const stat = lstatSync(directory, { throwIfNoEntry: false });
	return stat && `${stat.dev}:${stat.ino}`;
}

function openLog(path: string, maxBytes: number, report: (message: string) => void) {
	let fd: number | undefined;
	let written = 0;
	let torn = false;
	const fail = (error: unknown) => {
		torn = true;
		report(`${path}: ${messageOf(error)}`);
	};
	try {
		fd = createPrivate(path, constants.O_APPEND);
	} catch (error) {
		fail(error);
	}
	return {
		/** Where the file is now: its project may have been renamed. Known on Linux only. */
		path(): string | undefined {
			try {
				return fd === undefined ? undefined : readlinkSync(`/proc/self/fd/${fd}`);
			} catch {
				return undefined;
			}
		},
		append(data: Buffer) {
			if (fd === undefined || data.length === 0 || written + data.length > maxBytes) return;
			// After a failed write half a line may stand at the end: what comes next begins a line of its own.
			const whole = torn ? Buffer.concat([LF, data]) : data;
			try {
				for (let done = 0; done < whole.length; ) done += writeSync(fd, whole, done);
				written += whole.length;
				torn = false;
			} catch (error) {
				fail(error);
			}
		},
	};
}
