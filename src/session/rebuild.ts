import { INTERRUPTED, type RunProgress, type RunRecord } from "../domain/record.ts";
import { noUsage } from "../domain/usage.ts";
import { remarksOn } from "../present/remarks.ts";
import { sanitizeLine } from "../present/sanitize.ts";
import { exitCodeOf } from "../present/text.ts";
import { RUN_ENTRY, type SessionEntry } from "../records/background-entries.ts";
import { decodeRecord, ENTRY_TYPE } from "../records/session-entries.ts";
import type { SessionStore } from "../records/session-store.ts";
import { readResult } from "../run/follow.ts";

/** Fills the store with what the entries tell; what is not an entry of ours, or not a whole one, is passed over. */
export async function rebuildStore(store: SessionStore, entries: readonly SessionEntry[]): Promise<void> {
	store.clear();
	for (const entry of entries) {
		if (entry.type !== "custom" || entry.customType !== ENTRY_TYPE) continue;
		const record = decodeRecord(entry.data);
		if (record) store.put(record);
	}
	const unfinished = store.records.filter(({ progress }) => progress.kind === "running");
	for (const record of unfinished) store.put({ ...record, progress: await endOf(record) });
}

/** The message that tells of runs that broke off with the session. */
export const INTERRUPTED_MESSAGE = "pi-subagents:interrupted";

/** What is to be told of runs that broke off, if the session has no message about them yet. */
export function interruptedNotice(
	store: SessionStore,
	entries: readonly SessionEntry[],
): { readonly text: string; readonly details: { readonly runIds: readonly string[] } } | undefined {
	const told = new Set(
		entries.flatMap(({ type, customType, details }) => {
			if (type !== "custom_message" || customType !== INTERRUPTED_MESSAGE) return [];
			const { runIds } = (details ?? {}) as { runIds?: unknown };
			return Array.isArray(runIds) ? (runIds as unknown[]) : [];
		}),
	);
	const broken = store.records.filter(
		({ progress, runId }) => progress.kind === "ended" && progress.errorMessage === INTERRUPTED && !told.has(runId),
	);
	if (broken.length === 0) return undefined;
	const names = broken
		.toSorted((a, b) => a.startedAt - b.startedAt)
		.map(({ taskName, sessionId }) => `${sanitizeLine(taskName)} (session: ${sessionId})`)
		.join(", ");
	return {
		text: `Sub-agents that were interrupted when pi ended: ${names}. get_subagent_output tells what they had written, and they can be resumed.`,
		details: { runIds: broken.map(({ runId }) => runId) },
	};
}

/** Runs that broke off with a session, and where they are. */
export const interruptedRuns = (store: SessionStore): { readonly runId: string; readonly directory: string }[] =>
	store.records.flatMap(({ runId, directory, progress }) =>
		directory !== undefined && progress.kind === "ended" && progress.errorMessage === INTERRUPTED
			? [{ runId, directory }]
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

/** How many runs the entries tell the start of. */
export const startedRuns = (entries: readonly SessionEntry[]): number =>
	entries.filter(({ type, customType, data }) => {
		if (type !== "custom") return false;
		if (customType === RUN_ENTRY) return true;
		return customType === ENTRY_TYPE && (data as { status?: unknown } | undefined)?.status === "running";
	}).length;

/**
 * The end of a run that the session never saw: whoever started it died first. It was interrupted, unless it had just
 * completed.
 */
async function endOf({ directory, startedAt }: RunRecord): Promise<RunProgress> {
	const result = directory === undefined ? undefined : await readResult(directory);
	const answer = result?.outcome.kind === "completed" ? result.outcome : undefined;
	const completed = answer !== undefined;
	return {
		kind: "ended",
		status: completed ? "completed" : "error",
		at: result?.endedAt ?? startedAt,
		exitCode: result ? exitCodeOf(result.exit) : null,
		model: result?.model && `${result.model.provider}/${result.model.id}`,
		stopReason: result?.stopReason,
		errorMessage: completed ? undefined : INTERRUPTED,
		remarks: result ? remarksOn(result) : [],
		text: answer?.text ?? result?.text ?? "",
		messages: [],
		messageCount: result?.messageCount ?? 0,
		usage: result?.usage ?? noUsage,
	};
}
