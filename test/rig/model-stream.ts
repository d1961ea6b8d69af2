import type { ServerResponse } from "node:http";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { DropReply, Finish, Reply, ReplyUsage, ScriptedCall, TextReply, ToolsReply } from "./model-replies.ts";

export interface Answering {
	response: ServerResponse;
	model: string;
	/** Number of the request; makes ids unique. */
	index: number;
	/** Fires when either side has closed the connection. */
	gone: AbortSignal;
}

const DEFAULT_USAGE: ReplyUsage = { input: 100, output: 20 };
const ARGUMENT_CHUNK_CHARS = 8;
const NONSENSE = "<html>\ndata: {not json\n\n\u0000\u0001 event: ???\ndata: [1,2\n\n";

export async function answer(reply: Reply, to: Answering): Promise<void> {
	if ("delayMs" in reply && reply.delayMs) await pause(reply.delayMs, undefined, { signal: to.gone });
	switch (reply.kind) {
		case "text":
			return answerText(reply, to);
		case "tools":
			return answerTools(reply, to);
		case "status":
			return answerStatus(to.response, reply.status, reply.body, reply.headers);
		case "drop":
			return answerDrop(reply, to);
		case "hang":
			openStream(to.response);
			if (reply.text) await send(to, chunkLine(to, { content: reply.text }), reply.splitBytes);
			return;
		case "garbage":
			openStream(to.response);
			await send(to, reply.body ?? NONSENSE, reply.splitBytes);
			to.response.end();
			return;
		case "raw":
			openStream(to.response);
			for (const line of reply.lines) await send(to, `${line}\n`, reply.splitBytes);
			to.response.end();
	}
}

export function answerStatus(
	response: ServerResponse,
	code: number,
	body: unknown,
	headers: Record<string, string> = {},
): void {
	const isText = typeof body === "string";
	response.writeHead(code, { "content-type": isText ? "text/plain" : "application/json", ...headers });
	response.end(isText ? body : JSON.stringify(body));
}

async function answerText(reply: TextReply, to: Answering): Promise<void> {
	const stream = { ...to, model: reply.model ?? to.model };
	openStream(to.response);
	await send(stream, chunkLine(stream, { role: "assistant", content: "" }), reply.splitBytes);
	if (reply.thinking) await send(stream, chunkLine(stream, { reasoning_content: reply.thinking }), reply.splitBytes);
	for (const piece of pieces(reply.text, reply.chunkChars)) {
		await send(stream, chunkLine(stream, { content: piece }), reply.splitBytes);
		if (reply.chunkDelayMs) await pause(reply.chunkDelayMs, undefined, { signal: to.gone });
	}
	await finishStream(stream, reply.finish ?? "stop", reply.usage, reply.splitBytes);
}

async function answerTools(reply: ToolsReply, to: Answering): Promise<void> {
	openStream(to.response);
	await send(to, chunkLine(to, { role: "assistant", content: reply.text ?? null }), reply.splitBytes);
	for (const [position, call] of reply.calls.entries()) await sendCall(reply, to, call, position);
	await finishStream(to, "tool_calls", reply.usage, reply.splitBytes);
}

async function sendCall(reply: ToolsReply, to: Answering, call: ScriptedCall, position: number): Promise<void> {
	const id = call.id ?? `call_${to.index}_${position}`;
	const opening = { index: position, id, type: "function", function: { name: call.name, arguments: "" } };
	await send(to, chunkLine(to, { tool_calls: [opening] }), reply.splitBytes);
	const json = typeof call.args === "string" ? call.args : JSON.stringify(call.args ?? {});
	const delayMs = reply.argumentChunkDelayMs;
	const parts = pieces(json, delayMs || reply.beforeLastArguments ? ARGUMENT_CHUNK_CHARS : undefined);
	for (const [at, piece] of parts.entries()) {
		if (at === parts.length - 1) await reply.beforeLastArguments?.();
		const part = { index: position, function: { arguments: piece } };
		await send(to, chunkLine(to, { tool_calls: [part] }), reply.splitBytes);
		if (delayMs) await pause(delayMs, undefined, { signal: to.gone });
	}
}

async function answerDrop(reply: DropReply, to: Answering): Promise<void> {
	if (reply.chunks > 0) openStream(to.response);
	for (const piece of pieces(reply.text, reply.chunkChars).slice(0, reply.chunks)) {
		await send(to, chunkLine(to, { content: piece }), reply.splitBytes);
	}
	// A client that gets data and the end of the connection together may throw the data away.
	await pause(reply.lingerMs ?? 30, undefined, { signal: to.gone });
	to.response.socket?.destroy();
}

async function finishStream(
	to: Answering,
	reason: Finish | "tool_calls",
	usage: ReplyUsage = DEFAULT_USAGE,
	splitBytes?: number,
): Promise<void> {
	const { input, output, cached = 0, reasoning = 0 } = usage;
	const figures = {
		prompt_tokens: input,
		completion_tokens: output,
		total_tokens: input + output,
		prompt_tokens_details: { cached_tokens: cached },
		completion_tokens_details: { reasoning_tokens: reasoning },
	};
	const last = chunk(to, [], { usage: figures });
	const tail = `${chunkLine(to, {}, reason)}data: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`;
	await send(to, tail, splitBytes);
	to.response.end();
}

function openStream(response: ServerResponse): void {
	response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
	response.flushHeaders();
}

async function send(to: Answering, data: string, splitBytes?: number): Promise<void> {
	const bytes = Buffer.from(data, "utf8");
	const size = splitBytes ?? bytes.length;
	for (let start = 0; start < bytes.length; start += size) {
		to.gone.throwIfAborted();
		to.response.write(bytes.subarray(start, start + size));
		if (splitBytes) await nextTurn();
	}
}

function chunkLine(to: Answering, delta: Record<string, unknown>, finishReason: string | null = null): string {
	return `data: ${JSON.stringify(chunk(to, [{ index: 0, delta, finish_reason: finishReason }]))}\n\n`;
}

function chunk(to: Answering, choices: unknown[], more: Record<string, unknown> = {}): Record<string, unknown> {
	const id = `chatcmpl-${to.index}`;
	return { id, object: "chat.completion.chunk", created: 1_700_000_000, model: to.model, choices, ...more };
}

function pieces(value: string, chunkChars?: number): string[] {
	if (!chunkChars) return value === "" ? [] : [value];
	const points = Array.from(value);
	const result: string[] = [];
	for (let start = 0; start < points.length; start += chunkChars) {
		result.push(points.slice(start, start + chunkChars).join(""));
	}
	return result;
}
