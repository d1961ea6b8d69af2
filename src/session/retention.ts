import { lstat, readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { isRunId, startOfRun } from "../domain/run-files.ts";
import { isAlive } from "../run/alive.ts";
import { readResult, readSpec } from "../run/follow.ts";

export interface RetentionRules {
	readonly maxAgeMs: number;
	readonly maxRuns: number;
	/** Runs that the session names: they are never removed. */
	readonly named: ReadonlySet<string>;
	readonly now: number;
}

/** So that the first start after a long time does not delete for minutes; the next start goes on. */
const MAX_REMOVED = 500;
const DAY_MS = 24 * 60 * 60 * 1_000;

/** Removes old finished runs of one runs directory, oldest first. Returns how many; what cannot be removed stays. */
export async function pruneRuns(runs: string, rules: RetentionRules): Promise<number> {
	const names = (await readdir(runs).catch(() => [])).filter(isRunId).sort();
	const excess = names.length - rules.maxRuns;
	const candidates = names.filter(
		(name, index) => (index < excess || rules.now - startOfRun(name) > rules.maxAgeMs) && !rules.named.has(name),
	);
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
		await rm(path, { recursive: true });
		return true;
	} catch {
		return false;
	}
}

async function isRunning(path: string): Promise<boolean> {
	const socket = (await readSpec(path))?.socket;
	return typeof socket === "string" && (await isAlive(basename(path), socket));
}
