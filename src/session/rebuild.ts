import type { RunProgress, RunRecord } from "../domain/record.ts";
import { noUsage } from "../domain/usage.ts";
import { exitCodeOf } from "../present/text.ts";
import { RUN_ENTRY, type SessionEntry } from "../records/background-entries.ts";
import { decodeRecord, ENTRY_TYPE } from "../records/session-entries.ts";
import type { SessionStore } from "../records/session-store.ts";
import { readResult } from "../run/follow.ts";

const INTERRUPTED = "Session was interrupted (main agent session ended unexpectedly)";

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
		text: answer?.text ?? result?.text ?? "",
		messages: [],
		messageCount: result?.messageCount ?? 0,
		usage: result?.usage ?? noUsage,
	};
}
