import type { Usage } from "@earendil-works/pi-ai";
import type { ChatMessage, RunEvent } from "./event.ts";

/** What one line of events.jsonl, or of pi's stdout, turned out to be. */
export type Line =
	| { readonly kind: "event"; readonly event: RunEvent }
	/** A record of pi's that changes nothing here. */
	| { readonly kind: "record"; readonly delta: boolean }
	| { readonly kind: "stray"; readonly text: string };

/** The records that we read, by the name that every line of pi's begins with; all others are not even parsed. */
const READ = new Set([
	...["message_end", "message_update", "tool_execution_start", "compaction_end"],
	...["agent_start", "agent_settled"],
]);
/** Our own events in events.jsonl. A child that prints such a line does not get it past the supervisor. */
const OWN = "subagents";
const HEAD = /^\{"type":"([a-zA-Z_]+)"/;

/** A line of `pi --mode json`. Anything that is not one of pi's records is stray output. */
export function decode(line: Buffer): Line {
	const type = HEAD.exec(line.toString("latin1", 0, 64))?.[1];
	if (type !== undefined && type !== OWN && !READ.has(type))
		return { kind: "record", delta: type === "tool_execution_update" };
	if (type === "message_update" && !line.includes('"text_delta"')) return { kind: "record", delta: true };
	const text = line.toString("utf8");
	const record = parse(text);
	if (!record || record.type === OWN) return { kind: "stray", text: text.trimEnd() };
	const event = eventOf(record);
	return event ? { kind: "event", event } : { kind: "record", delta: type === "message_update" };
}

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
const OWN_EVENTS = new Set<unknown>(["started", "delta", "stray", "stopping"]);

export function isDelta(line: Line): boolean {
	return line.kind === "record" ? line.delta : line.kind === "event" && line.event.type === "delta";
}

function eventOf(record: Record<string, unknown>): RunEvent | undefined {
	switch (record.type) {
		case "message_end":
			return isChatMessage(record.message) ? { type: "message", message: record.message } : undefined;
		case "message_update": {
			const update = record.assistantMessageEvent as { type?: unknown; delta?: unknown } | undefined;
			if (update?.type !== "text_delta" || typeof update.delta !== "string") return undefined;
			return { type: "delta", text: update.delta };
		}
		case "tool_execution_start":
			return { type: "tool-started", name: String(record.toolName), args: record.args };
		case "compaction_end": {
			const usage = (record.result as { usage?: Usage } | undefined)?.usage;
			return typeof usage === "object" && usage !== null ? { type: "spent", usage } : undefined;
		}
		case "agent_start":
			return { type: "working" };
		case "agent_settled":
			return { type: "settled" };
		default:
			return undefined;
	}
}

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
