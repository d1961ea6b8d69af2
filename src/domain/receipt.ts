import type { Usage } from "@earendil-works/pi-ai";
import type { CallResult, ChatMessage, RunEvent } from "./event.ts";
import { cut, textOf } from "./messages.ts";
import { hasFailed, hidesExitCode, runsTests } from "./shell-command.ts";
import { effectOf } from "./tool-effect.ts";

/** What was seen of a run's work, which its model cannot invent. Plain JSON: a part of result.json. */
export interface RunReceipt {
	readonly files: readonly ReceiptFile[];
	readonly scan: Scan;
	/** The newest ones, oldest first. */
	readonly commands: readonly ReceiptCommand[];
	/** The last one that failed and was not repeated with success. */
	readonly failing?: ReceiptCommand;
	/** Those of the commands that ran tests. */
	readonly tests: readonly ReceiptCommand[];
	/** `provider/id` of each model that answered. */
	readonly models: readonly string[];
	readonly usage: Usage;
	/** Files that the answer says were written, and that are not there or have not changed since the run began. */
	readonly unseen: readonly string[];
}

export interface ReceiptFile {
	/** Relative to the run's directory, where it lies inside of it. */
	readonly path: string;
	readonly change: "added" | "changed" | "removed";
	/** Lines, as far as the run's write and edit calls tell. */
	readonly added?: number;
	readonly removed?: number;
	/** By its write and edit calls; while one of its commands ran; in the layer of an isolated run. */
	readonly how: "tool" | "command" | "layer";
	/** All runs that can have done it, this one among them, where there is more than one. */
	readonly by?: readonly string[];
}

/** How far the list of files goes. */
export type Scan =
	/** It had no tool that can write. */
	| { readonly kind: "read-only" }
	/** Nothing but its write and edit calls can have changed a file. */
	| { readonly kind: "calls" }
	| { readonly kind: "complete" }
	/** There may be more. */
	| { readonly kind: "incomplete"; readonly why: string };

export interface ReceiptCommand {
	readonly command: string;
	readonly exit: CommandExit;
	readonly ms: number;
	/** The exit code may be another command's: it stands behind a pipe, or is not the last of its line. */
	readonly masked: boolean;
}

/** `unknown`: its result was never told. */
export type CommandExit = number | "timed out" | "aborted" | "unknown";

/** What has been seen of a run so far. */
export interface Work {
	readonly at: number;
	readonly open: readonly OpenCall[];
	/** By the path that the calls name. */
	readonly writes: ReadonlyMap<string, Lines>;
	readonly commands: readonly ReceiptCommand[];
	readonly tests: readonly ReceiptCommand[];
	/** Calls that can have changed any file, and of those the ones that surely ran. */
	readonly commandCalls: number;
	readonly commandsRun: number;
	readonly models: readonly string[];
}

interface Lines {
	readonly added: number;
	readonly removed: number;
}

interface OpenCall {
	readonly id: string;
	readonly name: string;
	readonly args: Readonly<Record<string, unknown>>;
	readonly from: number;
	readonly to: number | undefined;
}

export const NO_WORK: Work = {
	...{ at: 0, open: [], writes: new Map(), commands: [], tests: [], commandCalls: 0, commandsRun: 0, models: [] },
};

const MAX_COMMANDS = 200;
const MAX_TESTS = 20;
const MAX_COMMAND_CHARS = 500;
const MAX_WRITES = 2_000;

export function seeWork(work: Work, event: RunEvent): Work {
	switch (event.type) {
		case "clock":
			return { ...work, at: event.at };
		case "tool-started":
			return begun(work, event.callId, event.name, event.args);
		case "tool-ended": {
			const open = work.open.map((call) => (call.id === event.callId ? { ...call, to: work.at } : call));
			return event.result ? ended({ ...work, open }, event.callId, event.result) : { ...work, open };
		}
		case "message":
			return told(work, event.message);
		default:
			return work;
	}
}

function told(work: Work, message: ChatMessage): Work {
	if (message.role === "toolResult") {
		const { toolCallId, isError, details } = message;
		return ended(work, toolCallId, { isError, text: textOf(message), details });
	}
	if (message.role !== "assistant" || message.stopReason === "error") return work;
	const model = `${message.provider}/${message.model}`;
	return work.models.includes(model) ? work : { ...work, models: [...work.models, model] };
}

function begun(work: Work, id: string, name: string, args: unknown): Work {
	const effect = effectOf(name);
	if (effect === "none") return work;
	const fields = typeof args === "object" && args !== null ? (args as OpenCall["args"]) : {};
	return {
		...work,
		open: [...work.open, { id, name, args: fields, from: work.at, to: undefined }],
		commandCalls: work.commandCalls + (effect === "file" ? 0 : 1),
	};
}

function ended(work: Work, id: string, result: CallResult): Work {
	const call = work.open.find((each) => each.id === id);
	if (!call) return work;
	const rest = { ...work, open: work.open.filter((each) => each !== call) };
	const effect = effectOf(call.name);
	if (effect === "file") return result.isError ? rest : withWrite(rest, call, result.details);
	if (effect === "unknown") return result.isError ? rest : { ...rest, commandsRun: rest.commandsRun + 1 };
	const exit = exitOf(result);
	return withCommand({ ...rest, commandsRun: rest.commandsRun + (exit === "unknown" ? 0 : 1) }, call, exit);
}

function withWrite(work: Work, { args }: OpenCall, details: unknown): Work {
	const { path, content } = args;
	if (typeof path !== "string" || (work.writes.size >= MAX_WRITES && !work.writes.has(path))) return work;
	const before = work.writes.get(path) ?? { added: 0, removed: 0 };
	const lines = typeof content === "string" ? { added: lineCount(content), removed: 0 } : linesOfPatch(details);
	const sum = { added: before.added + lines.added, removed: before.removed + lines.removed };
	return { ...work, writes: new Map([...work.writes, [path, sum]]) };
}

const lineCount = (text: string) => (text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0));

/** A unified diff; its first two lines name the file. */
function linesOfPatch(details: unknown): Lines {
	const { patch } = (details ?? {}) as { patch?: unknown };
	const body = typeof patch === "string" ? patch.slice(Math.max(0, patch.indexOf("\n@@"))).split("\n") : [];
	const count = (sign: string) => body.filter((line) => line.startsWith(sign)).length;
	return { added: count("+"), removed: count("-") };
}

function withCommand(work: Work, { args, from, to }: OpenCall, exit: CommandExit): Work {
	const text = typeof args.command === "string" ? args.command : "";
	const command: ReceiptCommand = {
		command: cut(text, MAX_COMMAND_CHARS),
		exit,
		ms: Math.max(0, (to ?? work.at) - from),
		masked: hidesExitCode(text),
	};
	return {
		...work,
		commands: [...work.commands, command].slice(-MAX_COMMANDS),
		tests: runsTests(text) ? [...work.tests, command].slice(-MAX_TESTS) : work.tests,
	};
}

/** Only of a failed call the last line is pi's own: output can say anything. */
function exitOf({ isError, text }: CallResult): CommandExit {
	if (!isError) return 0;
	const last = text.trimEnd().split("\n").at(-1) ?? "";
	const code = /^Command exited with code (-?\d+)$/.exec(last)?.[1];
	if (code !== undefined) return Number(code);
	if (/^Command timed out after /.test(last)) return "timed out";
	return last === "Command aborted" ? "aborted" : "unknown";
}

/** Commands that were running when the run broke off. */
const unfinished = ({ open, at }: Work): ReceiptCommand[] =>
	open.flatMap(({ name, args, from }) =>
		effectOf(name) === "command" && typeof args.command === "string"
			? [{ command: cut(args.command, MAX_COMMAND_CHARS), exit: "unknown", ms: Math.max(0, at - from), masked: true }]
			: [],
	);

/** The receipt of a run that has ended; `found` is what the file system shows. */
export function makeReceipt(
	work: Work,
	found: Pick<RunReceipt, "files" | "scan" | "unseen">,
	usage: Usage,
): RunReceipt {
	const commands = [...work.commands, ...unfinished(work)].slice(-MAX_COMMANDS);
	const failing = lastFailing(commands);
	return {
		...{ files: found.files, scan: found.scan, commands, ...(failing && { failing }), tests: work.tests },
		...{ models: work.models, usage, unseen: found.unseen },
	};
}

function lastFailing(commands: readonly ReceiptCommand[]): ReceiptCommand | undefined {
	const succeeded = new Set<string>();
	return commands.toReversed().find(({ command, exit }) => {
		if (exit === 0) succeeded.add(command);
		const failed = typeof exit === "number" ? hasFailed(command, exit) : exit === "timed out";
		return failed && !succeeded.has(command);
	});
}
