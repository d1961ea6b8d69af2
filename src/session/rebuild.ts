import { endOf, type KeptRun, type RunEnd, wasInterrupted } from "../domain/kept-run.ts";
import { noUsage } from "../domain/usage.ts";
import { NOTHING_SAID, saidOf } from "../present/remarks.ts";
import { sanitizeLine } from "../present/sanitize.ts";
import type { RunStore } from "../records/run-store.ts";
import { runsWith } from "../records/run-store.ts";
import { ENTRY_TYPE, RUN_ENTRY, readRuns, type SessionEntry } from "../records/session-entries.ts";
import { isReadable, locateRun, type RunPlaces } from "../run-directory/places.ts";
import { readResult } from "../run-directory/result.ts";

/** A pi session, as far as its runs are to be found in it. */
export interface RunSession {
	/** Of the current branch. */
	entries(): readonly SessionEntry[];
	/** Where its runs may have got to. */
	readonly places: Omit<RunPlaces, "runsIn">;
}

/** Fills the store with the foreground runs that the entries tell of. */
export async function rebuildForeground(store: RunStore, session: RunSession): Promise<void> {
	store.clear("foreground");
	for (const run of await foregroundRuns(session)) {
		// One that has moved to the background is there on every branch.
		if (store.get(run.runId)?.lifetime.kind !== "background") store.put(run);
	}
}

/**
 * The runs that an id stands for. The store has the newest ones; what it has forgotten is in the session's entries, which
 * name every id that a status line has shown.
 */
export async function findRuns(id: string, store: RunStore, session: RunSession): Promise<readonly KeptRun[]> {
	const known = store.find(id);
	const named = runsWith(id, await foregroundRuns(session, id));
	const runs = new Map([...named, ...known].map((run) => [run.runId, run]));
	return runsWith(id, [...runs.values()]);
}

async function foregroundRuns({ entries, places }: RunSession, id?: string): Promise<readonly KeptRun[]> {
	const runs = readRuns(entries()).runs.filter(
		({ lifetime, sessionId, runId }) =>
			lifetime.kind === "foreground" && (id === undefined || sessionId === id || runId === id),
	);
	return await Promise.all(runs.map((run) => believed(run, places)));
}

/** What an entry tells of a run is believed, but not that its directory may be read wherever it says. */
async function believed(run: KeptRun, places: RunSession["places"]): Promise<KeptRun> {
	const directory = run.directory && (locateRun(run.directory, places) ?? run.directory);
	const placed = { ...run, directory, distrusted: directory !== undefined && !isReadable(directory) };
	return run.progress.kind === "running" ? { ...placed, progress: await endOfInterrupted(placed) } : placed;
}

/** The message that tells of runs that broke off with the session. */
export const INTERRUPTED_MESSAGE = "pi-subagents:interrupted";

/** What is to be told of runs that broke off, if the session has no message about them yet. */
export function interruptedNotice(
	store: RunStore,
	entries: readonly SessionEntry[],
): { readonly text: string; readonly details: { readonly runIds: readonly string[] } } | undefined {
	const told = new Set(
		entries.flatMap(({ type, customType, details }) => {
			if (type !== "custom_message" || customType !== INTERRUPTED_MESSAGE) return [];
			const { runIds } = (details ?? {}) as { runIds?: unknown };
			return Array.isArray(runIds) ? (runIds as unknown[]) : [];
		}),
	);
	const broken = store.runs.filter((run) => wasInterrupted(run) && !told.has(run.runId));
	if (broken.length === 0) return undefined;
	const names = broken
		.toSorted((a, b) => a.startedAt - b.startedAt)
		.map(({ label, sessionId }) => `${sanitizeLine(label)} (session: ${sessionId})`)
		.join(", ");
	return {
		text: `Sub-agents that were interrupted when pi ended: ${names}. get_subagent_output tells what they had written, and they can be resumed.`,
		details: { runIds: broken.map(({ runId }) => runId) },
	};
}

/** Runs that broke off with a session, and where they are. */
export const interruptedRuns = (store: RunStore): { readonly runId: string; readonly directory: string }[] =>
	store.runs.flatMap((run) =>
		run.directory !== undefined && !run.distrusted && wasInterrupted(run)
			? [{ runId: run.runId, directory: run.directory }]
			: [],
	);

/** Every run that a session has an entry of, on whichever branch. */
export function namedRuns(entries: readonly SessionEntry[]): ReadonlySet<string> {
	return new Set(
		entries.flatMap(({ type, customType, data }) => {
			if (type !== "custom" || (customType !== ENTRY_TYPE && customType !== RUN_ENTRY)) return [];
			const { runId } = (data ?? {}) as { runId?: unknown };
			return typeof runId === "string" ? [runId] : [];
		}),
	);
}

/** How many runs the entries tell the start of. One that has moved to the background has several. */
export function startedRuns(entries: readonly SessionEntry[]): number {
	const starts = entries.filter(({ type, customType, data }) => {
		if (type !== "custom") return false;
		if (customType === RUN_ENTRY) return true;
		return customType === ENTRY_TYPE && (data as { status?: unknown } | undefined)?.status === "running";
	});
	return new Set(starts.map((entry) => (entry.data as { runId?: unknown } | undefined)?.runId ?? entry)).size;
}

/** The end of a run that the session never saw, because its pi died first. It was interrupted, unless it had just completed. */
async function endOfInterrupted({ directory, distrusted, startedAt }: KeptRun): Promise<RunEnd> {
	const result = directory === undefined || distrusted ? undefined : await readResult(directory);
	if (result?.outcome.kind === "completed") return endOf(result, saidOf(result), "billed");
	const outcome: RunEnd["outcome"] = { kind: "failed", failure: { kind: "interrupted" } };
	if (result) return { ...endOf(result, saidOf(result), "billed"), outcome };
	return {
		...{ kind: "ended", outcome, at: startedAt, exitCode: null, model: undefined, stopReason: undefined, text: "" },
		...NOTHING_SAID,
		...{ toolCalls: 0, messages: [], messageCount: 0, usage: noUsage, billing: "billed" },
	};
}
