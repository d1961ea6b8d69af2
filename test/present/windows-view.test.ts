import assert from "node:assert/strict";
import { test } from "node:test";
import { visibleWidth } from "@earendil-works/pi-tui";
import xterm from "@xterm/headless";
import { noUsage } from "../../src/domain/usage.ts";
import { renderDelegateCall } from "../../src/present/call-view.ts";
import { headerOf } from "../../src/present/status-line.ts";
import type { TaskWindow } from "../../src/present/window.ts";
import { type LiveBlocks, renderWindows, type WindowsState } from "../../src/present/windows-view.ts";
import { colored, numbered, plain, textLine, theme, windowWith } from "./windows.ts";

interface Shown {
	width?: number;
	rows?: number;
	now?: number;
	expanded?: boolean;
	state?: WindowsState;
	maxLines?: number;
	live?: LiveBlocks;
}

function draw(windows: readonly TaskWindow[], isPartial: boolean, shown: Shown = {}): string[] {
	const { width = 100, rows = 40, now = 13_400, expanded = false, state = {}, maxLines = 15, live = new Map() } = shown;
	const result = { content: [], details: { windows, maxLinesPerWindow: maxLines } };
	const screen = () => ({ rows, now, live });
	return renderWindows(result, { expanded, isPartial }, theme, { state }, screen).render(width);
}
const drawRunning = (windows: readonly TaskWindow[], shown?: Shown) => draw(windows, true, shown);
const drawFinal = (windows: readonly TaskWindow[], shown?: Shown) => draw(windows, false, shown);
const done = (changes: Partial<TaskWindow> = {}) =>
	windowWith({ status: "completed", completedAt: 5_000, exitCode: 0, ...changes });

const header = (window: TaskWindow, columns?: number, now = 13_400): string =>
	headerOf(window, now, columns)
		.map(({ text }) => text)
		.join("");

const FULL = windowWith({
	profileName: "reviewer",
	profileSource: "project",
	model: "mock/mock-1",
	thinking: "high",
	toolCalls: 3,
	todos: { done: 1, total: 4 },
	usage: { ...noUsage, totalTokens: 4_210, cost: { ...noUsage.cost, total: 0.021 } },
});

test("A111, X26: a header names everything that is known", () => {
	const whole = "⏳ scout • reviewer [project] (mock/mock-1 high) • 3 tools • [1/4] • 12s/600s • 4.2k tokens $0.0210";
	assert.equal(header(FULL), whole);
	const { profileName: _name, profileSource: _source, ...plainWindow } = FULL;
	assert.equal(header(windowWith()), "⏳ scout • 0 tools • 12s/600s");
	assert.equal(header(plainWindow), "⏳ scout • mock/mock-1 high • 3 tools • [1/4] • 12s/600s • 4.2k tokens $0.0210");
	assert.equal(header({ ...FULL, profileSource: "global" }), whole.replace(" [project]", ""));
	assert.equal(
		header({ ...FULL, profileSource: "project, hides global" }),
		whole.replace(" [project]", " [project, hides global]"),
	);
	assert.equal(header(windowWith({ startedAt: 0 })), "⏳ scout • 0 tools • waiting");
	assert.equal(header(windowWith({ timeout: 0 })), "⏳ scout • 0 tools • 12s");
});

test("A112: the time ticks while a window runs and is frozen afterwards", () => {
	assert.equal(header(windowWith(), 80, 2_999), "⏳ scout • 0 tools • 1s/600s");
	assert.equal(header(windowWith(), 80, 3_000), "⏳ scout • 0 tools • 2s/600s");
	assert.equal(header(done(), 80, 900_000), "✓ scout • 0 tools • 4s/600s");
	assert.equal(header(windowWith({ status: "error", completedAt: 5_000 }), 80, 900_000), "✗ scout • 0 tools • 4s/600s");
});

test("A111: a header that must stay on one row leaves out what matters least first", () => {
	assert.equal(header(FULL, 80), "⏳ scout • reviewer [project] (mock/mock-1 high) • 3 tools • [1/4] • 12s/600s");
	assert.equal(header(FULL, 60), "⏳ scout • reviewer [project] • 3 tools • [1/4] • 12s/600s");
	assert.equal(header(FULL, 40), "⏳ scout • 3 tools • [1/4] • 12s/600s");
	assert.equal(header(FULL, 20), "⏳ scout • 12s/600s");
	assert.equal(header(FULL, 6), "⏳ sc…");
});

test("A110, X26: the status line counts, and leaves out what there is none of", () => {
	const failed = windowWith({ status: "error", errorMessage: "no" });
	assert.equal(
		plain(drawRunning([windowWith(), windowWith(), done(), failed]))[0],
		"Sub-agents: 2 running, 1 done, 1 error",
	);
	assert.equal(plain(drawRunning([windowWith()]))[0], "Sub-agents: 1 running");
});

test("A113: a collapsed window shows its last lines, or that it is starting", () => {
	const rows = plain(drawRunning([windowWith({ lines: numbered(40) }), windowWith()], { rows: 60, maxLines: 3 }));
	assert.deepEqual(rows.slice(1), [
		"⏳ scout • 0 tools • 12s/600s",
		"  line 38",
		"  line 39",
		"  line 40",
		"⏳ scout • 0 tools • 12s/600s",
		"  (starting...)",
	]);
});

test("A113: after the end a window has its last lines, or all of them when expanded", () => {
	const windows = [done({ lines: numbered(500) }), done()];
	const collapsed = plain(drawFinal(windows));
	assert.equal(collapsed[0], "Sub-agents: 2 done");
	assert.equal(collapsed.length, 1 + 16 + 2 + 1);
	assert.equal(collapsed[2], "  line 486");
	assert.equal(collapsed.at(-2), "  (no output)");
	const expanded = plain(drawFinal(windows, { expanded: true, rows: 24 }));
	assert.equal(expanded.length, 1 + 501 + 2 + 1);
	assert.equal(expanded[0], "Sub-agents: 2 done");
});

test("A115: colours of tool lines, errors and the footer", () => {
	const lines = [
		{
			text: "edit → a +3/-1",
			kind: "tool" as const,
			marks: [
				[9, 11, "added"],
				[12, 14, "removed"],
			] as const,
		},
	];
	const rows = drawFinal([
		done({ lines }),
		windowWith({ status: "error", completedAt: 5_000, errorMessage: "it\nbroke" }),
	]);
	const tool = rows[2] ?? "";
	assert.deepEqual(colored(tool, "toolDiffAdded"), ["+3"]);
	assert.deepEqual(colored(tool, "toolDiffRemoved"), ["-1"]);
	assert.deepEqual(colored(tool, "muted"), ["edit → a ", "/"]);
	assert.deepEqual(colored(rows[4] ?? "", "error"), ["it broke"]);
	assert.equal(plain(rows).at(-1), "Sessions: a3f7b9c2d1e8f4a1 scout • a3f7b9c2d1e8f4a1 scout");
	assert.ok((rows[1] ?? "").includes("\u001b[1m scout\u001b[22m"));
	assert.ok(!plain(drawRunning([done(), windowWith()])).some((row) => row.includes("Sessions")));
});

test("a tool line that is cut keeps the colours of what is left", () => {
	const marks = [
		[4, 6, "added"],
		[30, 32, "removed"],
	] as const;
	const lines = [{ text: `abc +1 ${"x".repeat(23)}-2`, kind: "tool" as const, marks }];
	const row = drawRunning([windowWith({ lines })], { width: 20 })[2] ?? "";
	assert.equal(plain([row])[0], "  abc +1 xxxxxxxxxx…");
	assert.deepEqual(colored(row, "toolDiffAdded"), ["+1"]);
	assert.deepEqual(colored(row, "toolDiffRemoved"), []);
});

const crowd = (count: number, lines: number) =>
	Array.from({ length: count }, (_, index) => windowWith({ name: `agent ${index}`, lines: numbered(lines) }));

test("X26: while anything runs a block stays within the screen, also expanded", () => {
	for (const rows of [10, 16, 24, 40, 50, 100]) {
		for (const count of [1, 4, 16]) {
			for (const expanded of [false, true]) {
				const height = drawRunning(crowd(count, 500), { rows, expanded, maxLines: 500 }).length;
				assert.ok(height + 3 <= Math.max(4, rows - 12), `${count} windows on ${rows} rows: ${height}`);
			}
		}
	}
	assert.equal(drawRunning(crowd(1, 500), { rows: 50, expanded: true }).length, 35);
	assert.equal(drawRunning(crowd(1, 500), { rows: 50 }).length, 17);
});

test("X26: 16 windows on 24 rows: what fits, what each does, and how many more there are", () => {
	const windows = [...crowd(4, 30), ...Array.from({ length: 12 }, () => windowWith({ startedAt: 0 }))];
	const rows = plain(drawRunning(windows, { rows: 24, width: 60 }));
	assert.equal(rows.length, 9);
	assert.equal(rows[1], "⏳ agent 0 • 0 tools • 12s/600s • line 30");
	assert.equal(rows.at(-1), "… 9 more: 9 waiting");
	const broken = windowWith({ status: "error", completedAt: 2_000, errorMessage: "the key is wrong" });
	const crowded = plain(drawRunning([broken, ...windows.slice(1)], { rows: 24, width: 60 }));
	assert.equal(crowded[1], "✗ scout • 0 tools • 1s/600s • the key is wrong");
});

test("X26: windows do not jump while they run", () => {
	const state: WindowsState = {};
	const height = (windows: TaskWindow[]) => drawRunning(windows, { state, rows: 30 }).length;
	const grown = height(crowd(3, 9));
	assert.equal(height(crowd(3, 2)), grown);
	assert.equal(height([done({ lines: numbered(1) }), ...crowd(2, 1)]), grown);
	const resized = drawRunning(crowd(3, 2), { state, rows: 31 }).length;
	assert.equal(resized, 1 + 3 * 3);
});

test("X26: calls that run at the same time share the screen until all have ended", () => {
	const live: LiveBlocks = new Map();
	const [first, second]: [WindowsState, WindowsState] = [{}, {}];
	const running = (state: WindowsState, now: number) =>
		drawRunning(crowd(2, 50), { state, live, now, rows: 40 }).length;
	const final = (state: WindowsState, now: number) => drawFinal(crowd(2, 50), { state, live, now, rows: 40 }).length;
	assert.equal(running(first, 1_000), 25);
	assert.equal(running(second, 1_100), 11);
	assert.equal(running(first, 1_200), 11);
	assert.equal(final(second, 1_300), 11);
	assert.equal(running(first, 1_400), 11);
	assert.equal(final(first, 1_500), 1 + 2 * 16 + 1);
	assert.equal(final(second, 1_600), 1 + 2 * 16 + 1);
	assert.equal(live.size, 0);
});

test("X26: a block that is not updated any more takes no room", () => {
	const live: LiveBlocks = new Map();
	const height = (state: WindowsState, now: number) => drawRunning(crowd(2, 50), { state, live, now, rows: 40 }).length;
	height({}, 1_000);
	const state = {};
	assert.equal(height(state, 2_000), 11);
	assert.equal(height(state, 9_000), 25);
	// One that ended long ago is drawn whole while another runs.
	assert.equal(drawFinal(crowd(2, 50), { live, now: 9_100 }).length, 1 + 2 * 16 + 1);
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

test("no row is ever wider than the screen", () => {
	const lines = HARD.map(textLine).concat(HARD.map((text) => ({ text: `bash → ${text}`, kind: "tool" as const })));
	const windows = HARD.map((text, index) => {
		const common = { ...FULL, name: text, lines, profileName: text };
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
				...renderDelegateCall({ tasks: [{ profile: HARD[0] }], profile: HARD[2] }, theme, {
					isPartial: expanded,
				}).render(width),
			];
			for (const row of rows)
				assert.ok(visibleWidth(row) <= width, `${width}: ${visibleWidth(row)} ${JSON.stringify(row)}`);
		}
	}
});

test("S22, S23: whatever a window contains, the terminal only prints", async () => {
	const evil = "a\u001b]52;c;ZXZpbA==\u0007\u001b]0;owned\u0007\u001b[2J\u001b[6n\u009b5A\b\b\b\r\u202eb\u0090x";
	const windows = [
		windowWith({ name: evil, profileName: evil, model: evil, thinking: evil }),
		windowWith({
			name: "x",
			lines: [textLine(evil), textLine(`日本 ${evil}`), { text: evil.repeat(9), kind: "tool" }],
		}),
		windowWith({ name: evil, status: "error", errorMessage: evil, completedAt: 2_000 }),
	];
	const call = renderDelegateCall({ tasks: [{ profile: evil }], profile: evil }, theme, { isPartial: false });
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
		...broken.render(70),
	];
	const terminal = new xterm.Terminal({ cols: 80, rows: 60, allowProposedApi: true });
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
		screen,
		plain(rows).map((row) => row.trimEnd()),
	);
	terminal.dispose();
});

const callText = (args: unknown, isPartial = false) =>
	plain(renderDelegateCall(args, theme, { isPartial }).render(120)).join("\n");

test("A109: a call says how many sub-agents and which profiles", () => {
	assert.equal(callText({ tasks: [{}] }), "delegate_to_subagents 1 sub-agent");
	assert.equal(callText({ tasks: [{}, {}] }), "delegate_to_subagents 2 sub-agents");
	assert.equal(
		callText({
			tasks: [{ profile: "writer" }, {}, { profile: "researcher" }, { profile: "writer" }],
			profile: "researcher",
		}),
		"delegate_to_subagents 4 sub-agents (default profile: researcher) profiles: [writer, researcher]",
	);
	for (const args of [{}, undefined, { tasks: "soon" }, { tasks: [null] }, { profile: 3 }]) {
		assert.match(callText(args, true), /^delegate_to_subagents \d sub-agents?$/);
	}
});

test("a result without windows shows its text", () => {
	const text = Array.from({ length: 20 }, (_, index) => `row ${index}`).join("\n");
	const result = { content: [{ type: "text" as const, text }], details: {} };
	const rows = renderWindows(result, { expanded: false, isPartial: false }, theme, { state: {} }).render(80);
	assert.equal(plain(rows).at(-1), "... (5 more lines)");
});

test("a frame is drawn once, and again for another size of the screen", () => {
	let rows = 40;
	const result = { content: [], details: { windows: crowd(2, 50) } };
	const live = new Map();
	const screen = () => ({ rows, now: 13_400, live });
	const view = renderWindows(result, { expanded: false, isPartial: true }, theme, { state: {} }, screen);
	const first = view.render(80);
	assert.equal(view.render(80), first);
	rows = 24;
	assert.equal(view.render(80).length, 9);
	assert.notEqual(view.render(100), first);
});
