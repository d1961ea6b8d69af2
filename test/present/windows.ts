import type { AssistantMessage, JsonObject, ToolResultMessage } from "@earendil-works/pi-ai";
import type { Theme } from "@earendil-works/pi-coding-agent";
import { stripTerminalSequences } from "@earendil-works/pi-tui";
import { resultOf } from "../../src/domain/conclude.ts";
import type { Outcome } from "../../src/domain/run-result.ts";
import type { RunSpec } from "../../src/domain/spec.ts";
import { initialState, type RunState, reduce } from "../../src/domain/state.ts";
import { noUsage } from "../../src/domain/usage.ts";
import type { ShownTask, TaskWindow } from "../../src/present/window.ts";
import type { WindowLine } from "../../src/present/window-line.ts";

const COLORS = [
	"text",
	"muted",
	"error",
	"success",
	"warning",
	"toolTitle",
	"toolOutput",
	"toolDiffAdded",
	"toolDiffRemoved",
	"accent",
	"dim",
];

const BACKGROUNDS = ["toolPendingBg", "toolSuccessBg", "toolErrorBg"];

/** The background of a row. */
export const backgroundOf = (row: string): string | undefined =>
	BACKGROUNDS.find((_, index) => row.startsWith(`\u001b[48;5;${200 + index}m`));

/** A theme whose colours can be read back: see `colored`. */
export const theme = {
	fg: (color: string, text: string) => `\u001b[38;5;${100 + COLORS.indexOf(color)}m${text}\u001b[39m`,
	bg: (color: string, text: string) => `\u001b[48;5;${200 + BACKGROUNDS.indexOf(color)}m${text}\u001b[49m`,
	bold: (text: string) => `\u001b[1m${text}\u001b[22m`,
} as Theme;

/** Rows as they stand on the screen, without colours. */
export const plain = (rows: readonly string[]): string[] => rows.map(stripTerminalSequences);

/** The texts of a row that have this colour. */
export function colored(row: string, color: string): string[] {
	const start = `\u001b[38;5;${100 + COLORS.indexOf(color)}m`;
	return row
		.split(start)
		.slice(1)
		.map((rest) => rest.slice(0, rest.indexOf("\u001b[39m")));
}

export const textLine = (text: string): WindowLine => ({ text, kind: "text" });

const STATES = { running: "running", completed: "done", error: "failed" } as const;

export const windowWith = (changes: Partial<TaskWindow> = {}): TaskWindow => ({
	name: "scout",
	sessionId: "a3f7b9c2d1e8f4a1",
	status: "running",
	lines: [],
	allMessages: [],
	exitCode: null,
	timeout: 600,
	state: STATES[changes.status ?? "running"],
	startedAt: 1_000,
	toolCalls: 0,
	usage: noUsage,
	...changes,
});

export const numbered = (count: number, word = "line"): WindowLine[] =>
	Array.from({ length: count }, (_, index) => textLine(`${word} ${index + 1}`));

const identity = {
	api: "openai-completions",
	provider: "mock",
	model: "mock-1",
	usage: noUsage,
	timestamp: 0,
} as const;

export function assistant(...content: AssistantMessage["content"]): AssistantMessage {
	return { role: "assistant", content, ...identity, stopReason: "stop" };
}

export const call = (
	name: string,
	args: Record<string, unknown>,
	id = "call",
): AssistantMessage["content"][number] => ({
	type: "toolCall",
	id,
	name,
	arguments: args as JsonObject,
});

export const said = (text: string): AssistantMessage["content"][number] => ({ type: "text", text });

export const toolResult = (toolName: string, text: string, toolCallId = "call"): ToolResultMessage => ({
	role: "toolResult",
	toolCallId,
	toolName,
	content: [{ type: "text", text }],
	isError: false,
	timestamp: 0,
});

export const running: RunState = reduce(initialState, { type: "started", at: 1_000, supervisorPid: 1, pid: 2 });

export const withMessages = (...messages: (AssistantMessage | ToolResultMessage)[]): RunState =>
	messages.reduce<RunState>((state, message) => reduce(state, { type: "message", message }), running);

export function completed(state: RunState, endedAt = 5_000): RunState {
	const end = { endedAt, exit: { kind: "code", code: 0 }, leftovers: [], artifactErrors: [] } as const;
	const outcome = { kind: "completed", text: "", end: "natural" } as const;
	return reduce(state, { type: "ended", result: resultOf("run", state, { outcome, ...end }) });
}

export function endedWith(state: RunState, outcome: Outcome): RunState {
	const end = { endedAt: 5_000, exit: { kind: "code", code: 1 }, leftovers: [], artifactErrors: [] } as const;
	return reduce(state, { type: "ended", result: resultOf("run", state, { outcome, ...end }) });
}

export function failed(state: RunState, message: string): RunState {
	const end = { endedAt: 5_000, exit: { kind: "code", code: 1 }, leftovers: [], artifactErrors: [] } as const;
	const outcome = { kind: "failed", failure: { kind: "model", message } } as const;
	return reduce(state, { type: "ended", result: resultOf("run", state, { outcome, ...end }) });
}

const LIMITS = { timeoutMs: 600_000, idleGraceMs: 30_000, repeatedCalls: 5 };

export const taskWith = (state: RunState, spec: Partial<RunSpec> = {}): ShownTask => ({
	name: "scout",
	sessionId: "a3f7b9c2d1e8f4a1",
	timeoutSeconds: 600,
	moved: false,
	profile: spec.agent?.name,
	spec: { cwd: "/home/ann/shop", runId: "20261118-010014-36c6f4d5", limits: LIMITS, ...spec } as RunSpec,
	task: "look around\nand tell",
	directory: "/home/ann/runs/20261118-010014-36c6f4d5",
	state,
});
