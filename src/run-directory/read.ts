import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import type { FromSupervisor } from "../child/protocol.ts";
import { decodeTrail } from "../domain/decode.ts";
import type { RunEvent } from "../domain/event.ts";
import { createLineSplitter } from "../domain/lines.ts";
import type { RunSpec } from "../domain/spec.ts";
import { initialState, type RunState, reduce } from "../domain/state.ts";
import { FILES } from "./names.ts";
import { readJson } from "./read-json.ts";
import { readResult } from "./result.ts";

const READ_BYTES = 1024 * 1024;

/** What a supervisor tells those who follow its run. */
interface Notices {
	/** Resolves to undefined when the supervisor is gone. */
	next(): Promise<Extract<FromSupervisor, { type: "grown" | "ended" }> | undefined>;
}

/**
 * What a run does, from the beginning of its events.jsonl, while its supervisor lives. Ends with `ended`, unless the
 * supervisor is gone and left no result.
 */
export async function* follow(directory: string, control: Notices): AsyncGenerator<RunEvent> {
	const trail = await openTrail(join(directory, FILES.events));
	try {
		yield* trail.read(); // a run that is quiet now may have said a lot before we came
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

/** All that a run left in its directory, whether it has ended, is running, or broke off. Undefined where there is none. */
export async function readRun(directory: string): Promise<RunState | undefined> {
	const result = await readResult(directory); // asked first: what is read then is at least what led to it
	const trail = await openTrail(join(directory, FILES.events));
	let state = initialState;
	let events = 0;
	for await (const event of trail.read()) {
		state = reduce(state, event);
		events++;
	}
	await trail.close();
	if (result) return reduce(state, { type: "ended", result });
	return events > 0 ? state : undefined;
}

export const readSpec = (directory: string): Promise<RunSpec | undefined> =>
	readJson<RunSpec>(join(directory, FILES.meta));

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
