import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { join, sep } from "node:path";
import { setImmediate as breathe } from "node:timers/promises";
import { err, ok, type Result } from "../../domain/result.ts";

/** More than a receipt is worth. */
export const MAX_ENTRIES = 20_000;
/** Between two moments in which the supervisor can do something else. */
const AT_A_TIME = 500;
/** Repositories' own files, and what package managers put down: nobody reads a list of those. */
const SKIPPED: readonly string[] = [".git", "node_modules"];
/** Where runs may be kept. */
const RUNS = join(".pi", "subagents");

export interface Walked {
	/** Absolute paths of all files. */
	readonly files: ReadonlySet<string>;
	/** Files whose inode has changed since, and when. */
	readonly changed: ReadonlyMap<string, number>;
}

/** All files below a directory; with `since`, also which have changed. No link is followed. */
export async function walk(root: string, since: number | undefined, deadline: number): Promise<Result<Walked>> {
	const files = new Set<string>();
	const changed = new Map<string, number>();
	let entries = 0;
	for (const path of filesBelow(root)) {
		const problem = whyStop(++entries, files.size, deadline);
		if (problem !== undefined) return err(problem);
		if (entries % AT_A_TIME === 0) await breathe();
		if (path === undefined) continue;
		files.add(path);
		const at = since === undefined ? 0 : (lstatSync(path, { throwIfNoEntry: false })?.ctimeMs ?? 0);
		if (since !== undefined && at >= since) changed.set(path, at);
	}
	return ok({ files, changed });
}

function whyStop(entries: number, files: number, deadline: number): string | undefined {
	// So many files, and as many directories.
	if (entries > 2 * MAX_ENTRIES || files > MAX_ENTRIES) return `there are more than ${MAX_ENTRIES} files`;
	return Date.now() > deadline ? "looking through the directory took too long" : undefined;
}

/** Undefined for each directory: it counts too. */
function* filesBelow(root: string): Generator<string | undefined> {
	const waiting = [root];
	for (let directory = waiting.pop(); directory !== undefined; directory = waiting.pop()) {
		const above = directory.endsWith(sep) ? directory : directory + sep;
		for (const entry of entriesOf(directory)) {
			const path = above + entry.name; // `join` took a third of the time
			if (!entry.isDirectory()) yield path;
			else if (!SKIPPED.includes(entry.name) && !path.endsWith(sep + RUNS)) waiting.push(path);
		}
		yield undefined;
	}
}

/** One that cannot be read has none: neither can the child have changed what is in it. */
function entriesOf(directory: string): readonly Dirent[] {
	try {
		return readdirSync(directory, { withFileTypes: true });
	} catch {
		return [];
	}
}
