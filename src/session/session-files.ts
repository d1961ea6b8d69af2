import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { lstat, mkdir, readdir, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createLineSplitter } from "../domain/lines.ts";
import { identityOf } from "../files/process-identity.ts";
import type { SessionEntry } from "../records/session-entries.ts";
import { readJson } from "../run-directory/read-json.ts";
import { namedRuns } from "./rebuild.ts";

/**
 * Which runs of a project are named by pi sessions that are open or were used lately. What was read of a session file is
 * remembered beside the runs, so that a file is read once per change, and so that another project's start knows of it.
 */
export interface SessionFiles {
	/** Where pi keeps the sessions of this project. */
	readonly directory: string | undefined;
	/** The file of the session that is open here; undefined for one that is not saved. */
	readonly open: string | undefined;
}

const REMEMBERED = ".sessions";
/** A directory with more is not one that pi made for a project. */
const MAX_FILES = 2_000;
const OPEN = "open-";

interface ReadFile {
	readonly path: string;
	readonly mtimeMs: number;
	readonly size: number;
	readonly runIds: readonly string[];
}

/** Run ids that must not be deleted. `since`: session files that were not changed after it count only while they are open. */
export async function runsInSessions(
	runs: string,
	{ directory, open }: Partial<SessionFiles>,
	since: number,
): Promise<ReadonlySet<string>> {
	if (!(await lstat(runs).catch(() => undefined))?.isDirectory()) return new Set();
	const remembered = join(runs, REMEMBERED);
	await mkdir(remembered, { recursive: true, mode: 0o700 });
	if (open !== undefined) await writeFile(join(remembered, `${OPEN}${process.pid}`), ownMark(open), { mode: 0o600 });
	const names = await readdir(remembered).catch(() => []);
	const opened = await openFiles(remembered, names);
	const known = await rememberedFiles(remembered, names);
	const paths = new Set([...opened, ...known.keys(), ...(await sessionsIn(directory))]);
	const named: string[] = [];
	for (const path of paths) {
		const found = await stat(path).catch(() => undefined);
		const counts = found && (opened.has(path) || found.mtimeMs >= since);
		if (counts) named.push(...(await runIdsOf(path, found, known, remembered)));
		else await rm(placeOf(remembered, path), { force: true });
	}
	await rmdir(remembered).catch(() => {}); // unless there is something in it
	return new Set(named);
}

/** The session that is open in this process is not any more. */
export const closeSession = async (runs: string): Promise<void> =>
	await rm(join(runs, REMEMBERED, `${OPEN}${process.pid}`), { force: true }).catch(() => {});

const ownMark = (path: string) => JSON.stringify({ process: identityOf(process.pid), path });
const placeOf = (remembered: string, path: string) =>
	join(remembered, `${createHash("sha256").update(path).digest("hex").slice(0, 16)}.json`);

/** Sessions that are open in processes that live. */
async function openFiles(remembered: string, names: readonly string[]): Promise<ReadonlySet<string>> {
	const open = new Set<string>();
	for (const name of names.filter((each) => each.startsWith(OPEN))) {
		const mark = await readJson<{ process?: string; path?: string }>(join(remembered, name));
		const pid = Number.parseInt(name.slice(OPEN.length), 10);
		if (mark?.path !== undefined && mark.process === identityOf(pid)) open.add(mark.path);
		else await rm(join(remembered, name), { force: true });
	}
	return open;
}

async function rememberedFiles(remembered: string, names: readonly string[]): Promise<ReadonlyMap<string, ReadFile>> {
	const files = new Map<string, ReadFile>();
	for (const name of names.filter((each) => each.endsWith(".json"))) {
		const file = await readJson<Partial<ReadFile>>(join(remembered, name));
		if (typeof file?.path === "string" && Array.isArray(file.runIds)) files.set(file.path, file as ReadFile);
	}
	return files;
}

async function sessionsIn(directory: string | undefined): Promise<readonly string[]> {
	if (!directory) return [];
	const names = (await readdir(directory).catch(() => [])).filter((name) => name.endsWith(".jsonl"));
	return names.length > MAX_FILES ? [] : names.map((name) => join(directory, name));
}

async function runIdsOf(
	path: string,
	{ mtimeMs, size }: { readonly mtimeMs: number; readonly size: number },
	known: ReadonlyMap<string, ReadFile>,
	remembered: string,
): Promise<readonly string[]> {
	const before = known.get(path);
	if (before?.mtimeMs === mtimeMs && before.size === size) return before.runIds;
	const runIds = await readRunIds(path);
	const place = placeOf(remembered, path);
	const temporary = `${place}.${process.pid}`;
	try {
		await writeFile(temporary, JSON.stringify({ path, mtimeMs, size, runIds } satisfies ReadFile), { mode: 0o600 });
		await rename(temporary, place);
	} catch {
		// it is read again the next time
	}
	return runIds;
}

/** Only lines that mention this package are parsed. */
async function readRunIds(path: string): Promise<readonly string[]> {
	const entries: SessionEntry[] = [];
	const lines = createLineSplitter((line) => {
		if (!line.includes("pi-subagents")) return;
		try {
			entries.push(JSON.parse(line.toString("utf8")) as SessionEntry);
		} catch {
			// half a line of a pi that is just writing it
		}
	});
	for await (const chunk of createReadStream(path)) lines.write(chunk as Buffer);
	lines.end();
	return [...namedRuns(entries)];
}
