import { cp, readdir, rename, rm, rmdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { presenceOf } from "../child/presence.ts";
import { isTrusted } from "../files/private.ts";
import { makeHomeRuns } from "./create.ts";
import { isRunId } from "./names.ts";
import { isLink, linkRuns, projectRunsOf, type RunPlaces } from "./places.ts";
import { readSpec } from "./read.ts";
import { readResult } from "./result.ts";

/** The runs that an earlier version, or `runsIn: "project"`, has left inside of a project whose runs belong in the home. */
export async function strayRuns({ cwd, runsIn }: RunPlaces): Promise<readonly string[]> {
	const runs = projectRunsOf(cwd);
	if (runsIn === "project" || isLink(runs) || !isTrusted(runs)) return [];
	const names = (await readdir(runs).catch(() => [])).filter(isRunId);
	return names.map((name) => join(runs, name)).filter(isTrusted);
}

/** Moves them to the home and puts the link in their place. Returns how many; a run that is not over stays where it is. */
export async function moveRuns(places: RunPlaces): Promise<number> {
	let moved = 0;
	for (const directory of await strayRuns(places))
		if ((await isOver(directory)) && (await move(directory, places))) moved++;
	const runs = projectRunsOf(places.cwd);
	const rest = await readdir(runs).catch(() => []);
	if (rest.every((name) => name.startsWith("."))) {
		for (const name of rest) await rm(join(runs, name), { recursive: true, force: true }).catch(() => {});
		await rmdir(runs).catch(() => {});
		linkRuns(places);
	}
	return moved;
}

async function isOver(directory: string): Promise<boolean> {
	if (await readResult(directory)) return true;
	const socket = (await readSpec(directory))?.socket;
	return socket === undefined || (await presenceOf(basename(directory), socket)) === "absent";
}

async function move(directory: string, places: RunPlaces): Promise<boolean> {
	const target = join(makeHomeRuns(places), basename(directory));
	try {
		await rename(directory, target);
	} catch (error) {
		// The home is on another disk.
		if ((error as NodeJS.ErrnoException).code !== "EXDEV") return false;
		await cp(directory, target, { recursive: true, errorOnExist: true, force: false, verbatimSymlinks: true });
		await rm(directory, { recursive: true });
	}
	return true;
}
