import { basename, isAbsolute } from "node:path";
import { isChatMessage } from "../domain/decode.ts";
import { cut, lastTextIn, newestWithin } from "../domain/messages.ts";
import { type RunProgress, type RunRecord, textsIn } from "../domain/record.ts";
import { addUsage, noUsage } from "../domain/usage.ts";

/** The type of this package's entries in pi's session file. */
export const ENTRY_TYPE = "pi-subagents";

const MAX_PROMPT_CHARS = 8_000;
const MAX_TEXT_CHARS = 16_000;
const MAX_MESSAGES_BYTES = 16 * 1024;

/** A run as it stands in the session file: one entry when it starts, one when it ends, both bounded. */
export function encodeRecord(record: RunRecord): Record<string, unknown> {
	const { progress, taskName, ...rest } = record;
	const head = { ...rest, taskName, prompt: shortened(record.prompt, MAX_PROMPT_CHARS) };
	if (progress.kind === "running") return { ...head, status: "running", messages: [], exitCode: null };
	const { kind: _kind, at, messages, text, ...end } = progress;
	return {
		...head,
		...end,
		completedAt: at,
		text: shortened(text, MAX_TEXT_CHARS),
		messages: newestWithin(messages, MAX_MESSAGES_BYTES),
	};
}

/** Says what is missing: a reader must not take the beginning for the whole. */
export function shortened(text: string, max: number): string {
	const kept = cut(text, max);
	return kept === text ? text : `${kept}\n[${text.length - kept.length} more characters were not kept in the session]`;
}

/** Reads an entry back; anything that is not one is undefined. */
export function decodeRecord(data: unknown): RunRecord | undefined {
	if (typeof data !== "object" || data === null) return undefined;
	const fields = data as Record<string, unknown>;
	const sessionId = text(fields.sessionId);
	const taskName = text(fields.taskName);
	const startedAt = number(fields.startedAt);
	const progress = decodeProgress(fields);
	if (sessionId === undefined || taskName === undefined || startedAt === undefined || !progress) return undefined;
	const runId = text(fields.runId) ?? `${sessionId}@${startedAt}`;
	return {
		runId,
		sessionId,
		family: familyOf(fields.family),
		taskName,
		prompt: text(fields.prompt) ?? "",
		cwd: text(fields.cwd),
		profileName: text(fields.profileName),
		directory: directoryOf(text(fields.directory), runId),
		startedAt,
		progress,
	};
}

const familyOf = (value: unknown): RunRecord["family"] =>
	value === "preset" || value === "agent" ? value : "delegate";

/** A run's directory is named after it; a path that is not is nobody's. */
function directoryOf(path: string | undefined, runId: string): string | undefined {
	return path !== undefined && isAbsolute(path) && basename(path) === runId ? path : undefined;
}

function decodeProgress(fields: Record<string, unknown>): RunProgress | undefined {
	const { status } = fields;
	if (status === "running") return { kind: "running" };
	if (status !== "completed" && status !== "error") return undefined;
	const messages = Array.isArray(fields.messages) ? fields.messages.filter(isChatMessage) : [];
	return {
		kind: "ended",
		status,
		at: number(fields.completedAt) ?? number(fields.startedAt) ?? 0,
		exitCode: number(fields.exitCode) ?? null,
		model: text(fields.model),
		stopReason: text(fields.stopReason),
		errorMessage: text(fields.errorMessage),
		remarks: textsIn(fields.remarks),
		text: text(fields.text) ?? lastTextIn(messages),
		messages,
		messageCount: number(fields.messageCount) ?? messages.length,
		usage: addUsage(noUsage, typeof fields.usage === "object" && fields.usage !== null ? fields.usage : undefined),
	};
}

const text = (value: unknown) => (typeof value === "string" ? value : undefined);
const number = (value: unknown) => (typeof value === "number" && Number.isFinite(value) ? value : undefined);
