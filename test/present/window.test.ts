import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunEvent, StopCause } from "../../src/domain/event.ts";
import type { Outcome } from "../../src/domain/run-result.ts";
import { initialState, type RunState, reduce } from "../../src/domain/state.ts";
import { type Display, displayOf } from "../../src/present/display.ts";
import { finalWindows, partialWindows, type ShownTask, type TaskWindow } from "../../src/present/window.ts";
import {
	assistant,
	call,
	completed,
	endedWith,
	failed,
	running,
	said,
	taskWith,
	toolResult,
	withMessages,
} from "./windows.ts";

const AUDIENCE: Display = { previewWidth: 80, maxLines: 15, runningLines: 15, home: "/home/ann" };

const only = (windows: TaskWindow[]): TaskWindow => {
	assert.ok(windows[0]);
	return windows[0];
};
const live = (state: RunState, spec = {}) => only(partialWindows([taskWith(state, spec)], AUDIENCE));
const texts = (window: TaskWindow) => window.lines.map(({ text, kind }) => `${kind} ${text}`);

test("Lines are stripped of control sequences, right-trimmed, and never blank (A114)", () => {
	const state = withMessages(assistant(said("\u001b[31mred\u001b[0m   \n\n \t \n\tindented\r\nlast"), call("ls", {})));
	assert.deepEqual(texts(live(state)), ["text red", "text    indented", "text last", "tool ls → ."]);
});

test("What is being written, and output that is no event, are lines too (A114)", () => {
	const stray = reduce(withMessages(assistant(said("one"))), { type: "stray", stream: "stderr", text: "oops\u0007" });
	const state = reduce(stray, { type: "delta", text: "two\nthr" });
	assert.deepEqual(texts(live(state)), ["text one", "text [stderr]: oops", "text two", "text thr"]);
});

test("The summary of a result stands below its own call (A117)", () => {
	const state = withMessages(
		assistant(call("ls", { path: "a" }, "1"), call("read", { path: "x" }, "2"), call("find", { pattern: "*" }, "3")),
		toolResult("find", "f\ng", "3"),
		toolResult("ls", "f\nd/", "1"),
		toolResult("read", "text", "2"),
		assistant(said("done")),
	);
	assert.deepEqual(texts(live(state)), [
		"tool ls → a",
		"tool   1 file, 1 dir",
		"tool read → x",
		"tool find → *",
		"tool   2 matches",
		"text done",
	]);
});

test("A window has its newest lines, and all lines up to 500 for when it is expanded [A113, X32]", () => {
	const state = withMessages(...Array.from({ length: 300 }, (_, index) => assistant(said(`a ${index}\nb ${index}`))));
	assert.equal(live(state).lines.length, 15);
	assert.equal(live(state).lines.at(-1)?.text, "b 299");
	const final = only(finalWindows([taskWith(completed(state))], AUDIENCE));
	assert.deepEqual(final.lines, final.allMessages.slice(-15));
	assert.equal(final.allMessages.length, 500);
	assert.equal(final.allMessages.at(-1)?.text, "b 299");
});

test("A text without line ends goes on in further lines, and its end is seen while it is written", () => {
	const state = reduce(running, { type: "delta", text: `${"x".repeat(400_000)}👍end` });
	const { lines } = live(state);
	assert.ok(lines.length > 1 && lines.every(({ text }) => text.length <= 1_000));
	assert.ok(lines.at(-1)?.text.endsWith("👍end"));
});

test("A window carries the fields of its task, its run and its end (A19)", () => {
	const spec = {
		agent: { name: "reviewer", scope: "project" as const },
		model: { provider: "mock", id: "mock-2", thinking: "high" },
	};
	const window = live(withMessages(assistant(said("hm"))), spec);
	assert.deepEqual(
		{ ...window, usage: null },
		{
			name: "scout",
			sessionId: "a3f7b9c2d1e8f4a1",
			status: "running",
			lines: [{ text: "hm", kind: "text" }],
			allMessages: [{ text: "hm", kind: "text" }],
			exitCode: null,
			model: "mock/mock-2",
			thinking: "high",
			profileName: "reviewer",
			profileSource: "project",
			timeout: 600,
			grace: 30,
			state: "running",
			task: "look around\nand tell",
			doing: { word: "thinking", text: "", keep: "end", since: 1_000 },
			startedAt: 1_000,
			toolCalls: 0,
			usage: null,
		},
	);
	const end = only(finalWindows([taskWith(failed(withMessages(assistant(said("hm"))), "429 slow down"))], AUDIENCE));
	assert.deepEqual(
		[end.status, end.exitCode, end.model, end.stopReason, end.errorMessage, end.completedAt, end.allMessages.length],
		["error", 1, "mock/mock-1", "stop", "429 slow down", 5_000, 1],
	);
	assert.deepEqual([end.note, end.state], ["429 slow down", "failed"]);
	assert.deepEqual([end.runId, end.directory], ["20261118-010014-36c6f4d5", "/home/ann/runs/20261118-010014-36c6f4d5"]);
	const waiting = live(initialState);
	assert.deepEqual([waiting.startedAt, waiting.status, waiting.queued, waiting.state], [0, "running", true, "queued"]);
});

test("What it does now, in words: a tool with its preview, a retry with its reason, a thought from its end", () => {
	const doing = (...events: RunEvent[]) => live(events.reduce(reduce, running)).doing;
	const started: RunEvent = {
		type: "tool-started",
		nested: false,
		callId: "1",
		name: "bash",
		args: { command: "npm test" },
	};
	const clock: RunEvent = { type: "clock", at: 7_000 };
	assert.deepEqual(doing(), { word: "starting", text: "", keep: "end", since: 0 });
	assert.deepEqual(doing(clock, started), { word: "bash", text: "npm test", keep: "start", since: 7_000 });
	const second: RunEvent = { type: "tool-started", nested: false, callId: "2", name: "read", args: { path: "a.ts" } };
	assert.equal(doing(started, second)?.text, "a.ts (+1 more)");
	const odd: RunEvent = { type: "tool-started", nested: false, callId: "3", name: "deploy", args: { to: 1 } };
	assert.deepEqual(doing(clock, odd), { word: "deploy", text: '{"to":1}', keep: "start", since: 7_000 });
	assert.equal(doing({ type: "thinking", text: `${"a ".repeat(400)}because` })?.text.slice(-9), "a because");
	assert.equal(doing({ type: "delta", text: "so\nfar" })?.text, "so far");
	assert.equal(doing({ type: "calling", tool: "write", chars: 0 })?.text, "a call of write");
	const reason = '529: {"message":"Overloaded","type":"overloaded_error"}';
	const retrying = doing(clock, { type: "retrying", reason, counted: { attempt: 1, of: 3 }, delayMs: 2_000 });
	assert.deepEqual(retrying, {
		...{ word: "retrying", text: "529 Overloaded", keep: "start", since: 0 },
		retry: { attempt: 1, of: 3, at: 9_000 },
	});
	const written = reduce(running, { type: "delta", text: "x".repeat(4_000) });
	assert.equal(live(written).written, 4_000);
});

test("How it ended, in a line: an answer's first words, or a reason that a person can use", () => {
	const note = (state: RunState, outcome: Outcome) =>
		only(finalWindows([taskWith(endedWith(state, outcome))], AUDIENCE)).note;
	const answered = (text: string) => note(running, { kind: "completed", text, end: "natural" });
	assert.equal(answered("# Findings\n\n- **auth** is `fine`\n"), "auth is fine");
	assert.equal(answered("## Only a heading"), "Only a heading");
	assert.equal(answered(" \n"), "no text output");
	const stopped = (cause: StopCause, state = running) =>
		note(state, { kind: "failed", failure: { kind: "stopped", cause } });
	assert.equal(stopped({ kind: "timeout", afterMs: 600_000 }), "Timed out: 10m limit, then 30s without a tool call.");
	const looping = withMessages(assistant(call("bash", { command: "cat config.json" })));
	assert.equal(stopped({ kind: "loop", tool: "bash" }, looping), "Loop: bash cat config.json, 5 times in a row");
	assert.equal(stopped({ kind: "aborted", by: "person" }), "stopped by you");
	assert.equal(stopped({ kind: "aborted", by: "caller" }), "stopped");
});

test("A task that was moved to the background is running, moved, and drawn as such (X40)", () => {
	const moved = only(finalWindows([{ ...taskWith(running), moved: true }], AUDIENCE));
	assert.deepEqual(
		[moved.status, moved.moved, moved.state, moved.note],
		["running", true, "moved", "moved to the background"],
	);
});

test("A call that failed is marked with the line that says why; its text stays", () => {
	const result = (toolName: string, text: string, id: string) => ({ ...toolResult(toolName, text, id), isError: true });
	const state = withMessages(
		assistant(call("read", { path: "x" }, "1"), call("bash", { command: "make" }, "2"), call("ls", {}, "3")),
		result("read", "ENOENT: no such file\nat x", "1"),
		result("bash", "cc a.c\nerror: b\n\nCommand exited with code 2", "2"),
		toolResult("ls", "a", "3"),
	);
	assert.deepEqual(
		live(state).lines.map(({ text, failed }) => [text, failed]),
		[
			["read → x", "ENOENT: no such file"],
			["bash → make", "Command exited with code 2"],
			["ls → .", undefined],
			["  1 file", undefined],
		],
	);
});

test("write_todos sets the list, completed indices count once, a complete list is not shown (A112, X26)", () => {
	const write = assistant(call("write_todos", { todos: ["a", "b", "c"] }));
	const complete = (...indices: number[]) => assistant(call("edit_todos", { action: "complete", indices }));
	assert.equal(live(running).todos, undefined);
	assert.deepEqual(live(withMessages(write)).todos, { done: 0, total: 3 });
	assert.deepEqual(live(withMessages(write, complete(0), complete(0, 2))).todos, { done: 2, total: 3 });
	assert.deepEqual(live(withMessages(write, assistant(call("edit_todos", { action: "remove", indices: [1] })))).todos, {
		done: 0,
		total: 3,
	});
	assert.equal(live(withMessages(write, complete(0, 1, 2))).todos, undefined);
	assert.deepEqual(live(withMessages(write, complete(0, 1, 2), write)).todos, { done: 0, total: 3 });
});

test("A terminal decides the width of previews, the setting where there is none (A159)", () => {
	const settings = { maxLinesPerWindow: 15, commandPreviewWidth: 90 };
	const width = (output: { isTTY?: boolean; columns?: number; rows?: number }) =>
		displayOf(settings, output, "/home/ann").previewWidth;
	assert.equal(width({ isTTY: true, columns: 120, rows: 40 }), 116);
	assert.equal(width({ isTTY: true, columns: 10, rows: 40 }), 20);
	assert.equal(width({}), 90);
	assert.equal(displayOf({ ...settings, commandPreviewWidth: 3 }, {}, "").previewWidth, 20);
	const state = withMessages(assistant(call("deploy", { text: "x".repeat(300) })));
	const [narrow] = partialWindows([taskWith(state)], { ...AUDIENCE, previewWidth: 40 });
	const [wide] = partialWindows([taskWith(state)], { ...AUDIENCE, previewWidth: 100 });
	assert.deepEqual([narrow?.lines[0]?.text.length, wide?.lines[0]?.text.length], [40, 100]);
});

function endless(): ShownTask[] {
	const noise = Array.from({ length: 200 }, (_, index) => assistant(said(`${index} ${"é".repeat(900)}\n`.repeat(9))));
	return Array.from({ length: 16 }, () => taskWith(completed(withMessages(...noise))));
}

test("The windows of a call have at most 32 kB while it runs and 40 kB at its end, and the lines use that room [X32]", () => {
	const sizeOf = (windows: readonly TaskWindow[]) => Buffer.byteLength(JSON.stringify(windows));
	const wide = { ...AUDIENCE, runningLines: 100 };
	for (const tasks of [
		endless(),
		endless().slice(0, 1),
		endless().map((task) => ({ ...task, name: "é".repeat(9_000) })),
	]) {
		const [partial, final] = [sizeOf(partialWindows(tasks, wide)), sizeOf(finalWindows(tasks, AUDIENCE))];
		assert.ok(partial <= 32_000 && partial > 15_000, `partial: ${partial}`);
		assert.ok(final <= 40_000 && final > 20_000, `final: ${final}`);
	}
	const broken = endless().map((task) => ({ ...task, state: failed(task.state, "\u0001é".repeat(5_000)) }));
	assert.ok(sizeOf(partialWindows(broken, wide)) <= 32_000);
	assert.ok(sizeOf(finalWindows(broken, AUDIENCE)) <= 40_000);
	const [quiet, loud] = finalWindows(
		[taskWith(completed(withMessages(assistant(said("short"))))), ...endless().slice(0, 1)],
		AUDIENCE,
	);
	assert.equal(quiet?.allMessages.length, 1);
	assert.ok(sizeOf(loud ? [loud] : []) > 30_000, "what one task does not need, the others get");
});

test("What has not changed is not made again", () => {
	const before = withMessages(assistant(said("one"), call("ls", {})));
	const first = live(before);
	const next = live(reduce(before, { type: "message", message: assistant(said("two")) }));
	assert.equal(live(before).lines[0], first.lines[0]);
	assert.equal(next.lines[0], first.lines[0]);
	assert.equal(next.lines.at(-1)?.text, "two");
});
