import { type FileHandle, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { decodeTrail } from "../domain/decode.ts";
import type { RunEvent } from "../domain/event.ts";
import { createLineSplitter } from "../domain/lines.ts";
import { FILES } from "../domain/run-files.ts";
import type { RunResult } from "../domain/state.ts";
import type { ControlClient } from "./control-client.ts";

const READ_BYTES = 1024 * 1024;

/**
 * What a run does, from the beginning of its events.jsonl, while its supervisor lives. Ends with `ended`, unless the
 * supervisor is gone and left no result.
 */
export async function* follow(directory: string, control: ControlClient): AsyncGenerator<RunEvent> {
	const trail = await openTrail(join(directory, FILES.events));
	try {
		while (true) {
			const message = await control.next(); // asked first: what is read after the last message is the rest
			yield* trail.read();
			if (message?.type === "grown") continue;
			const result = message?.result ?? (await readResult(directory));
			if (result) yield { type: "ended", result };
			return;
		}
	} finally {
		await trail.close();
	}
}

export async function readResult(directory: string): Promise<RunResult | undefined> {
	try {
		return JSON.parse(await readFile(join(directory, FILES.result), "utf8")) as RunResult;
	} catch {
		return undefined;
	}
}

/** Reads events.jsonl from where it stopped the last time. A file that cannot be read has no events: the result still comes. */
export async function openTrail(path: string) {
	const file: FileHandle | undefined = await open(path).catch(() => undefined);
	const buffer = Buffer.allocUnsafe(READ_BYTES);
	let events: RunEvent[] = [];
	const lines = createLineSplitter((line) => {
		const event = decodeTrail(line);
		if (event) events.push(event);
	});
	return {
		async *read(): AsyncGenerator<RunEvent> {
			while (file) {
				const { bytesRead } = await file.read(buffer, 0, READ_BYTES, null).catch(() => ({ bytesRead: 0 }));
				if (bytesRead === 0) return;
				lines.write(buffer.subarray(0, bytesRead));
				yield* events;
				events = [];
			}
		},
		close: async () => await file?.close(),
	};
}
