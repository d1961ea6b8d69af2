import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { EarlierSession } from "../domain/earlier-session.ts";

/** More are not named. */
const MAX_OTHERS = 3;

/** Looks at the session file that the directory, the agent and the id of a call lead to. Never rejects. */
export async function earlierSession(path: string): Promise<EarlierSession> {
	const messages = await countMessages(path);
	if (messages !== undefined) return { kind: "continued", messages };
	return { kind: "new", others: await usedElsewhere(path).catch(() => []) };
}

/** Undefined where there is no such file. The system prompt is no message of the conversation. */
async function countMessages(path: string): Promise<number | undefined> {
	let count = 0;
	try {
		for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
			const { type, message } = fieldsOf(line);
			if (type === "message" && fieldsIn(message).role !== "system") count++;
		}
		return count;
	} catch {
		return undefined;
	}
}

/** Files are named `<agent>_<id>.jsonl`, in a directory per working directory. An id has no underscore. */
async function usedElsewhere(path: string): Promise<string[]> {
	const own = dirname(path);
	const all = dirname(own);
	const ending = basename(path).slice(basename(path).lastIndexOf("_"));
	const others: string[] = [];
	for (const directory of await readdir(all)) {
		for (const name of await readdir(join(all, directory)).catch(() => [])) {
			if (name.slice(name.lastIndexOf("_")) !== ending || others.length === MAX_OTHERS) continue;
			const agent = `"${name.slice(0, -ending.length)}"`;
			const isHere = directory === basename(own);
			others.push(isHere ? `agent ${agent}` : `agent ${agent} in ${await directoryOf(join(all, directory, name))}`);
		}
	}
	return others;
}

/** As the head of a session file names it. */
async function directoryOf(path: string): Promise<string> {
	try {
		for await (const line of createInterface({ input: createReadStream(path) })) {
			const { cwd } = fieldsOf(line);
			if (typeof cwd === "string") return cwd;
			break;
		}
	} catch {
		// it may have just been removed
	}
	return "another directory";
}

function fieldsOf(line: string): Readonly<Record<string, unknown>> {
	try {
		return fieldsIn(JSON.parse(line));
	} catch {
		return {};
	}
}

const fieldsIn = (value: unknown): Readonly<Record<string, unknown>> =>
	typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
