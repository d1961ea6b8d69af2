export interface ReplyUsage {
	input: number;
	output: number;
	cached?: number;
	reasoning?: number;
}

export interface ScriptedCall {
	name: string;
	args: unknown;
	id?: string;
}

interface Pace {
	/** Time before the headers. */
	delayMs?: number;
	/** Writes the stream this many bytes at a time, each one an HTTP chunk of its own, so UTF-8 sequences are cut. */
	splitBytes?: number;
}

export type Finish = "stop" | "length";

export interface TextReply extends Pace {
	kind: "text";
	text: string;
	thinking?: string;
	/** Characters (code points) in one delta; the whole text when missing. */
	chunkChars?: number;
	chunkDelayMs?: number;
	usage?: ReplyUsage;
	finish?: Finish;
	/** The model's name in the answer, when it is another than the one asked for. */
	model?: string;
}

export interface ToolsReply extends Pace {
	kind: "tools";
	calls: ScriptedCall[];
	text?: string;
	usage?: ReplyUsage;
	/** Sends the arguments in small pieces with this time between them. */
	argumentChunkDelayMs?: number;
	/** Waited for when all but the last few characters of a call's arguments have been sent. */
	beforeLastArguments?: () => Promise<unknown>;
}

export interface StatusReply {
	kind: "status";
	status: number;
	/** An object is sent as JSON. */
	body: unknown;
	headers?: Record<string, string>;
	delayMs?: number;
}

/** The socket is destroyed after `chunks` deltas of `text`; after none of them not even headers were sent. */
export interface DropReply extends Pace {
	kind: "drop";
	text: string;
	chunks: number;
	chunkChars?: number;
	/** Time between the last delta and the end of the connection. */
	lingerMs?: number;
}

/** Headers and `text`, then nothing until one side closes. */
export interface HangReply extends Pace {
	kind: "hang";
	text?: string;
}

/** A stream that says 200 and is none. */
export interface GarbageReply extends Pace {
	kind: "garbage";
	body?: string;
}

/** Each line is sent as it is, with a line end. */
export interface RawReply extends Pace {
	kind: "raw";
	lines: string[];
}

export type Reply = TextReply | ToolsReply | StatusReply | DropReply | HangReply | GarbageReply | RawReply;

export function text(value: string, options: Omit<TextReply, "kind" | "text"> = {}): TextReply {
	return { kind: "text", text: value, ...options };
}

export function toolCall(name: string, args: unknown, options: Omit<ToolsReply, "kind" | "calls"> = {}): ToolsReply {
	return { kind: "tools", calls: [{ name, args }], ...options };
}

export function toolCalls(calls: ScriptedCall[], options: Omit<ToolsReply, "kind" | "calls"> = {}): ToolsReply {
	return { kind: "tools", calls, ...options };
}

export function status(
	code: number,
	body: unknown = { error: { message: `scripted status ${code}`, type: "scripted" } },
	options: Omit<StatusReply, "kind" | "status" | "body"> = {},
): StatusReply {
	return { kind: "status", status: code, body, ...options };
}

export function drop(options: Partial<Omit<DropReply, "kind">> = {}): DropReply {
	return { kind: "drop", text: "half an answer that never ends", chunks: 2, chunkChars: 5, ...options };
}

export function hang(options: Omit<HangReply, "kind"> = {}): HangReply {
	return { kind: "hang", ...options };
}

export function garbage(options: Omit<GarbageReply, "kind"> = {}): GarbageReply {
	return { kind: "garbage", ...options };
}

export function raw(lines: string[], options: Omit<RawReply, "kind" | "lines"> = {}): RawReply {
	return { kind: "raw", lines, ...options };
}
