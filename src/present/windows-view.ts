import { type AgentToolResult, keyText, type Theme } from "@earendil-works/pi-coding-agent";
import type { Component } from "@earendil-works/pi-tui";
import { DEFAULT_LINES } from "../domain/shown-lines.ts";
import { columnsOf, fitLine } from "./fit.ts";
import { fleetKeyText } from "./fleet-key.ts";
import { type FrameState, frameBottom, type Tone } from "./frame-view.ts";
import { type Item, itemsWithin, type Sorted, shareRows } from "./layout.ts";
import { sanitizeLine } from "./sanitize.ts";
import { type Columns, columnsFor, figuresText, labelOf, tableRow, taskRow, totalFigures } from "./task-row-view.ts";
import { countsText, endText, type TaskState, WORDS } from "./task-state.ts";
import { renderContent } from "./text-view.ts";
import { allLinesOf, type TaskWindow } from "./window.ts";
import { expandedRows, lineRows, rowIndent } from "./window-body-view.ts";

/** What every tool that runs children puts into its details. */
export interface WindowsDetails {
	readonly windows?: readonly TaskWindow[];
	readonly maxLinesPerWindow?: number;
	readonly maxConcurrency?: number;
}

/** Kept by pi for as long as the block exists. */
export interface WindowsState extends FrameState {
	/** How tall the block is: it does not shrink while it runs. */
	steady?: { readonly key: string; readonly rows: number };
	/** How many tasks run at a time, once that is known. */
	atATime?: number;
}

export interface Screen {
	readonly rows: number;
	readonly now: number;
	readonly live: LiveBlocks;
}

/**
 * The blocks of calls that run at the same time, since when each was not updated, or that it has ended. They share the
 * screen until all have ended: what grows below a block that still runs would push it off the screen.
 */
export type LiveBlocks = Map<WindowsState, number | "ended">;

const live: LiveBlocks = new Map();
const terminalScreen = (): Screen => ({ rows: process.stdout.rows ?? 24, now: Date.now(), live });

/** What the rest of pi's screen needs: a block that does not fit makes it wipe the scrollback at every update. */
const OTHER_ROWS = 12;
/** The call's own line, and the empty rows of the frame above and below. */
const FRAME_ROWS = 3;
/** A block that runs is updated every second; one that was thrown away is soon forgotten. */
const FORGOTTEN_MS = 5_000;

/** The live block of a call, and what is left of it after its end. There is no timer: every update brings its time. */
export function renderWindows(
	result: AgentToolResult<WindowsDetails>,
	options: { readonly expanded: boolean; readonly isPartial: boolean },
	theme: Theme,
	context: { readonly state: WindowsState; readonly isError?: boolean },
	lookAtScreen: () => Screen = terminalScreen,
): Component {
	const screen = lookAtScreen();
	const { state } = context;
	noteBlock(screen, state, options.isPartial);
	const windows = (result.details?.windows ?? []).map(withState);
	state.atATime = result.details?.maxConcurrency ?? 0;
	const failed = context.isError || windows.some((window) => window.state === "failed");
	const tone: Tone = options.isPartial ? "pending" : failed ? "error" : "success";
	if (windows.length === 0) {
		return frameBottom(renderContent(result, DEFAULT_LINES, options.expanded, theme), state, theme, tone);
	}
	const maxLines = result.details?.maxLinesPerWindow ?? DEFAULT_LINES;
	let drawn: { key: string; rows: string[] } | undefined;
	const block: Component = {
		render(width) {
			const { rows, live, now } = lookAtScreen();
			forgetBlocks({ rows, live, now });
			const isLive = options.isPartial || live.has(state);
			// The rows of a block with its frame.
			const share = isLive ? Math.floor((rows - OTHER_ROWS) / Math.max(1, live.size)) : 0;
			const key = `${width} ${isLive} ${share}`;
			if (drawn?.key === key) return drawn.rows;
			const columns = columnsFor(windows.map(labelOf), width);
			const frame: Frame = { windows, maxLines, theme, width, columns, now: screen.now, ...options };
			drawn = { key, rows: isLive ? runningRows(frame, share, state) : finalRows(frame) };
			return drawn.rows;
		},
		invalidate() {
			drawn = undefined;
		},
	};
	return frameBottom(block, state, theme, tone);
}

/** Details of an earlier version have only A's words. */
function withState(window: TaskWindow): TaskWindow {
	if (window.state !== undefined) return window;
	const state = { running: window.startedAt === 0 ? "queued" : "running", completed: "done", error: "failed" } as const;
	return { ...window, state: state[window.status] ?? "failed" };
}

function noteBlock({ now, live }: Screen, state: WindowsState, isRunning: boolean): void {
	if (isRunning) live.set(state, now);
	else if (live.has(state)) live.set(state, "ended");
}

function forgetBlocks({ now, live }: Screen): void {
	for (const [state, at] of live) if (at !== "ended" && now - at > FORGOTTEN_MS) live.delete(state);
	if ([...live.values()].every((at) => at === "ended")) live.clear();
}

/** All that a block is drawn from. */
export interface Frame {
	readonly windows: readonly TaskWindow[];
	readonly maxLines: number;
	readonly theme: Theme;
	readonly width: number;
	readonly columns: Columns;
	readonly now: number;
	readonly expanded: boolean;
	readonly isPartial: boolean;
}

/** While anything runs: within the screen, and never shorter than it was. */
function runningRows(frame: Frame, rowsInAll: number, state: WindowsState): string[] {
	const { width, expanded, isPartial } = frame;
	const room = Math.max(0, rowsInAll - FRAME_ROWS);
	const items = itemsWithin(sorted(frame.windows), room - 1);
	const hint = isPartial ? liveHint() : finalHint();
	const hints = items.length + 1 < room ? [frame.theme.fg("muted", fitLine(hint, width))] : [];
	const below = items.map((item) => detailRows(item, frame, room));
	const least = 1 + items.length + hints.length;
	const wanted = least + below.reduce((sum, rows) => sum + rows.length, 0);
	const key = `${width} ${rowsInAll} ${expanded}`;
	const before = state.steady?.key === key ? state.steady.rows : 0;
	const rows = Math.min(room, Math.max(before, wanted));
	state.steady = { key, rows };
	const granted = shareRows(
		below.map((each) => each.length),
		rows - least,
	);
	const body = items.flatMap((item, index) => {
		const own = granted[index] ?? 0;
		return [itemRow(item, frame), ...(own > 0 ? (below[index] ?? []).slice(-own) : []).map((row) => row())];
	});
	const blank = Array.from({ length: Math.max(0, rows - 1 - body.length - hints.length) }, () => "");
	return [statusRow(frame, isPartial ? countsText : endText), ...body, ...blank, ...hints].slice(0, Math.max(1, room));
}

const liveHint = () => ["esc stop all", ...withKey("more"), `${fleetKeyText()} agents`].join(" · ");
const finalHint = () => [...withKey("tasks, steps, answers, ids"), `${fleetKeyText()} agents`].join(" · ");
const withKey = (what: string): string[] => {
	const key = keyText("app.tools.expand");
	return key === "" ? [] : [`${key} ${what}`];
};

function sorted(windows: readonly TaskWindow[]): Sorted<TaskWindow> {
	const those = (...states: readonly TaskState[]) => windows.filter(({ state }) => states.includes(state));
	const stopped = those("stopped");
	return {
		running: those("running", "asks"),
		failed: those("failed"),
		done: [...those("done", "moved"), ...stopped.filter(hasStarted)],
		stopped: stopped.filter((window) => !hasStarted(window)),
		queued: those("queued"),
	};
}

/** One that was stopped before its turn shares a row with others of its kind. */
const hasStarted = ({ exitCode, allMessages, lines, note }: TaskWindow) =>
	exitCode !== null || allMessages.length > 0 || lines.length > 0 || note !== "never started";

function itemRow(item: Item<TaskWindow>, { columns, now, theme, width }: Frame): string {
	if (item.kind === "task") return taskRow(item.task, columns, now, theme, width);
	const names = fitLine(item.tasks.map(labelOf).join(", "), width - columns.name - 4);
	const name = `${item.tasks.length} ${item.state === "running" ? "more" : WORDS[item.state]}`;
	const text = { painted: theme.fg("muted", names), columns: columnsOf(names) };
	return tableRow({ sign: item.state, name, text, figures: "" }, columns, theme, width);
}

/** Painted only when it is shown. */
type Row = () => string;

/** What a running task said and did last, below what it was asked where that has room. */
function detailRows(item: Item<TaskWindow>, frame: Frame, room: number): Row[] {
	if (item.kind === "group" || item.task.state !== "running") return [];
	const { columns, width, theme, expanded, maxLines } = frame;
	const most = expanded ? room : Math.min(room, maxLines);
	const indent = rowIndent(columns, width);
	const said = withoutCurrent(item.task);
	const lines: Row[] = lineRows(said, width - indent.length, most, theme).map((row) => () => indent + row());
	const task = sanitizeLine(item.task.task ?? "");
	if (lines.length >= most || task === "") return lines;
	return [() => indent + theme.fg("dim", fitLine(task, width - indent.length)), ...lines];
}

/** What it does now stands in its own row. */
function withoutCurrent(window: TaskWindow): TaskWindow["lines"] {
	const { doing } = window;
	const lines = allLinesOf(window);
	const last = lines.at(-1);
	const isCurrent = last?.kind === "tool" && doing !== undefined && last.text.split(" ", 1)[0] === doing.word;
	return isCurrent ? lines.slice(0, -1) : lines;
}

/** How many tasks there are of each kind, and what they took together. */
function statusRow(frame: Frame, describe: (states: readonly TaskState[]) => string): string {
	const { windows, columns, theme, width, now } = frame;
	const states = windows.map(({ state }) => state);
	const counts = fitLine(describe(states), width);
	const failed = states.filter((state) => state === "failed").length;
	const color = failed === 0 ? "text" : failed === windows.length ? "error" : "warning";
	const figures = figuresText(totalFigures(windows, now), columns);
	const gap = width - columnsOf(counts) - columnsOf(figures);
	if (gap < 1) return theme.fg(color, counts);
	return theme.fg(color, counts) + " ".repeat(gap) + theme.fg("muted", figures);
}

/** After the end: a row for every task; expanded, all that is known of it below. */
function finalRows(frame: Frame): string[] {
	const { windows, theme, width, expanded } = frame;
	const { running, failed, done, stopped, queued } = sorted(windows);
	const ordered = windows.filter((window) => !stopped.includes(window) || stopped.length === 1);
	const items: Item<TaskWindow>[] = ordered.map((task) => ({ kind: "task", task }));
	if (stopped.length > 1) items.push({ kind: "group", state: "stopped", tasks: stopped });
	const rows = items.flatMap((item) => [
		itemRow(item, frame),
		...(expanded && item.kind === "task" ? expandedRows(item.task, frame) : []),
	]);
	const hint = expanded || running.length + queued.length + failed.length + done.length === 0 ? [] : [finalHint()];
	return [statusRow(frame, endText), ...rows, ...hint.map((text) => theme.fg("muted", fitLine(text, width)))];
}
