import { type FileHandle, open } from "node:fs/promises";
import { err, ok, type Result } from "../domain/result.ts";

/** Which lines of a file; counted from 1, both ends included. */
export type Part =
	| { readonly kind: "all" }
	| { readonly kind: "range"; readonly start: number; readonly end: number }
	| { readonly kind: "head"; readonly lines: number }
	| { readonly kind: "tail"; readonly lines: number };

/** Why a file is not attached, as far as that is worth more words than "could not read". */
export type PartProblem =
	| { readonly kind: "unreadable" }
	| { readonly kind: "too-large"; readonly bytes: number }
	| { readonly kind: "binary"; readonly what: string }
	| { readonly kind: "no-lines"; readonly why: string };

/** Of a whole file, and of a part of one. */
export const MAX_PART_BYTES = 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;
const NEWLINE = 10;

/** The text of a part, without its last line end. Reads no more of the file than it needs. Throws where opening does. */
export async function readPart(path: string, part: Part): Promise<Result<string, PartProblem>> {
	const file = await open(path, "r");
	try {
		const { size } = await file.stat();
		const head = await readAt(file, 0, CHUNK_BYTES);
		const what = kindOf(head);
		if (what !== undefined) return err({ kind: "binary", what });
		const bytes = await bytesOf(file, part, size);
		if (!bytes.ok) return bytes;
		const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes.value);
		return ok(text.replace(/\r?\n$/, ""));
	} catch (error) {
		if (error instanceof TypeError) return err({ kind: "unreadable" }); // another encoding
		throw error;
	} finally {
		await file.close();
	}
}

async function bytesOf(file: FileHandle, part: Part, size: number): Promise<Result<Buffer, PartProblem>> {
	switch (part.kind) {
		case "all":
			return size > MAX_PART_BYTES ? err({ kind: "too-large", bytes: size }) : ok(await readAt(file, 0, size));
		case "tail":
			return await readTail(file, part.lines, size);
		case "head":
			return await readLines(file, 1, part.lines);
		case "range": {
			const { start, end } = part;
			if (start > end) return err({ kind: "no-lines", why: `start ${start} is after end ${end}` });
			return await readLines(file, start, end);
		}
	}
}

/** From the beginning, to the last line that is wanted. */
async function readLines(file: FileHandle, start: number, end: number): Promise<Result<Buffer, PartProblem>> {
	const lines = createLines(start, end);
	for (let position = 0; lines.wantsMore(); position += CHUNK_BYTES) {
		const chunk = await readAt(file, position, CHUNK_BYTES);
		lines.add(chunk);
		if (lines.bytes() > MAX_PART_BYTES) return err({ kind: "too-large", bytes: lines.bytes() });
		if (chunk.length < CHUNK_BYTES) break;
	}
	if (lines.bytes() > 0 || start === 1) return ok(lines.taken());
	const count = lines.seen();
	return err({ kind: "no-lines", why: `it has ${count} ${count === 1 ? "line" : "lines"}` });
}

/** Takes the wanted lines out of a text that comes in chunks. */
function createLines(start: number, end: number) {
	const kept: Buffer[] = [];
	let bytes = 0;
	/** The number of the line that is being read, and whether there is anything of it yet. */
	let line = 1;
	let begun = false;
	const take = (piece: Buffer) => {
		if (line < start || line > end) return;
		kept.push(piece);
		bytes += piece.length;
	};
	return {
		add(chunk: Buffer): void {
			for (let from = 0; from < chunk.length && line <= end; ) {
				const newline = chunk.indexOf(NEWLINE, from);
				const to = newline === -1 ? chunk.length : newline + 1;
				take(chunk.subarray(from, to));
				begun = newline === -1;
				if (!begun) line++;
				from = to;
			}
		},
		wantsMore: () => line <= end,
		bytes: () => bytes,
		taken: () => Buffer.concat(kept),
		seen: () => (begun ? line : line - 1),
	};
}

/** From the end, back to the first line that is wanted. */
async function readTail(file: FileHandle, lines: number, size: number): Promise<Result<Buffer, PartProblem>> {
	const kept: Buffer[] = [];
	let missing = lines;
	for (let end = size; end > 0; ) {
		const from = Math.max(0, end - CHUNK_BYTES);
		const chunk = await readAt(file, from, end - from);
		// The last line end of the file makes no line.
		for (let at = chunk.length - (end === size ? 1 : 0); at > 0; ) {
			at = chunk.lastIndexOf(NEWLINE, at - 1);
			if (at === -1) break;
			if (--missing === 0) return withinLimit([chunk.subarray(at + 1), ...kept]);
		}
		kept.unshift(chunk);
		if (size - from > MAX_PART_BYTES + CHUNK_BYTES) return err({ kind: "too-large", bytes: size - from });
		end = from;
	}
	return withinLimit(kept);
}

function withinLimit(parts: readonly Buffer[]): Result<Buffer, PartProblem> {
	const bytes = Buffer.concat(parts);
	return bytes.length > MAX_PART_BYTES ? err({ kind: "too-large", bytes: bytes.length }) : ok(bytes);
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
	const buffer = Buffer.alloc(length);
	let filled = 0;
	while (filled < length) {
		const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled);
		if (bytesRead === 0) break;
		filled += bytesRead;
	}
	return buffer.subarray(0, filled);
}

const SIGNATURES: readonly (readonly [string, string])[] = [
	["\x89PNG", "a PNG image"],
	["\xff\xd8\xff", "a JPEG image"],
	["GIF8", "a GIF image"],
	["BM", "a BMP image"],
	["%PDF-", "a PDF document"],
	["PK\x03\x04", "a ZIP archive"],
	["\x1f\x8b", "a gzip archive"],
	["\x7fELF", "a program"],
];

/** What a file that is no text is. */
function kindOf(head: Buffer): string | undefined {
	const start = head.toString("latin1", 0, 16);
	if (start.startsWith("RIFF") && start.slice(8, 12) === "WEBP") return "a WebP image";
	const known = SIGNATURES.find(([signature]) => start.startsWith(signature))?.[1];
	const isBinary = head.includes(0);
	// A text may begin with "BM" or "GIF8", and a PDF may have no zero byte in its beginning.
	return isBinary ? (known ?? "a binary file") : start.startsWith("%PDF-") ? known : undefined;
}
