import { basename, isAbsolute } from "node:path";
import type { BackgroundEnd, BackgroundRun } from "../domain/background.ts";
import { textsIn } from "../domain/record.ts";
import { addUsage, noUsage } from "../domain/usage.ts";
import { isRunId } from "../run-directory/names.ts";
import { shortened } from "./session-entries.ts";

/** Written when a background run starts. */
export const RUN_ENTRY = "pi-subagents:bg-run";
/** Written when it has ended. */
export const UPDATE_ENTRY = "pi-subagents:bg-update";
/** Written when a tool result has carried its usage. */
export const BILLED_ENTRY = "pi-subagents:bg-billed";
/** The message that tells of its end. */
export const COMPLETION_MESSAGE = "pi-subagents:bg-completed";

const MAX_TASK_CHARS = 8_000;
const MAX_TEXT_CHARS = 16_000;

export function encodeRun({ progress: _progress, ...run }: BackgroundRun): Record<string, unknown> {
	return { ...run, task: shortened(run.task, MAX_TASK_CHARS), status: "running" };
}

export function encodeUpdate(
	runId: string,
	{ kind: _kind, billing: _billing, ...end }: BackgroundEnd,
): Record<string, unknown> {
	return { runId, ...end, text: shortened(end.text, MAX_TEXT_CHARS) };
}

export const encodeBilled = (runId: string): Record<string, unknown> => ({ runId });

/** A part of pi's session, as far as it matters here. */
export interface SessionEntry {
	readonly type: string;
	readonly customType?: string;
	readonly data?: unknown;
	readonly details?: unknown;
}

/** What a session's entries tell of its background runs; `told` are those whose end it has a message about. */
export function readBackground(entries: readonly SessionEntry[]): {
	readonly runs: readonly BackgroundRun[];
	readonly told: ReadonlySet<string>;
} {
	const runs = new Map<string, BackgroundRun>();
	const told = new Set<string>();
	for (const { type, customType = "", data, details } of entries) {
		if (type === "custom") READERS.get(customType)?.(runs, data);
		if (type !== "custom_message" || customType !== COMPLETION_MESSAGE) continue;
		const { runId } = fieldsOf(details).texts;
		if (runId !== undefined) told.add(runId);
	}
	return { runs: [...runs.values()], told };
}

const READERS: ReadonlyMap<string, (runs: Map<string, BackgroundRun>, data: unknown) => void> = new Map([
	[RUN_ENTRY, addRun],
	[UPDATE_ENTRY, addUpdate],
	[BILLED_ENTRY, addBilled],
]);

function addRun(runs: Map<string, BackgroundRun>, data: unknown): void {
	const run = decodeRun(data);
	if (run && !runs.has(run.runId)) runs.set(run.runId, run);
}

function addUpdate(runs: Map<string, BackgroundRun>, data: unknown): void {
	const update = decodeUpdate(data);
	const run = update && runs.get(update.runId);
	if (update && run?.progress.kind === "running") runs.set(run.runId, { ...run, progress: update.end });
}

function addBilled(runs: Map<string, BackgroundRun>, data: unknown): void {
	const { runId } = fieldsOf(data).texts;
	const run = runId === undefined ? undefined : runs.get(runId);
	if (run?.progress.kind !== "ended") return;
	runs.set(run.runId, { ...run, progress: { ...run.progress, billing: "billed" } });
}

/** Reads an entry of a start back; anything that is not one is undefined. */
function decodeRun(data: unknown): BackgroundRun | undefined {
	const { texts, numbers, optional } = fieldsOf(data);
	const { runId, preset, task, cwd, directory, socket, owner } = texts;
	const { startedAt } = numbers;
	if (runId === undefined || !isRunId(runId) || preset === undefined || task === undefined) return undefined;
	if (cwd === undefined || socket === undefined || owner === undefined || startedAt === undefined) return undefined;
	// A run's directory is named after it: a path that is not is nobody's.
	if (directory === undefined || !isAbsolute(directory) || basename(directory) !== runId) return undefined;
	return {
		...{ runId, preset, task, cwd, directory, socket, owner, startedAt },
		presetSource: texts.presetSource === "project" ? "project" : "global",
		requestedModel: optional("requestedModel"),
		resolvedModel: optional("resolvedModel"),
		progress: { kind: "running" },
	};
}

function decodeUpdate(data: unknown): { readonly runId: string; readonly end: BackgroundEnd } | undefined {
	const { texts, numbers, optional } = fieldsOf(data);
	const { runId, status } = texts;
	if (runId === undefined || (status !== "completed" && status !== "failed" && status !== "aborted")) return undefined;
	const { usage, remarks } = data as { usage?: unknown; remarks?: unknown };
	return {
		runId,
		end: {
			kind: "ended",
			status,
			at: numbers.at ?? 0,
			exitCode: numbers.exitCode ?? null,
			stopReason: optional("stopReason"),
			errorMessage: optional("errorMessage"),
			remarks: textsIn(remarks),
			text: texts.text ?? "",
			toolCalls: numbers.toolCalls ?? 0,
			messageCount: numbers.messageCount ?? 0,
			usage: addUsage(noUsage, typeof usage === "object" && usage !== null ? usage : undefined),
			billing: "open",
		},
	};
}

/** The fields of an entry by their type; what is of another type is not there. */
function fieldsOf(data: unknown) {
	const entries = typeof data === "object" && data !== null ? Object.entries(data) : [];
	const texts: Readonly<Record<string, string | undefined>> = Object.fromEntries(
		entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"),
	);
	const numbers: Readonly<Record<string, number | undefined>> = Object.fromEntries(
		entries.filter((entry): entry is [string, number] => Number.isFinite(entry[1])),
	);
	return { texts, numbers, optional: (key: string) => texts[key] };
}
