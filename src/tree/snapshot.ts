import { accessSync, constants, lstatSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inOwn, openRepository, type Repository } from "./git.ts";
import { layersOf } from "./plan.ts";
import { pathsIn } from "./program.ts";

/** The state of the project that a run started from. */
export interface Snapshot {
	readonly repository: Repository;
	readonly tree: string;
	/** When all files had been read. */
	readonly takenAt: number;
}

/** Runs of ours, and what belongs to them. */
export const isOwnPath = (path: string): boolean => path === ".pi/subagents" || path.startsWith(".pi/subagents/");

const fileOf = (runDirectory: string) => join(layersOf(runDirectory), "snapshot.json");

/**
 * Writes down what the project's files are now, committed or not, as a tree of git. The objects are ours until there is a branch that
 * needs them. Undefined where there is no repository; rejects where git fails.
 */
export async function takeSnapshot(root: string, runDirectory: string): Promise<Snapshot | undefined> {
	const earlier = readSnapshot(runDirectory);
	if (earlier) return earlier;
	const repository = await openRepository(root, join(layersOf(runDirectory), "repository"));
	if (!repository) return undefined;
	const listed = async (...args: readonly string[]) =>
		pathsIn(await inOwn(repository, [...args, "-z"])).filter((path) => !isOwnPath(path));
	const dirty = await listed("diff-files", "--name-only", "--ignore-submodules=all");
	// A repository inside of this one is named with a slash.
	const untracked = (await listed("ls-files", "--others", "--exclude-standard")).filter((path) => !path.endsWith("/"));
	const input = [...dirty, ...untracked.filter((path) => canRead(join(root, path)))];
	await inOwn(repository, ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"], { input });
	const tree = (await inOwn(repository, ["write-tree", "--missing-ok"])).trim();
	const snapshot = { repository, tree, takenAt: Date.now() };
	writeFileSync(fileOf(runDirectory), JSON.stringify(snapshot), { mode: 0o600 });
	return snapshot;
}

function readSnapshot(runDirectory: string): Snapshot | undefined {
	try {
		return JSON.parse(readFileSync(fileOf(runDirectory), "utf8")) as Snapshot;
	} catch {
		return undefined;
	}
}

function canRead(path: string): boolean {
	try {
		if (!lstatSync(path).isSymbolicLink()) accessSync(path, constants.R_OK);
		return true;
	} catch {
		return false;
	}
}
