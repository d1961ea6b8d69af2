import type { IncomingHttpHeaders } from "node:http";

export interface SimpleCall {
	id: string;
	name: string;
	args: unknown;
}

export interface SimpleMessage {
	role: string;
	text: string;
	toolCalls: SimpleCall[];
}

export interface ModelRequest {
	/** Position in `server.requests`. */
	index: number;
	/** `performance.now()` of the server's process when the request had arrived. */
	at: number;
	method: string;
	path: string;
	headers: IncomingHttpHeaders;
	body: Record<string, unknown>;
	model: string;
	system: string;
	tools: string[];
	messages: SimpleMessage[];
	lastUser: string;
	/** Number of assistant messages so far: 0 in the first request of a conversation. */
	turn: number;
	reasoningEffort: string | undefined;
	/** "complete": the whole answer was sent; "cut": one side closed before that. */
	ended: Promise<"complete" | "cut">;
}

export interface Arrival {
	index: number;
	at: number;
	method: string;
	path: string;
	headers: IncomingHttpHeaders;
	text: string;
	ended: Promise<"complete" | "cut">;
}

export function parseModelRequest(arrival: Arrival): ModelRequest {
	const { text, ...rest } = arrival;
	const body = record(parseJson(text));
	const all = list(body.messages).map(simpleMessage);
	const isSystem = (message: SimpleMessage) => message.role === "system" || message.role === "developer";
	const effort = body.reasoning_effort ?? record(body.reasoning).effort;
	return {
		...rest,
		body,
		model: string(body.model),
		system: all
			.filter(isSystem)
			.map((message) => message.text)
			.join("\n\n"),
		tools: list(body.tools).map((tool) => string(record(record(tool).function).name)),
		messages: all.filter((message) => !isSystem(message)),
		lastUser: all.findLast((message) => message.role === "user")?.text ?? "",
		turn: all.filter((message) => message.role === "assistant").length,
		reasoningEffort: typeof effort === "string" ? effort : undefined,
	};
}

function simpleMessage(value: unknown): SimpleMessage {
	const message = record(value);
	return {
		role: string(message.role),
		text: textOf(message.content),
		toolCalls: list(message.tool_calls).map(simpleCall),
	};
}

function simpleCall(value: unknown): SimpleCall {
	const call = record(value);
	const target = record(call.function);
	return { id: string(call.id), name: string(target.name), args: parseJson(string(target.arguments)) };
}

function textOf(content: unknown): string {
	if (typeof content === "string") return content;
	return list(content)
		.map((part) => string(record(part).text))
		.join("");
}

function parseJson(value: string): unknown {
	try {
		return JSON.parse(value);
	} catch {
		return value;
	}
}

function record(value: unknown): Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function list(value: unknown): unknown[] {
	return Array.isArray(value) ? value : [];
}

function string(value: unknown): string {
	return typeof value === "string" ? value : "";
}
