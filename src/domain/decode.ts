import type { Usage } from "@earendil-works/pi-ai";
import type { CallResult, ChatMessage, RunEvent } from "./event.ts";
import { STEER_MESSAGE } from "./steer.ts";
import { noUsage } from "./usage.ts";

/** What one line of events.jsonl, or of pi's stdout, turned out to be. */
export type Line =
	| { readonly kind: "event"; readonly event: RunEvent }
	/** A record of pi's that changes nothing here. */
	| { readonly kind: "record"; readonly delta: boolean }
	| { readonly kind: "stray"; readonly text: string };

/** The records that we read, by the name that every line of pi's begins with; all others are not even parsed. */
const READ = new Set([
	...["message_end", "message_update", "tool_execution_start", "tool_execution_end"],
	...["compaction_start", "compaction_end", "auto_retry_start", "agent_start", "agent_settled"],
]);
/** Our own events in events.jsonl. A child that prints such a line does not get it past the supervisor. */
const OWN = "subagents";
const HEAD = /^\{"type":"([a-zA-Z_]+)"/;
/** The updates that say something new; the others repeat it as a whole. */
const PIECES = ['_delta"', '"toolcall_start"', '"thinking_start"'] as const;
/** The rest of the record is the tool's whole result, which the message after it has too. */
const TOOL_END = /^\{"type":"tool_execution_end","toolCallId":"((?:[^"\\]|\\.)*)"/;
const MAX_CALL_ID_BYTES = 1_024;

/** A line of `pi --mode json`. Anything that is not one of pi's records is stray output. */
export function decode(line: Buffer): Line {
	const type = HEAD.exec(line.toString("latin1", 0, 64))?.[1];
	if (type !== undefined && type !== OWN && !READ.has(type))
		return { kind: "record", delta: type === "tool_execution_update" };
	if (type === "message_update" && !PIECES.some((piece) => line.includes(piece)))
		return { kind: "record", delta: true };
	if (type === "tool_execution_end") return toolEnd(line);
	const text = line.toString("utf8");
	const record = parse(text);
	if (!record || record.type === OWN) return { kind: "stray", text: text.trimEnd() };
	const event = eventOf(record);
	return event ? { kind: "event", event } : { kind: "record", delta: type === "message_update" };
}

/** Stands in the place of a message that was too long to be kept. */
export const DROPPED_MESSAGE = "[A message of more than 16 MB was dropped here: it was too long to keep]";

/** Whether a line that begins like this carries a message; other long records only repeat what is known. */
export const isMessageHead = (head: Buffer): boolean => HEAD.exec(head.toString("latin1"))?.[1] === "message_end";

/** A line of events.jsonl: pi's records and our own. */
export function decodeTrail(line: Buffer): RunEvent | undefined {
	if (line.toString("latin1", 0, OWN_HEAD.length) === OWN_HEAD) {
		const event = parse(line.toString("utf8"))?.event as RunEvent | null | undefined;
		return event && OWN_EVENTS.has(event.type) ? event : undefined;
	}
	const decoded = decode(line);
	return decoded.kind === "event" ? decoded.event : undefined;
}

/** How our own events stand in events.jsonl. */
export const encodeOwn = (event: RunEvent): string => `${JSON.stringify({ type: OWN, event })}\n`;
const OWN_HEAD = `{"type":"${OWN}"`;
/** A later version of this package may have left others. */
const OWN_EVENTS = new Set<unknown>([
	...["started", "delta", "thinking", "calling", "stray", "wrap-up", "stopping", "clock"],
	...["steer-queued", "model-failed", "waiting", "admitted", "asked", "question-closed"],
]);

export function isDelta(line: Line): boolean {
	return line.kind === "record" ? line.delta : line.kind === "event" && isPiece(line.event);
}

/** A piece of a message that is being written. */
export const isPiece = ({ type }: RunEvent): boolean => type === "delta" || type === "thinking" || type === "calling";

function toolEnd(line: Buffer): Line {
	const id = TOOL_END.exec(line.toString("utf8", 0, MAX_CALL_ID_BYTES))?.[1];
	if (id === undefined) return { kind: "record", delta: false };
	const callId = JSON.parse(`"${id}"`) as string;
	const result = line.includes(NESTED, -MAX_CALL_ID_BYTES) ? nestedResult(line) : undefined;
	return { kind: "event", event: { type: "tool-ended", callId, ...(result && { result }) } };
}

/** A call that a script made has no message of its own. */
const NESTED = '"parentToolCallId":';

function nestedResult(line: Buffer): CallResult | undefined {
	const record = parse(line.toString("utf8"));
	if (record?.parentToolCallId === undefined) return undefined;
	const { content, details } = fieldsOf(record.result);
	const parts: readonly unknown[] = Array.isArray(content) ? content : [];
	const text = parts.map((part) => wordOf(fieldsOf(part).text) ?? "").join("\n");
	return { isError: record.isError === true, text, details };
}

function eventOf(record: Record<string, unknown>): RunEvent | undefined {
	switch (record.type) {
		case "message_end":
			return isChatMessage(record.message) ? { type: "message", message: record.message } : receivedIn(record.message);
		case "message_update":
			return pieceOf(fieldsOf(record.assistantMessageEvent));
		case "tool_execution_start": {
			const { toolCallId, toolName, args } = record;
			const nested = record.parentToolCallId !== undefined;
			return { type: "tool-started", callId: String(toolCallId), name: String(toolName), args, nested };
		}
		case "auto_retry_start":
			return retryOf(record);
		case "compaction_start":
			return { type: "compacting" };
		case "compaction_end": {
			const usage = (record.result as { usage?: Usage } | undefined)?.usage;
			return { type: "spent", usage: typeof usage === "object" && usage !== null ? usage : noUsage };
		}
		case "agent_start":
			return { type: "working" };
		case "agent_settled":
			return { type: "settled" };
		default:
			return undefined;
	}
}

function pieceOf({ type, delta, toolName }: Fields): RunEvent | undefined {
	const text = typeof delta === "string" ? delta : "";
	if (type === "text_delta") return { type: "delta", text };
	if (type === "thinking_delta" || type === "thinking_start") return { type: "thinking", text };
	if (type === "toolcall_delta") return { type: "calling", tool: undefined, chars: text.length };
	if (type === "toolcall_start") return { type: "calling", tool: wordOf(toolName), chars: 0 };
	return undefined;
}

const retryOf = ({ errorMessage, attempt, maxAttempts, delayMs }: Fields): RunEvent => ({
	type: "retrying",
	reason: wordOf(errorMessage) ?? "",
	counted: { attempt: numberOf(attempt), of: numberOf(maxAttempts) },
	delayMs: numberOf(delayMs),
});

type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = (value: unknown): Fields => (typeof value === "object" && value !== null ? { ...value } : {});
const wordOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0);

function parse(line: string): Record<string, unknown> | undefined {
	try {
		const value: unknown = JSON.parse(line);
		if (typeof value !== "object" || value === null || typeof (value as { type?: unknown }).type !== "string") {
			return undefined;
		}
		return value as Record<string, unknown>;
	} catch {
		return undefined;
	}
}

/** By pi's account its model has been handed these: that is their receipt. */
function receivedIn(value: unknown): RunEvent | undefined {
	const { role, customType, details } = (value ?? {}) as Record<string, unknown>;
	if (role !== "custom" || customType !== STEER_MESSAGE) return undefined;
	const { ids } = (details ?? {}) as { ids?: unknown };
	if (!Array.isArray(ids)) return undefined;
	return { type: "steer-received", ids: ids.filter((id) => typeof id === "string") };
}

/**
 * pi also reports its system prompt as a message; it is ours, not the child's. What passes here is not looked at again:
 * a child can print whatever it likes, and nobody who reads a message later may stumble over it.
 */
export function isChatMessage(value: unknown): value is ChatMessage {
	const { role, content, errorMessage } = (value ?? {}) as Record<string, unknown>;
	if (role === "user" && typeof content === "string") return true;
	if (role !== "user" && role !== "assistant" && role !== "toolResult") return false;
	if (errorMessage !== undefined && typeof errorMessage !== "string") return false;
	return Array.isArray(content) && content.every(isPart);
}

function isPart(value: unknown): boolean {
	const { type, text, name } = (value ?? {}) as Record<string, unknown>;
	if (type === "text") return typeof text === "string";
	if (type === "toolCall") return typeof name === "string";
	return typeof type === "string";
}
