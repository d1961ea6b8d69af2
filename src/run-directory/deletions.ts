import { appendFile, lstat, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** That a run's directory is gone; `at` is when this package deleted it, undefined where somebody else did. */
export interface Deletion {
	readonly at: string | undefined;
}

/** Beside the runs: a line with run id and time for each that was deleted. */
const DELETIONS = ".deleted";
const MAX_BYTES = 64 * 1024;

/** Best effort: a run is deleted whether or not that can be noted. */
export async function noteDeletion(directory: string, at: number): Promise<void> {
	const path = join(dirname(directory), DELETIONS);
	try {
		await appendFile(path, `${basename(directory)} ${new Date(at).toISOString()}\n`, { mode: 0o600 });
		const { size } = await lstat(path);
		if (size <= MAX_BYTES) return;
		const lines = (await readFile(path, "utf8")).split("\n");
		await writeFile(path, lines.slice(lines.length / 2).join("\n"));
	} catch {
		// a disk that is full, or a directory that cannot be written
	}
}

/** Nobody asks for runs that were deleted before this time. */
export async function forgetDeletions(runs: string, before: number): Promise<void> {
	const path = join(runs, DELETIONS);
	const stat = await lstat(path).catch(() => undefined);
	if (stat && stat.mtimeMs < before) await rm(path).catch(() => {});
}

/** Undefined while the run's directory is there. */
export async function deletionOf(directory: string): Promise<Deletion | undefined> {
	if (await lstat(directory).catch(() => undefined)) return undefined;
	const text = await readFile(join(dirname(directory), DELETIONS), "utf8").catch(() => "");
	const line = text.split("\n").findLast((each) => each.startsWith(`${basename(directory)} `));
	return { at: line?.split(" ")[1] };
}
