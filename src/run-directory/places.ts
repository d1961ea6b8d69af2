import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, readlinkSync, realpathSync, symlinkSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { cut } from "../domain/messages.ts";
import { isTrusted, writePrivate } from "../files/private.ts";
import { isRunId } from "./names.ts";

/** Where the runs of a session are kept: in the person's agent directory, or inside of the project. */
export interface RunPlaces {
	/** The session's working directory. */
	readonly cwd: string;
	readonly agentDirectory: string;
	readonly runsIn: "home" | "project";
}

/** Below the project. Searches of the project do not follow a link, so runs in the home are not found by them. */
export const IN_PROJECT = [".pi", "subagents", "runs"] as const;
/** Below the agent directory. */
export const IN_AGENT = ["subagents", "runs"] as const;

/** A file name has at most 255 bytes, a UTF-16 unit at most three. */
const MAX_BASE_NAME_CHARS = 80;

/** All runs in the person's agent directory: one directory per project. */
export const homeRuns = (agentDirectory: string): string => join(resolve(agentDirectory), ...IN_AGENT);

/** The name of a project's directory there. Two projects of the same name differ in their paths. */
export function projectName(cwd: string): string {
	const real = realPath(cwd);
	const hash = createHash("sha256").update(real).digest("hex").slice(0, 8);
	return `${cut(basename(real), MAX_BASE_NAME_CHARS)}-${hash}`;
}

/** Where a project's runs are in the person's agent directory. */
export const homeRunsOf = ({ cwd, agentDirectory }: Omit<RunPlaces, "runsIn">): string =>
	join(homeRuns(agentDirectory), projectName(cwd));

/** Where a project's runs are inside of the project. */
export const projectRunsOf = (cwd: string): string => join(realPath(cwd), ...IN_PROJECT);

function realPath(path: string): string {
	try {
		return realpathSync(path);
	} catch {
		return resolve(path);
	}
}

/** Whether a path is such as we give to run directories, be it in another home or by an earlier version. */
export function isRunPath(directory: string, runId: string): boolean {
	const above = dirname(directory);
	const runs = basename(above) === "runs" ? above : dirname(above);
	return (
		isRunId(runId) &&
		basename(directory) === runId &&
		basename(runs) === "runs" &&
		basename(dirname(runs)) === "subagents" &&
		!isLink(above)
	);
}

/** Whether only this user can have written to a run's directory, and no link leads to it. */
export const isReadable = (directory: string): boolean => !isLink(dirname(directory)) && isTrusted(directory);

/**
 * Where a run is that was kept at this path: there, or where it got to when its project was renamed or its runs were moved
 * to the home. Undefined where it is in none of these places.
 */
export function locateRun(directory: string, places: Omit<RunPlaces, "runsIn">): string | undefined {
	const isThere = (path: string) => !isLink(dirname(path)) && isDirectory(path);
	if (isThere(directory)) return directory; // nearly always, and the others cost more to find
	const { agentDirectory } = places;
	const project = dirname(dirname(dirname(dirname(directory)))); // of a run that is kept inside of its project
	return [projectRunsOf(places.cwd), homeRunsOf(places), homeRunsOf({ cwd: project, agentDirectory })]
		.map((runs) => join(runs, basename(directory)))
		.find(isThere);
}

export const isLink = (path: string): boolean => linkTarget(path) !== undefined;

function isDirectory(path: string): boolean {
	try {
		return lstatSync(path).isDirectory();
	} catch {
		return false;
	}
}

/**
 * Makes `<cwd>/.pi/subagents/runs` a link to the project's runs in the home, so that the documented path works for people
 * and scripts. Best effort, and whatever is there already stays as it is: this package itself never goes through the link.
 */
export function linkRuns(places: RunPlaces): void {
	if (process.platform === "win32") return;
	const target = homeRunsOf(places);
	const link = projectRunsOf(places.cwd);
	try {
		if (linkTarget(link) !== undefined) return;
		const subagents = dirname(link);
		for (const directory of [dirname(subagents), subagents]) if (!isOwnDirectory(directory)) return;
		symlinkSync(target, link);
		writePrivate(join(subagents, ".gitignore"), "/runs\n/.gitignore\n");
	} catch {
		// the project cannot be written, or has a .gitignore or a runs directory of its own
	}
}

/** Makes it where it is missing. */
function isOwnDirectory(path: string): boolean {
	if (!lstatSync(path, { throwIfNoEntry: false })) mkdirSync(path);
	const stat = lstatSync(path);
	return stat.isDirectory() && stat.uid === process.getuid?.();
}

function linkTarget(link: string): string | undefined {
	try {
		return readlinkSync(link);
	} catch {
		return undefined;
	}
}

/** A run's directory as a person is shown it: the documented path, where that leads to it. */
export function shownDirectory(directory: string, cwd: string): string {
	const link = projectRunsOf(cwd);
	return linkTarget(link) === dirname(directory) ? join(link, basename(directory)) : directory;
}
