import assert from "node:assert/strict";
import { test } from "node:test";
import { visibleWidth } from "@earendil-works/pi-tui";
import xterm from "@xterm/headless";
import { noUsage } from "../../src/domain/usage.ts";
import { renderDelegateCall, renderSubagentCall } from "../../src/present/call-view.ts";
import type { Doing } from "../../src/present/doing.ts";
import type { TaskWindow } from "../../src/present/window.ts";
import { type LiveBlocks, renderWindows, type WindowsState } from "../../src/present/windows-view.ts";
import { backgroundOf, colored, numbered, plain, textLine, theme, windowWith } from "./windows.ts";

interface Shown {
	width?: number;
	rows?: number;
	now?: number;
	expanded?: boolean;
	state?: WindowsState;
	maxLines?: number;
	live?: LiveBlocks;
	isError?: boolean;
}

/** The block of a result, without its frame. */
function draw(windows: readonly TaskWindow[], isPartial: boolean, shown: Shown = {}): string[] {
	const rows = drawFramed(windows, isPartial, shown);
	return rows.slice(0, -1);
}

function drawFramed(windows: readonly TaskWindow[], isPartial: boolean, shown: Shown = {}): string[] {
	const { width = 100, rows = 40, now = 13_400, expanded = false, state = {}, maxLines = 15, live = new Map() } = shown;
	const result = { content: [], details: { windows, maxLinesPerWindow: maxLines } };
	const screen = () => ({ rows, now, live });
	const context = { state, isError: shown.isError ?? false };
	return renderWindows(result, { expanded, isPartial }, theme, context, screen).render(width);
}
const drawRunning = (windows: readonly TaskWindow[], shown?: Shown) => draw(windows, true, shown);
const drawFinal = (windows: readonly TaskWindow[], shown?: Shown) => draw(windows, false, shown);
const trimmed = (rows: readonly string[]) => plain(rows).map((row) => row.trimEnd());
const done = (changes: Partial<TaskWindow> = {}) =>
	windowWith({ status: "completed", completedAt: 5_000, exitCode: 0, note: "All good.", ...changes });
const failed = (note: string, changes: Partial<TaskWindow> = {}) =>
	windowWith({ status: "error", completedAt: 5_000, exitCode: 1, note, errorMessage: note, ...changes });
const stopped = (note: string, changes: Partial<TaskWindow> = {}) =>
	windowWith({ status: "error", completedAt: 5_000, state: "stopped", note, ...changes });
const queued = (name: string) => windowWith({ name, state: "queued", queued: true, startedAt: 0 });
const usage = (tokens: number, cost: number) => ({
	...noUsage,
	totalTokens: tokens,
	cost: { ...noUsage.cost, total: cost },
});
const doing = (word: string, text = "", changes: Partial<Doing> = {}): Doing => ({
	...{ word, text, keep: "start", since: 0 },
	...changes,
});

const SCENE = [
	windowWith({
		name: "auth",
		task: "Look at the auth part",
		doing: doing("bash", "npm test --silent 2>&1 | tail -20", { since: 1_400 }),
		usage: usage(14_210, 0.0123),
		todos: { done: 1, total: 3 },
		lines: [
			{ text: "read → src/sesion.ts", kind: "tool", failed: "no such file" },
			textLine("Now I run the tests."),
			{ text: "bash → npm test --silent 2>&1 | tail -20", kind: "tool" },
		],
	}),
	windowWith({
		name: "storage",
		doing: doing("writing", "x to the route table. Each of these", { keep: "end" }),
		written: 8_000,
	}),
	windowWith({ name: "queue", doing: doing("thinking", "because", { since: 4_400 }), usage: usage(3_100, 0.001) }),
	windowWith({
		name: "cli",
		doing: doing("retrying", "529 Overloaded", { retry: { attempt: 2, of: 3, at: 17_000 } }),
	}),
	failed("429 Rate limit exceeded", { name: "provider" }),
	done({ name: "routes", usage: usage(15, 0.00001) }),
	queued("config"),
	queued("cache"),
];

test("While a call runs: counts and totals, what each does now, what failed, what is queued [X34]", () => {
	assert.deepEqual(trimmed(drawRunning(SCENE, { rows: 28 })), [
		" 4 running · 1 done · 1 failed · 2 queued                                        12s   ~19k   $0.01",
		" ● auth [1/3]  bash  npm test --silent 2>&1 | tail -20                   12s     12s    14k   $0.01",
		"               Look at the auth part",
		"               ✗ read src/sesion.ts: no such file",
		"               Now I run the tests.",
		" ● storage     writing  x to the route table. Each of these                      12s    ~2k       –",
		" ● queue       thinking  because                                          9s     12s   3.1k   $0.00",
		" ● cli         retrying  529 Overloaded (attempt 2 of 3, next in 4s)             12s      –       –",
		" ✗ provider    429 Rate limit exceeded                                            4s      –       –",
		" ✓ routes      All good.                                                          4s     15   $0.00",
		" ○ 2 queued    config, cache",
		" esc stop all · alt+a agents",
	]);
});

test("The columns on the right go one by one: step time, tokens, cost; the state, the name and the doing stay", () => {
	const row = (width: number) => trimmed(drawRunning(SCENE.slice(0, 1), { width }))[1];
	assert.match(row(80) ?? "", /^ ● auth \[1\/3\] {2}bash {2}npm test --silent 2>&1 \| tail -20 +12s +14k +\$0\.01$/);
	assert.match(row(68) ?? "", /bash {2}npm test --silent 2>&1.* 12s +\$0\.01$/);
	assert.match(row(60) ?? "", /^ ● auth \[1\/3\] {2}bash {2}npm test.* 12s$/);
	assert.match(row(40) ?? "", /^ ● auth \[1\/3\] {2}bash {2}npm test/);
});

test("Past its time limit a task says so, and when it ends [X34]", () => {
	const late = windowWith({ timeout: 5, grace: 30, doing: doing("bash", "sleep 99", { since: 2_000 }) });
	assert.match(plain(drawRunning([late]))[1] ?? "", /over its 5s limit: ends after 30s without a tool call/);
	const leaving = windowWith({ timeout: 5, doing: doing("wrapping up") });
	assert.match(plain(drawRunning([leaving]))[1] ?? "", /● scout +wrapping up/);
});

test("A narrow screen still says why and when a request is sent again", () => {
	assert.match(
		trimmed(drawRunning([SCENE[3] ?? windowWith()], { width: 60 }))[1] ?? "",
		/529 Overload… \(2\/3, in 4s\)/,
	);
});

test("When it has ended: one row for each task, failures first in the count, and how to see more", () => {
	const long = Array.from({ length: 14 }, (_, index) => done({ name: `agent ${index}`, lines: numbered(40) }));
	const rows = trimmed(drawFinal([...long, failed("Timed out: 4s limit."), failed("Loop: bash ls")]));
	assert.equal(rows.length, 18);
	assert.match(rows[0] ?? "", /^ 2 of 16 failed +4s +– +–$/);
	assert.match(rows[1] ?? "", /^ ✓ agent 0 {5}All good\. +4s/);
	assert.match(rows[15] ?? "", /^ ✗ scout {7}Timed out: 4s limit\. +4s/);
	assert.equal(rows.at(-1), " alt+a agents");
	assert.match(trimmed(drawFinal([done(), done()]))[0] ?? "", /^ 2 done /);
});

test("Tasks that were stopped before they started share a row, and are not failed ones", () => {
	const never = (name: string) => stopped("never started", { name });
	const rows = trimmed(drawFinal([done(), stopped("stopped by you", { exitCode: 143 }), never("a"), never("b")]));
	assert.match(rows[0] ?? "", /^ 1 done · 3 stopped /);
	assert.match(rows[2] ?? "", /^ ■ scout {7}stopped by you/);
	assert.equal(rows[3], " ■ 2 stopped   a, b");
	assert.equal(rows.length, 5);
});

test("A call with a failed task is not drawn as a success", () => {
	const tone = (windows: TaskWindow[], isPartial: boolean, isError = false) =>
		drawFramed(windows, isPartial, { isError }).map(backgroundOf);
	assert.ok(tone([done(), windowWith()], true).every((each) => each === "toolPendingBg"));
	assert.ok(tone([done()], false).every((each) => each === "toolSuccessBg"));
	assert.ok(tone([done(), failed("no")], false).every((each) => each === "toolErrorBg"));
	assert.ok(tone([stopped("stopped by you")], false).every((each) => each === "toolSuccessBg"));
	const state: WindowsState = {};
	const call = renderDelegateCall({ tasks: [{}] }, theme, { state });
	assert.deepEqual(
		call.render(40).map(backgroundOf),
		Array.from({ length: 3 }, () => "toolPendingBg"),
	);
	drawFramed([failed("no")], false, { state });
	assert.deepEqual(call.render(40).map(backgroundOf), ["toolErrorBg", "toolErrorBg"]);
});

test("Expanded it has its task, its steps with those that failed, its answer, its ids and its directory", () => {
	const lines = [
		textLine("let me see"),
		{ text: "read → a.ts", kind: "tool" as const, failed: "ENOENT" },
		{
			text: "edit → a +3/-1",
			kind: "tool" as const,
			marks: [
				[9, 11, "added"],
				[12, 14, "removed"],
			] as const,
		},
		textLine("It is fine."),
	];
	const window = done({
		...{ task: "Look at it.\nAll of it.", lines, answer: "It is fine.", runId: "20261118-010014-36c6f4d5" },
		directory: "/home/ann/runs/20261118-010014-36c6f4d5",
	});
	const rows = drawFinal([window, failed("it\nbroke")], { expanded: true });
	assert.deepEqual(trimmed(rows).slice(2, 14), [
		"   Task",
		"     Look at it.",
		"     All of it.",
		"   Steps",
		"     let me see",
		"     ✗ read a.ts: ENOENT",
		"     edit  a +3/-1",
		"   Answer",
		"     It is fine.",
		"   session a3f7b9c2d1e8f4a1 · run 20261118-010014-36c6f4d5",
		"   /home/ann/runs/20261118-010014-36c6f4d5",
		"",
	]);
	const edit = rows[8] ?? "";
	assert.deepEqual(colored(edit, "toolDiffAdded"), ["+3"]);
	assert.deepEqual(colored(edit, "toolDiffRemoved"), ["-1"]);
	assert.deepEqual(colored(edit, "muted"), ["edit  a ", "/"]);
	assert.ok(rows.some((row) => colored(row, "error").includes("broke")));
	assert.ok(!plain(drawFinal([window])).some((row) => row.includes("36c6f4d5")));
});

test("Details that an earlier version left are drawn with the signs of today", () => {
	const old = (changes: Partial<TaskWindow>) => {
		const { state: _state, ...rest } = windowWith(changes);
		return rest as TaskWindow;
	};
	const rows = trimmed(
		drawFinal([
			old({ status: "completed", completedAt: 2_000 }),
			old({ status: "error", completedAt: 2_000, errorMessage: "no key" }),
		]),
	);
	assert.match(rows[1] ?? "", /^ ✓ scout/);
	assert.match(rows[2] ?? "", /^ ✗ scout {7}no key/);
	assert.match(trimmed(drawRunning([old({ startedAt: 0 }), old({ startedAt: 0 })]))[1] ?? "", /^ ○ 2 queued/);
});

const crowd = (count: number, lines: number) =>
	Array.from({ length: count }, (_, index) =>
		windowWith({ name: `agent ${index}`, lines: numbered(lines), doing: doing("thinking") }),
	);

test("While anything runs a block stays within the screen, also expanded (X26)", () => {
	for (const rows of [10, 16, 20, 24, 40, 50, 100]) {
		for (const count of [1, 4, 16]) {
			for (const expanded of [false, true]) {
				const height = drawRunning(crowd(count, 500), { rows, expanded, maxLines: 500 }).length;
				assert.ok(height + 3 <= Math.max(4, rows - 12), `${count} windows on ${rows} rows: ${height}`);
			}
		}
	}
	assert.equal(drawRunning(crowd(1, 500), { rows: 50, expanded: true }).length, 35);
	assert.equal(drawRunning(crowd(1, 500), { rows: 50 }).length, 3 + 15);
});

test("On 60x20 with 16 tasks every running one and what it does is seen (X26)", () => {
	const windows = [...SCENE.slice(0, 4), ...Array.from({ length: 12 }, (_, index) => queued(`q${index}`))];
	const rows = trimmed(drawRunning(windows, { rows: 20, width: 60 }));
	assert.equal(rows.length, 5);
	assert.match(rows[0] ?? "", /^ 4 running · 12 queued/);
	assert.deepEqual(
		rows.slice(1).map((row) => /^ ● \S+(?: \[1\/3\])? +(\w+)/.exec(row)?.[1]),
		["bash", "writing", "thinking", "retrying"],
	);
	const busy = trimmed(drawRunning(crowd(16, 3), { rows: 20, width: 60 }));
	assert.equal(busy.at(-1), " ● 13 more     agent 3, agent 4, agent 5, agent 6, agent 7…");
});

test("A block does not shrink while it runs, whatever its tasks do (X26)", () => {
	const state: WindowsState = {};
	const height = (windows: TaskWindow[]) => drawRunning(windows, { state, rows: 30 }).length;
	const grown = height(crowd(3, 9));
	assert.equal(height(crowd(3, 2)), grown);
	assert.equal(height([done(), ...crowd(2, 1)]), grown);
	assert.equal(height([done(), done(), done()]), grown);
	const resized = drawRunning(crowd(3, 2), { state, rows: 31 }).length;
	assert.equal(resized, 1 + 3 * 3 + 1);
});

test("Calls that run at the same time share the screen until all have ended (X26)", () => {
	const live: LiveBlocks = new Map();
	const [first, second]: [WindowsState, WindowsState] = [{}, {}];
	const running = (state: WindowsState, now: number) =>
		drawRunning(crowd(2, 50), { state, live, now, rows: 40 }).length;
	const ended = [done(), failed("no")];
	const final = (state: WindowsState, now: number) => drawFinal(ended, { state, live, now, rows: 40 }).length;
	assert.equal(running(first, 1_000), 25);
	assert.equal(running(second, 1_100), 11);
	assert.equal(running(first, 1_200), 11);
	assert.equal(final(second, 1_300), 11);
	assert.equal(running(first, 1_400), 11);
	assert.equal(final(first, 1_500), 4);
	assert.equal(final(second, 1_600), 4);
	assert.equal(live.size, 0);
});

test("A block that is not updated any more takes no room (X26)", () => {
	const live: LiveBlocks = new Map();
	const height = (state: WindowsState, now: number) => drawRunning(crowd(2, 50), { state, live, now, rows: 40 }).length;
	height({}, 1_000);
	const state = {};
	assert.equal(height(state, 2_000), 11);
	assert.equal(height(state, 9_000), 25);
	// One that ended long ago is drawn as it is while another runs.
	assert.equal(drawFinal([done(), done()], { live, now: 9_100 }).length, 4);
});

const HARD = [
	"日本語のとても長い行です。".repeat(8),
	"한국어 텍스트 ".repeat(12),
	"👩‍👩‍👧👨‍👩‍👧‍👦🏳️‍🌈".repeat(20),
	`e\u0301${"\u0301".repeat(50)}`.repeat(20),
	"ﷺ नमस्ते ".repeat(12),
	"no-spaces-at-all".repeat(30),
	"",
];

test("No row is ever wider than the screen", () => {
	const lines = HARD.map(textLine).concat(HARD.map((text) => ({ text: `bash → ${text}`, kind: "tool" as const })));
	const windows = HARD.map((text, index) => {
		const common = {
			...{ name: text, lines, profileName: text, task: text, note: text, answer: text, directory: text },
			...{ doing: doing(text, text), todos: { done: 1, total: 4 }, usage: usage(4_210, 0.021) },
		};
		return index % 2
			? windowWith(common)
			: windowWith({ ...common, status: "error", errorMessage: text, completedAt: 9_000 });
	});
	for (const width of [...Array.from({ length: 24 }, (_, index) => index + 1), 40, 80, 200]) {
		for (const expanded of [false, true]) {
			const rows = [
				...drawRunning(windows, { width, expanded, rows: 60 }),
				...drawRunning(windows, { width, expanded, rows: 24 }),
				...drawFinal(windows, { width, expanded }),
				...renderDelegateCall({ tasks: [{ profile: HARD[0] }], profile: HARD[2] }, theme, { state: {} }).render(width),
			];
			for (const row of rows)
				assert.ok(visibleWidth(row) <= width, `${width}: ${visibleWidth(row)} ${JSON.stringify(row)}`);
		}
	}
});

test("Whatever a window contains, the terminal only prints (S22, S23)", async () => {
	const evil = "a\u001b]52;c;ZXZpbA==\u0007\u001b]0;owned\u0007\u001b[2J\u001b[6n\u009b5A\b\b\b\r\u202eb\u0090x";
	const windows = [
		windowWith({ name: evil, profileName: evil, model: evil, task: evil, doing: doing(evil, evil) }),
		windowWith({
			name: "x",
			lines: [
				...[textLine(evil), textLine(`日本 ${evil}`)],
				{ text: evil.repeat(9), kind: "tool" },
				{ text: evil, kind: "tool", failed: evil },
			],
		}),
		windowWith({ name: evil, status: "error", errorMessage: evil, note: evil, completedAt: 2_000 }),
		windowWith({
			...{ name: evil, status: "completed", task: evil, answer: evil, directory: evil },
			completedAt: 2_000,
		}),
	];
	const call = renderDelegateCall({ tasks: [{ profile: evil }], profile: evil }, theme, { state: {} });
	const broken = renderWindows(
		{ content: [{ type: "text", text: evil }], details: {} },
		{ expanded: true, isPartial: false },
		theme,
		{ state: {} },
	);
	const rows = [
		...call.render(70),
		...drawRunning(windows, { width: 70 }),
		...drawFinal(windows, { width: 70 }),
		...drawFinal(windows, { width: 70, expanded: true }),
		...broken.render(70),
	];
	const terminal = new xterm.Terminal({ cols: 80, rows: 120, allowProposedApi: true });
	const effects: string[] = [];
	terminal.onTitleChange((title) => effects.push(title));
	terminal.onBell(() => effects.push("bell"));
	terminal.onData((answer) => effects.push(answer));
	terminal.parser.registerOscHandler(52, (data) => effects.push(data) > 0);
	for (const row of rows) await new Promise<void>((resolve) => terminal.write(`${row}\r\n`, resolve));
	assert.deepEqual(effects, []);
	assert.equal(terminal.buffer.active.cursorY, rows.length);
	const screen = rows.map((_, index) => terminal.buffer.active.getLine(index)?.translateToString(true) ?? "");
	assert.deepEqual(
		screen.map((row) => row.trimEnd()),
		plain(rows).map((row) => row.trimEnd()),
	);
	terminal.dispose();
});

const callText = (args: unknown, state: WindowsState = {}) =>
	trimmed(renderDelegateCall(args, theme, { state }).render(120))[1];

test("A call says how many tasks, how many at a time once that is known, and which profiles", () => {
	assert.equal(callText({ tasks: [{}] }), " delegate_to_subagents  1 task");
	assert.equal(callText({ tasks: [{}, {}] }, { atATime: 4 }), " delegate_to_subagents  2 tasks");
	assert.equal(callText({ tasks: [{}, {}, {}] }, { atATime: 2 }), " delegate_to_subagents  3 tasks, 2 at a time");
	assert.equal(
		callText({
			tasks: [{ profile: "writer" }, {}, { profile: "researcher" }, { profile: "writer" }],
			profile: "researcher",
		}),
		" delegate_to_subagents  4 tasks · researcher, writer",
	);
	for (const args of [{}, undefined, { tasks: "soon" }, { tasks: [null] }, { profile: 3 }]) {
		assert.match(callText(args) ?? "", /^ delegate_to_subagents {2}\d tasks?$/);
	}
	const subagent = (args: unknown) => trimmed(renderSubagentCall(args, theme, { state: {} }).render(80))[1];
	assert.equal(subagent({ preset: "scout", task: "x" }), " subagent  scout");
	assert.equal(subagent({ tasks: [{ preset: "scout" }, { agent: "critic" }] }), " subagent  2 tasks · scout, critic");
});

test("A result without windows shows its text", () => {
	const text = Array.from({ length: 20 }, (_, index) => `row ${index}`).join("\n");
	const result = { content: [{ type: "text" as const, text }], details: {} };
	const rows = renderWindows(result, { expanded: false, isPartial: false }, theme, { state: {} }).render(80);
	assert.equal(trimmed(rows).at(-2), " ... (5 more lines)");
});

test("A frame is drawn once, and again for another size of the screen", () => {
	let rows = 40;
	const result = { content: [], details: { windows: crowd(2, 50) } };
	const live = new Map();
	const screen = () => ({ rows, now: 13_400, live });
	const view = renderWindows(result, { expanded: false, isPartial: true }, theme, { state: {} }, screen);
	const first = view.render(80);
	assert.deepEqual(view.render(80), first);
	rows = 24;
	assert.equal(view.render(80).length, 9 + 1);
	assert.notDeepEqual(view.render(100), first);
});

test("The row of an answer that a budget cut short says so before the answer, also where nothing is expanded [X34]", () => {
	const remarks = ["cut short by its budget (2 of 2 turns)"];
	const [, row = ""] = drawFinal([done({ remarks })]);
	assert.match(plain([row])[0] ?? "", / cut short by its budget \(2 of 2 turns\) · All good\./);
	assert.equal(colored(row, "warning").length, 1);
	const [, error = ""] = plain(drawFinal([failed("no key", { remarks })]));
	assert.match(error, / no key/);
	assert.doesNotMatch(error, /cut short/);
});
