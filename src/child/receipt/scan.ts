import { lstatSync, realpathSync, type Stats } from "node:fs";
import { dirname, join } from "node:path";
import { CLOCK_LAG_MS, type Sighting } from "../../domain/attribution.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import { type Checkout, createGit, findCheckout, type GitStatus, TOO_SLOW } from "./git.ts";
import { MAX_ENTRIES, walk } from "./walk.ts";

/** What a directory was like before a run. */
export type Before =
	| { readonly kind: "git"; readonly checkout: Checkout; readonly status: GitStatus }
	| { readonly kind: "walk"; readonly root: string; readonly files: ReadonlySet<string> }
	/** It is too large, or cannot be read. */
	| { readonly kind: "unknown"; readonly why: string };

/** To be asked before the run can change anything. Executes nothing that a repository names, and writes nothing. */
export async function lookBefore(cwd: string, limitMs: number): Promise<Before> {
	const deadline = Date.now() + limitMs;
	const place = placeOf(cwd);
	if (place.checkout) {
		const git = createGit(place.checkout, deadline);
		const filters = await git.filters();
		const status = filters.ok ? await git.status(filters.value) : filters;
		if (status.ok) return { kind: "git", checkout: place.checkout, status: status.value };
		if (status.error === TOO_SLOW) return { kind: "unknown", why: TOO_SLOW };
	}
	const walked = await walk(place.root, undefined, deadline);
	return walked.ok
		? { kind: "walk", root: place.root, files: walked.value.files }
		: { kind: "unknown", why: walked.error };
}

/** The checkout is searched from the top: a command can change all of it. */
export function placeOf(cwd: string): { readonly root: string; readonly checkout: Checkout | undefined } {
	try {
		const real = realpathSync(cwd);
		const checkout = findCheckout(real);
		return { root: checkout?.root ?? real, checkout };
	} catch {
		return { root: cwd, checkout: undefined };
	}
}

/** The files that have changed, by this run or another, and why the list may be incomplete. */
export interface Looked {
	readonly sightings: readonly Sighting[];
	readonly missing: string | undefined;
}

const nothing = (missing: string): Looked => ({ sightings: [], missing });

/** What has changed since `since`. */
export async function lookAfter(before: Before, since: number, limitMs: number): Promise<Looked> {
	const deadline = Date.now() + limitMs;
	if (before.kind === "unknown") return nothing(before.why);
	if (before.kind === "walk") return await lookByWalking(before.root, before.files, since, deadline);
	const looked = await lookByGit(before, since, deadline);
	if (looked.ok) return { sightings: looked.value, missing: undefined };
	if (looked.error === TOO_SLOW) return nothing(TOO_SLOW);
	// The run has changed what git needs. What was there before is not known; what has changed since is.
	const { sightings } = await lookByWalking(before.checkout.root, undefined, since, deadline);
	return { sightings, missing: looked.error };
}

async function lookByGit(
	{ checkout, status: before }: Extract<Before, { kind: "git" }>,
	since: number,
	deadline: number,
): Promise<Result<readonly Sighting[]>> {
	const git = createGit(checkout, deadline);
	const filters = await git.filters();
	if (!filters.ok) return filters;
	const after = await git.status(filters.value);
	if (!after.ok) return after;
	const committed = await git.diff(filters.value, before.head, after.value.head);
	if (!committed.ok) return committed;
	const paths = new Set([before.entries, after.value.entries, committed.value].flatMap((each) => [...each.keys()]));
	if (paths.size > MAX_ENTRIES) return err(`more than ${MAX_ENTRIES} files differ from the last commit`);
	const see = createSight(checkout.root, since);
	return ok(
		[...paths].flatMap((path) => {
			const first = before.entries.get(path);
			const now = after.value.entries.get(path) ?? committed.value.get(path);
			return see(join(checkout.root, path), first ? first !== "missing" : now !== "new");
		}),
	);
}

async function lookByWalking(
	root: string,
	before: ReadonlySet<string> | undefined,
	since: number,
	deadline: number,
): Promise<Looked> {
	const walked = await walk(root, since - CLOCK_LAG_MS, deadline);
	if (!walked.ok) return nothing(walked.error);
	const { files, changed } = walked.value;
	const come = before ? [...files].filter((path) => !before.has(path)) : [];
	const gone = before ? [...before].filter((path) => !files.has(path)) : [];
	const see = createSight(root, since);
	const paths = new Set([...changed.keys(), ...come, ...gone]);
	return { sightings: [...paths].flatMap((path) => see(path, before?.has(path) ?? true)), missing: undefined };
}

/** Whether, and when, a file has changed. */
function createSight(root: string, since: number) {
	const directories = new Map<string, Stats | undefined>();
	const directory = (path: string) => {
		if (!directories.has(path)) directories.set(path, lstatSync(path, { throwIfNoEntry: false }));
		return directories.get(path);
	};
	/** Of the directories that a file lies in, the newest change: one of them may have been moved as a whole. */
	const newestAbove = (path: string): number => {
		let newest = 0;
		for (let above = dirname(path); above.length > root.length; above = dirname(above))
			newest = Math.max(newest, directory(above)?.ctimeMs ?? 0);
		return newest;
	};
	/** A file that is gone was there until its directory changed for the last time, at the latest. */
	const goneUntil = (path: string): number => {
		const parent = directory(dirname(path));
		if (parent) return parent.mtimeMs;
		return dirname(path).length > root.length ? goneUntil(dirname(path)) : Number.POSITIVE_INFINITY;
	};
	return (path: string, wasThere: boolean): Sighting[] => {
		const stat = lstatSync(path, { throwIfNoEntry: false });
		if (!stat) return wasThere ? [{ path, change: "removed", when: { kind: "until", time: goneUntil(path) } }] : [];
		const change = wasThere ? "changed" : "added";
		if (stat.ctimeMs >= since - CLOCK_LAG_MS) return [{ path, change, when: { kind: "at", time: stat.ctimeMs } }];
		const moved = wasThere ? 0 : newestAbove(path);
		return moved >= since - CLOCK_LAG_MS ? [{ path, change, when: { kind: "until", time: moved } }] : [];
	};
}
