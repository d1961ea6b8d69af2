import { basename, isAbsolute } from "node:path";
import type { StopReason } from "@earendil-works/pi-ai";
import { isChatMessage } from "../domain/decode.ts";
import {
	backgroundStatusOf,
	isBackground,
	type KeptFailure,
	type KeptRun,
	type Lifetime,
	type RunEnd,
	statusOf,
} from "../domain/kept-run.ts";
import { cut, lastTextIn, newestWithin } from "../domain/messages.ts";
import { addUsage, noUsage } from "../domain/usage.ts";
import { isRunId } from "../run-directory/names.ts";

/** Written when a foreground run starts, and when it has ended. */
export const ENTRY_TYPE = "pi-subagents";
/** Written when a background run starts, when it has ended, and when a tool result has carried its usage. */
export const RUN_ENTRY = "pi-subagents:bg-run";
export const UPDATE_ENTRY = "pi-subagents:bg-update";
export const BILLED_ENTRY = "pi-subagents:bg-billed";
/** The message that tells of a background run's end. */
export const COMPLETION_MESSAGE = "pi-subagents:bg-completed";

const MAX_TASK_CHARS = 8_000;
const MAX_TEXT_CHARS = 16_000;
const MAX_MESSAGES_BYTES = 16 * 1024;

/** A part of pi's session, as far as it matters here. */
export interface SessionEntry {
	readonly type: string;
	readonly customType?: string;
	readonly data?: unknown;
	readonly details?: unknown;
}

/** A run as it stands in the session file, bounded. `errorMessage` is what a reader of the file is told. */
export function encodeRun(run: KeptRun, errorMessage?: string): Record<string, unknown> {
	const { runId, sessionId, family, definition, scope, requestedModel, resolvedModel, cwd, directory } = run;
	const { lifetime, progress, startedAt } = run;
	const head = {
		...{ runId, sessionId, family, taskName: run.label, prompt: shortened(run.task, MAX_TASK_CHARS) },
		...{ profileName: definition, scope, requestedModel, resolvedModel, cwd, directory, startedAt },
		...(lifetime.kind === "background" && { socket: lifetime.socket, owner: lifetime.owner }),
		status: isBackground(run) ? backgroundStatusOf(run) : statusOf(run),
	};
	if (progress.kind === "running") return { ...head, messages: [], exitCode: null };
	const { exitCode, model, stopReason, remarks, receipt, toolCalls, messageCount, usage, outcome } = progress;
	return {
		...head,
		...{
			exitCode,
			model,
			stopReason,
			remarks,
			receipt,
			toolCalls,
			messageCount,
			usage,
			errorMessage,
			completedAt: progress.at,
		},
		failure: outcome.kind === "failed" ? outcome.failure : undefined,
		text: shortened(progress.text, MAX_TEXT_CHARS),
		messages: newestWithin(progress.messages, MAX_MESSAGES_BYTES),
	};
}

export const encodeBilled = (runId: string): Record<string, unknown> => ({ runId });

/** Says what is missing: a reader must not take the beginning for the whole. */
function shortened(text: string, max: number): string {
	const kept = cut(text, max);
	return kept === text ? text : `${kept}\n[${text.length - kept.length} more characters were not kept in the session]`;
}

/** What a session's entries tell of its runs, oldest first; `told` are the background runs whose end a message or a tool result has told. */
export function readRuns(entries: readonly SessionEntry[]): {
	readonly runs: readonly KeptRun[];
	readonly told: ReadonlySet<string>;
} {
	const runs = new Map<string, KeptRun>();
	const told = new Set<string>();
	for (const { type, customType = "", data, details } of entries) {
		if (type === "custom") READERS.get(customType)?.(runs, fieldsOf(data));
		const runId = customType === COMPLETION_MESSAGE && type === "custom_message" && textIn(fieldsOf(details), "runId");
		if (typeof runId === "string") told.add(runId);
		const billed = type === "custom" && customType === BILLED_ENTRY ? textIn(fieldsOf(data), "runId") : undefined;
		if (billed !== undefined && runs.has(billed)) told.add(billed);
	}
	return { runs: [...runs.values()], told };
}

type Runs = Map<string, KeptRun>;
type Fields = Readonly<Record<string, unknown>>;

const READERS: ReadonlyMap<string, (runs: Runs, fields: Fields) => void> = new Map([
	[ENTRY_TYPE, addForeground],
	[RUN_ENTRY, addBackground],
	[UPDATE_ENTRY, addEnd],
	[BILLED_ENTRY, addBilled],
]);

/** The newest entry counts; one that is not whole is passed over. */
function addForeground(runs: Runs, fields: Fields): void {
	const run = headOf(fields, { kind: "foreground" });
	if (fields.status === "running" && run) runs.set(run.runId, run);
	const end = decodeEnd(fields, "billed");
	if (run && end) runs.set(run.runId, { ...run, progress: end });
}

/**
 * The first start and the first end of a background run count: nothing brings it back. A foreground run that has moved to the
 * background has an entry of each.
 */
function addBackground(runs: Runs, fields: Fields): void {
	const socket = textIn(fields, "socket");
	const owner = textIn(fields, "owner");
	if (socket === undefined || owner === undefined) return;
	const run = headOf(fields, { kind: "background", socket, owner });
	if (
		run &&
		isBackground(run) &&
		isRunId(run.runId) &&
		run.cwd !== undefined &&
		runs.get(run.runId)?.lifetime.kind !== "background"
	) {
		runs.set(run.runId, run);
	}
}

function addEnd(runs: Runs, fields: Fields): void {
	const run = runs.get(textIn(fields, "runId") ?? "");
	const end = run?.progress.kind === "running" ? decodeEnd(fields, "open") : undefined;
	if (run && end) runs.set(run.runId, { ...run, progress: end });
}

function addBilled(runs: Runs, fields: Fields): void {
	const run = runs.get(textIn(fields, "runId") ?? "");
	if (run?.progress.kind !== "ended") return;
	runs.set(run.runId, { ...run, progress: { ...run.progress, billing: "billed" } });
}

/** What was known when the run started. `preset` and `task` are what earlier versions wrote for background runs. */
function headOf(fields: Fields, lifetime: Lifetime): KeptRun | undefined {
	const text = (key: string) => textIn(fields, key);
	const label = text("taskName") ?? text("preset");
	const startedAt = numberIn(fields, "startedAt");
	const sessionId = text("sessionId") ?? text("runId");
	const task = text("prompt") ?? text("task") ?? (lifetime.kind === "foreground" ? "" : undefined);
	if (label === undefined || startedAt === undefined || sessionId === undefined || task === undefined) return undefined;
	const runId = text("runId") ?? `${sessionId}@${startedAt}`;
	const family = text("family") ?? (lifetime.kind === "background" ? "preset" : "delegate");
	const scope = text("scope") ?? text("presetSource");
	return {
		...{ runId, sessionId, label, task, startedAt, lifetime, cwd: text("cwd") },
		family: family === "preset" || family === "agent" ? family : "delegate",
		definition: text("profileName") ?? text("preset"),
		scope: scope === "project" || scope === "global" ? scope : undefined,
		requestedModel: text("requestedModel"),
		resolvedModel: text("resolvedModel"),
		directory: directoryOf(text("directory"), runId),
		distrusted: false,
		progress: { kind: "running" },
	};
}

/** A run's directory is named after it; a path that is not is nobody's. */
function directoryOf(path: string | undefined, runId: string): string | undefined {
	return path !== undefined && isAbsolute(path) && basename(path) === runId ? path : undefined;
}

/** Undefined where the answer is not one: "(no text output)" would be a lie. */
function decodeEnd(fields: Fields, billing: RunEnd["billing"]): RunEnd | undefined {
	const outcome = outcomeOf(fields);
	const { messages: list = [], text = "" } = fields;
	if (!outcome || !Array.isArray(list) || typeof text !== "string") return undefined;
	const messages = list.filter(isChatMessage);
	return {
		...{ kind: "ended", outcome, billing, messages },
		at: numberIn(fields, "completedAt") ?? numberIn(fields, "at") ?? numberIn(fields, "startedAt") ?? 0,
		remarks: textsIn(fields, "remarks"),
		receipt: textsIn(fields, "receipt"),
		exitCode: numberIn(fields, "exitCode") ?? null,
		model: textIn(fields, "model"),
		stopReason: textIn(fields, "stopReason") as StopReason | undefined,
		text: textIn(fields, "text") ?? lastTextIn(messages),
		toolCalls: numberIn(fields, "toolCalls") ?? 0,
		messageCount: numberIn(fields, "messageCount") ?? messages.length,
		usage: addUsage(noUsage, typeof fields.usage === "object" && fields.usage !== null ? fields.usage : undefined),
	};
}

/** What earlier versions said of a run whose session ended before it did. */
const INTERRUPTED = "Session was interrupted (main agent session ended unexpectedly)";

function outcomeOf(fields: Fields): RunEnd["outcome"] | undefined {
	const { status, failure } = fields;
	if (status === "completed") return { kind: "completed" };
	if (status !== "error" && status !== "failed" && status !== "aborted") return undefined;
	// The words of an unknown failure are better than none: a later version may know more kinds.
	if (FAILURES.has(fieldsOf(failure).kind)) return { kind: "failed", failure: failure as KeptFailure };
	const message = textIn(fields, "errorMessage") ?? "";
	if (message === INTERRUPTED) return { kind: "failed", failure: { kind: "interrupted" } };
	return { kind: "failed", failure: { kind: "told", status: status === "aborted" ? "aborted" : "failed", message } };
}

const FAILURES: ReadonlySet<unknown> = new Set<KeptFailure["kind"]>([
	...(["rejected", "spawn", "exit", "silent", "model", "stopped", "unfinalized", "lost"] as const),
	...(["interrupted", "closed", "gone", "told"] as const),
]);

const fieldsOf = (data: unknown): Fields => (typeof data === "object" && data !== null ? (data as Fields) : {});

function textIn(fields: Fields, key: string): string | undefined {
	const value = fields[key];
	return typeof value === "string" ? value : undefined;
}

function textsIn(fields: Fields, key: string): readonly string[] {
	const value = fields[key];
	return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

function numberIn(fields: Fields, key: string): number | undefined {
	const value = fields[key];
	return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}
