import { lstat, readdir, rmdir, utimes } from "node:fs/promises";
import { basename, join } from "node:path";
import { presenceOf } from "../child/presence.ts";
import { removeTree } from "../files/remove-tree.ts";
import { forgetDeletions, noteDeletion } from "./deletions.ts";
import { isRunId, startOfRun } from "./names.ts";
import { homeRuns, homeRunsOf, projectName, projectRunsOf, type RunPlaces } from "./places.ts";
import { readSpec } from "./read.ts";
import { readResult } from "./result.ts";

export interface RetentionRules {
	readonly maxAgeMs: number;
	readonly maxRuns: number;
	/** Runs that a session names: they are never removed. `maxRuns` counts the others. */
	readonly named: ReadonlySet<string>;
	readonly now: number;
}

export interface ProjectRules extends Omit<RetentionRules, "named"> {
	/** Runs that sessions name, of this project or of another one. */
	named(runs: string, project: "own" | "other"): Promise<ReadonlySet<string>>;
}

/** So that the first start after a long time does not delete for minutes; the next start goes on. */
const MAX_REMOVED = 500;
const DAY_MS = 24 * 60 * 60 * 1_000;

/**
 * Removes old runs of a session's project, wherever it has some, and of one other project: nobody else removes those of a
 * project that has been deleted. Only the age counts there, since its sessions may not all be known.
 */
export async function pruneProjects(places: RunPlaces, rules: ProjectRules): Promise<void> {
	const home = homeRuns(places.agentDirectory);
	const own = [homeRunsOf(places), projectRunsOf(places.cwd)];
	const named = await Promise.all(own.map((runs) => rules.named(runs, "own")));
	const spared = new Set(named.flatMap((ids) => [...ids]));
	for (const runs of [...own, home]) await pruneRuns(runs, { ...rules, named: spared });
	const other = await longestUnseen(home, projectName(places.cwd));
	if (other === undefined) return;
	const others = { ...rules, named: await rules.named(other, "other"), maxRuns: Number.POSITIVE_INFINITY };
	await pruneRuns(other, others);
	await forgetDeletions(other, rules.now - rules.maxAgeMs);
	await rmdir(other).catch(() => utimes(other, new Date(rules.now), new Date(rules.now)).catch(() => {}));
}

/** The project directory that was changed or looked at longest ago. */
async function longestUnseen(home: string, own: string): Promise<string | undefined> {
	const names = (await readdir(home).catch(() => [])).filter((name) => name !== own && !isRunId(name));
	const seen = await Promise.all(
		names.map(async (name) => {
			const stat = await lstat(join(home, name)).catch(() => undefined);
			return stat?.isDirectory() ? [{ path: join(home, name), at: stat.mtimeMs }] : [];
		}),
	);
	return seen.flat().sort((a, b) => a.at - b.at)[0]?.path;
}

/** Removes old finished runs of one runs directory, oldest first. Returns how many; what cannot be removed stays. */
export async function pruneRuns(runs: string, rules: RetentionRules): Promise<number> {
	const isDirectory = (await lstat(runs).catch(() => undefined))?.isDirectory() ?? false; // never through a link
	const names = isDirectory ? (await readdir(runs).catch(() => [])).filter(isRunId).sort() : [];
	const others = names.filter((name) => !rules.named.has(name));
	const excess = others.length - rules.maxRuns;
	const candidates = others.filter((name, index) => index < excess || rules.now - startOfRun(name) > rules.maxAgeMs);
	let removed = 0;
	for (const name of candidates) {
		if (removed >= MAX_REMOVED) break;
		if (await removeFinished(runs, name, rules.now)) removed++;
	}
	return removed;
}

async function removeFinished(runs: string, name: string, now: number): Promise<boolean> {
	const path = join(runs, name);
	try {
		if (!(await lstat(path)).isDirectory()) return false;
		// No result: it runs, or it broke off. A run of today may be starting this very moment.
		if (!(await readResult(path)) && (now - startOfRun(name) < DAY_MS || (await isRunning(path)))) return false;
		await removeTree(path);
		await noteDeletion(path, now);
		return true;
	} catch {
		return false;
	}
}

/** Only a supervisor that is surely gone does not run any more. A run that never had a meta.json never had a task. */
async function isRunning(path: string): Promise<boolean> {
	const socket = (await readSpec(path))?.socket;
	return typeof socket === "string" && (await presenceOf(basename(path), socket)) !== "absent";
}
