import { closeSync, lstatSync, realpathSync } from "node:fs";
import { isAbsolute, join, relative } from "node:path";
import type { Usage } from "@earendil-works/pi-ai";
import { CLOCK_LAG_MS, candidatesFor, namesOf, type RunTimes } from "../../domain/attribution.ts";
import type { Changes } from "../../domain/changes.ts";
import { claimedFiles } from "../../domain/claims.ts";
import type { RunEvent } from "../../domain/event.ts";
import {
	makeReceipt,
	NO_WORK,
	type ReceiptFile,
	type RunReceipt,
	type Scan,
	seeWork,
	type Work,
} from "../../domain/receipt.ts";
import type { Outcome, RunResult } from "../../domain/run-result.ts";
import type { ReceiptSource, RunSpec } from "../../domain/spec.ts";
import type { RunState } from "../../domain/state.ts";
import { createPrivate } from "../../files/private.ts";
import { FILES } from "../../run-directory/names.ts";
import type { ChildPacket } from "../protocol.ts";
import { readCallTimes } from "./call-times.ts";
import { realPlace } from "./real-place.ts";
import { type Before, type Looked, lookAfter, lookBefore, placeOf } from "./scan.ts";
import { readSiblings } from "./siblings.ts";

/** A receipt costs a run no more time than this. */
const MAX_LOOK_MS = 2_000;
/** The same for a run that was stopped: somebody waits for its end. */
const MAX_STOPPED_LOOK_MS = 500;
const MAX_FILES = 2_000;

/** How a run ended, as far as its receipt depends on it. */
interface End {
	readonly usage: Usage;
	/** Its answer; empty where it gave none. */
	readonly answer: string;
	readonly wasStopped: boolean;
	/** Something that it had started was still running. */
	readonly hadLeftovers: boolean;
}

/** Sees what a run does to files. The child notes the times of its calls in `directory`. */
export function createReceipt(spec: RunSpec, directory: string, onLooked: () => void) {
	const kind = kindOf(spec);
	const file = join(directory, FILES.callTimes);
	let work = NO_WORK;
	let since = 0;
	let before: Promise<Before> = Promise.resolve({ kind: "unknown", why: "nobody looked before the run" });
	let hasLooked = kind !== "scan";
	let early: Promise<Looked> | undefined;
	const look = async (limitMs: number) => await lookAfter(await before, since, limitMs);
	const found = async ({ wasStopped, hadLeftovers }: End): Promise<Looked> => {
		if (early && !hadLeftovers) return await early;
		return await look(wasStopped ? MAX_STOPPED_LOOK_MS : MAX_LOOK_MS);
	};
	return {
		/** To be called once, before the child has its task. */
		begin(at: number): void {
			since = at;
			if (kind !== "calls" && kind !== "scan") return;
			createFile(file);
			if (kind !== "scan") return;
			before = lookBefore(spec.cwd, MAX_LOOK_MS).catch((error: unknown) => ({ kind: "unknown", why: String(error) }));
			void before.then(() => {
				hasLooked = true;
				onLooked();
			});
		},
		/** Where the child writes the times of its calls, and whether it has to wait before its first command. */
		forChild: (): ChildPacket["callTimes"] =>
			kind === "calls" || kind === "scan" ? { file, looked: hasLooked } : undefined,
		/** Once a run has settled nothing of it should change files any more: there is time to look while it exits. */
		observe(event: RunEvent): void {
			if (kind === "off") return;
			work = seeWork(work, event);
			if (event.type === "working") early = undefined;
			if (event.type === "settled" && kind === "scan" && work.commandCalls > 0) early = look(MAX_LOOK_MS);
		},
		/** Empty where there is none. */
		async end(
			state: RunState,
			outcome: Outcome,
			leftovers: RunResult["leftovers"],
			changes: Changes | undefined,
		): Promise<Pick<RunResult, "receipt">> {
			if (kind === "off" || since === 0) return {};
			const end: End = {
				usage: state.usage,
				answer: outcome.kind === "completed" ? outcome.text : "",
				wasStopped: state.stopCause !== undefined,
				hadLeftovers: leftovers.length > 0,
			};
			if (kind === "layer") {
				const { files, scan } = filesInLayer(changes, spec.cwd);
				return { receipt: finish(spec, work, files, scan, since, end) };
			}
			const written = writtenFiles(work, spec.cwd, since);
			if (kind === "read-only" || work.commandCalls === 0) {
				const scan: Scan = { kind: kind === "read-only" && written.length === 0 ? "read-only" : "calls" };
				return { receipt: finish(spec, work, written, scan, since, end) };
			}
			const looked = await found(end);
			const own = { runId: spec.runId, label: spec.label, calls: readCallTimes(file) };
			const byCommands = attributed(looked, own, directory, since);
			const files = [...written, ...byCommands.filter(({ place }) => !written.some((each) => each.place === place))];
			return { receipt: finish(spec, work, files, scanOf(looked, own, work, files.length), since, end) };
		},
	};
}

export type Receipt = ReturnType<typeof createReceipt>;

/** A run with a tree of its own changes nothing in the directory: its layer tells what it did. */
const kindOf = ({ receipt = "off", isolation }: RunSpec): ReceiptSource | "layer" =>
	isolation === "worktree" && (receipt === "calls" || receipt === "scan") ? "layer" : receipt;

const CHANGES = { added: "added", modified: "changed", deleted: "removed" } as const;

function filesInLayer(
	changes: Changes | undefined,
	cwd: string,
): { readonly files: PlacedFile[]; readonly scan: Scan } {
	if (!changes) return { files: [], scan: { kind: "incomplete", why: "its changes could not be read" } };
	const { root } = placeOf(cwd);
	const files = changes.files.map(({ path, status, added, removed }): PlacedFile => {
		const place = join(root, path);
		const lines = added === undefined || removed === undefined ? {} : { added, removed };
		return { path, place, change: CHANGES[status], ...lines, how: "layer" };
	});
	const isWhole = changes.count === files.length && changes.leftOut.length === 0;
	return {
		files,
		scan: isWhole ? { kind: "complete" } : { kind: "incomplete", why: "not all of its changes are listed" },
	};
}

/** A file of the receipt, and where it really is. */
type PlacedFile = ReceiptFile & { readonly place: string };

function createFile(file: string): void {
	try {
		closeSync(createPrivate(file));
	} catch {
		// The child cannot note anything then, and its calls are found missing.
	}
}

function writtenFiles({ writes }: Work, cwd: string, since: number): PlacedFile[] {
	const files = new Map<string, PlacedFile>();
	for (const [path, { added, removed }] of writes) {
		const place = realPlace(path, cwd);
		const stat = lstatSync(place, { throwIfNoEntry: false });
		const change = !stat ? "removed" : stat.birthtimeMs >= since - CLOCK_LAG_MS ? "added" : "changed";
		const before = files.get(place);
		const lines = { added: added + (before?.added ?? 0), removed: removed + (before?.removed ?? 0) };
		files.set(place, { path: place, place, change, ...lines, how: "tool" });
	}
	return [...files.values()];
}

function attributed({ sightings }: Looked, own: RunTimes, directory: string, since: number): PlacedFile[] {
	if (sightings.length === 0) return [];
	const others = readSiblings(directory, since);
	return sightings.flatMap((sighting): PlacedFile[] => {
		const { path, change } = sighting;
		const candidates = candidatesFor(sighting, own, others, since);
		if (candidates.length === 0) return [];
		const by = candidates.length > 1 ? { by: namesOf(candidates) } : {};
		return [{ path, place: path, change, how: "command", ...by }];
	});
}

function scanOf({ missing }: Looked, { calls }: RunTimes, work: Work, count: number): Scan {
	const timed = calls.filter(({ path }) => path === undefined).length;
	if (timed < work.commandsRun) return { kind: "incomplete", why: "not all of its calls were timed" };
	if (missing !== undefined) return { kind: "incomplete", why: missing };
	return count > MAX_FILES ? { kind: "incomplete", why: `more than ${MAX_FILES} files` } : { kind: "complete" };
}

function finish(
	{ cwd }: RunSpec,
	work: Work,
	placed: readonly PlacedFile[],
	scan: Scan,
	since: number,
	{ answer, usage }: End,
): RunReceipt {
	const root = realRoot(cwd);
	const files = placed.slice(0, MAX_FILES).map(({ place, ...file }) => ({ ...file, path: shownPath(place, root) }));
	const isShown = (claim: string) => {
		const name = claim.replace(/^(?:\.\/)+/, "");
		const isNamed = ({ place, change }: PlacedFile) =>
			change !== "removed" && (place === name || place.endsWith(`/${name}`));
		// Where the list is not whole, a bare name says too little.
		if (placed.some(isNamed) || (scan.kind === "incomplete" && !name.includes("/"))) return true;
		return (lstatSync(realPlace(claim, cwd), { throwIfNoEntry: false })?.ctimeMs ?? 0) >= since - CLOCK_LAG_MS;
	};
	const unseen = claimedFiles(answer).filter((claim) => !isShown(claim));
	return makeReceipt(work, { files, scan, unseen }, usage);
}

function realRoot(cwd: string): string {
	try {
		return realpathSync(cwd);
	} catch {
		return cwd;
	}
}

function shownPath(place: string, root: string): string {
	const within = relative(root, place);
	return within === "" || within.startsWith("..") || isAbsolute(within) ? place : within;
}
