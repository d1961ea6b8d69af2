import { type AgentToolResult, keyText, type Theme, type ThemeColor } from "@earendil-works/pi-coding-agent";
import { type Component, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import { fitLine } from "./fit.ts";
import { type Layout, noLayout, shareRows, type Wish } from "./layout.ts";
import { sanitizeLine } from "./sanitize.ts";
import { headerOf, onlyRowOf, type Segment } from "./status-line.ts";
import { globalStatusLine } from "./text.ts";
import { renderContent } from "./text-view.ts";
import type { TaskWindow } from "./window.ts";
import type { Mark, WindowLine } from "./window-line.ts";
import { lastRows, wrapPlain } from "./window-rows.ts";

/** What every tool that runs children puts into its details. */
export interface WindowsDetails {
	readonly windows?: readonly TaskWindow[];
	readonly maxLinesPerWindow?: number;
}

/** Kept by pi for as long as the block exists. */
export interface WindowsState {
	steady?: { readonly key: string; readonly layout: Layout };
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

const DEFAULT_LINES = 15;
/** What the rest of pi's screen needs: a block that does not fit makes it wipe the scrollback at every update. */
const OTHER_ROWS = 12;
/** The call's own line, and the empty rows of pi's frame above and below. */
const FRAME_ROWS = 3;
const MAX_ERROR_ROWS = 5;
/** A block that runs is updated every second; one that was thrown away is soon forgotten. */
const FORGOTTEN_MS = 5_000;
/** Below so many columns there is nothing to lay out, only something to cut. */
const NARROW = 10;

/** The live windows of a call, and what is left of them after its end. There is no timer: every update brings its time. */
export function renderWindows(
	result: AgentToolResult<WindowsDetails>,
	options: { readonly expanded: boolean; readonly isPartial: boolean },
	theme: Theme,
	context: { readonly state: WindowsState },
	lookAtScreen: () => Screen = terminalScreen,
): Component {
	const screen = lookAtScreen();
	noteBlock(screen, context.state, options.isPartial);
	const windows = result.details?.windows ?? [];
	if (windows.length === 0) {
		return renderContent(result, DEFAULT_LINES, options.expanded, theme);
	}
	const maxLines = result.details?.maxLinesPerWindow ?? DEFAULT_LINES;
	let drawn: { key: string; rows: string[] } | undefined;
	return {
		render(width) {
			const { rows, live, now } = lookAtScreen();
			forgetBlocks({ rows, live, now });
			const isLive = options.isPartial || live.has(context.state);
			// The rows of a block with its frame.
			const share = isLive ? Math.floor((rows - OTHER_ROWS) / Math.max(1, live.size)) : 0;
			const key = `${width} ${isLive} ${share}`;
			if (drawn?.key === key) return drawn.rows;
			const indent = width < NARROW ? 0 : 2;
			const frame: Frame = { windows, maxLines, theme, width, indent, now: screen.now, expanded: options.expanded };
			drawn = { key, rows: isLive ? runningRows(frame, share, context.state) : finalRows(frame) };
			return drawn.rows;
		},
		invalidate() {
			drawn = undefined;
		},
	};
}

function noteBlock({ now, live }: Screen, state: WindowsState, isRunning: boolean): void {
	if (isRunning) live.set(state, now);
	else if (live.has(state)) live.set(state, "ended");
}

function forgetBlocks({ now, live }: Screen): void {
	for (const [state, at] of live) if (at !== "ended" && now - at > FORGOTTEN_MS) live.delete(state);
	if ([...live.values()].every((at) => at === "ended")) live.clear();
}

interface Frame {
	readonly windows: readonly TaskWindow[];
	readonly maxLines: number;
	readonly theme: Theme;
	readonly width: number;
	readonly indent: number;
	readonly now: number;
	readonly expanded: boolean;
}

/** While anything runs: within the screen, and steady. */
function runningRows(frame: Frame, rowsInAll: number, state: WindowsState): string[] {
	const { windows, theme, width } = frame;
	const room = Math.max(0, rowsInAll - FRAME_ROWS - 1);
	const most = frame.expanded ? room : Math.min(room, frame.maxLines);
	const bodies = windows.map((window) => liveBody(window, frame, most));
	const wishes = windows.map((window, index) => ({ phase: phaseOf(window), rows: bodies[index]?.length ?? 0 }));
	const key = `${width} ${rowsInAll} ${frame.expanded}`;
	const layout = shareRows(wishes, room, state.steady?.key === key ? state.steady.layout : noLayout);
	state.steady = { key, layout };
	const rows = layout.shown.flatMap((index) => {
		const window = windows[index];
		if (!window) return [];
		const granted = layout.granted[index] ?? 0;
		const body = granted > 0 ? (bodies[index] ?? []).slice(-granted) : [];
		return [
			paintHeader((granted > 0 ? headerOf : onlyRowOf)(window, frame.now, width), theme, width),
			...body.map((row) => " ".repeat(frame.indent) + row()),
			...Array.from({ length: granted - body.length }, () => ""),
		];
	});
	const hidden = layout.hidden > 0 && room > 0 ? [hiddenRow(wishes, layout, frame)] : [];
	return [statusRow(frame, theme, width), ...rows, ...hidden];
}

function phaseOf(window: TaskWindow): Wish["phase"] {
	if (window.status !== "running") return window.status;
	return window.startedAt === 0 ? "waiting" : "running";
}

/** Coloured only when it is shown. */
type Row = () => string;

function liveBody(window: TaskWindow, { theme, width, indent }: Frame, max: number): Row[] {
	const room = width - indent;
	const placeholder = window.status === "running" ? "(starting...)" : "(no output)";
	const lines: Row[] = lastRows(window.lines, room, max).map((row) => () => paint(row, theme));
	const body = lines.length > 0 ? lines : [() => theme.fg("muted", fitLine(placeholder, room))];
	if (window.errorMessage === undefined) return body;
	const error = fitLine(sanitizeLine(window.errorMessage), room);
	return [...lines, () => theme.fg("error", error)];
}

function paintHeader(segments: readonly Segment[], theme: Theme, width: number): string {
	const whole = segments.map(({ text }) => text).join("");
	const fitted = fitLine(whole, width);
	if (fitted !== whole) return theme.fg("muted", fitted);
	return segments.map(({ text, style }) => STYLES[style](text, theme)).join("");
}

const STYLES: Readonly<Record<Segment["style"], (text: string, theme: Theme) => string>> = {
	running: (text, theme) => theme.fg("warning", text),
	completed: (text, theme) => theme.fg("success", text),
	error: (text, theme) => theme.fg("error", text),
	name: (text, theme) => theme.bold(text),
	muted: (text, theme) => (text === "" ? "" : theme.fg("muted", text)),
};

const MARKS: Readonly<Record<Mark[2], ThemeColor>> = { added: "toolDiffAdded", removed: "toolDiffRemoved" };

function paint({ text, kind, marks = [] }: WindowLine, theme: Theme): string {
	if (kind === "text") return theme.fg("text", text);
	const painted: string[] = [];
	let done = 0;
	const muted = (to: number) => (to > done ? painted.push(theme.fg("muted", text.slice(done, to))) : 0);
	for (const [from, to, role] of marks) {
		muted(from);
		painted.push(theme.fg(MARKS[role], text.slice(from, to)));
		done = to;
	}
	muted(text.length);
	return painted.join("");
}

function statusRow({ windows }: Frame, theme: Theme, width: number, hint = ""): string {
	const status = fitLine(globalStatusLine(windows.map((window) => window.status)), width);
	const both = `${status} ${hint}`;
	return theme.bold(status) + (hint !== "" && fitLine(both, width) === both ? theme.fg("muted", ` ${hint}`) : "");
}

function hiddenRow(wishes: readonly Wish[], { shown, hidden }: Layout, { theme, width }: Frame): string {
	const others = wishes.filter((_wish, index) => !shown.includes(index));
	const counts = (["running", "error", "completed", "waiting"] as const).flatMap((phase) => {
		const count = others.filter((wish) => wish.phase === phase).length;
		return count > 0 ? [`${count} ${phase === "completed" ? "done" : phase}`] : [];
	});
	return theme.fg("muted", fitLine(`… ${hidden} more: ${counts.join(", ")}`, width));
}

/** After the end: every window with its last lines, or with all of them, and how to ask for the rest. */
function finalRows(frame: Frame): string[] {
	const { windows, theme, width, expanded } = frame;
	const bodies = windows.map((window) => finalBody(window, frame));
	const isCut = bodies.some((body) => body.isCut);
	const key = isCut && !expanded ? keyText("app.tools.expand") : "";
	return [
		statusRow(frame, theme, width, key && `(${key} to expand)`),
		...windows.flatMap((window, index) => [...headerRows(window, frame), ...(bodies[index]?.rows ?? [])]),
		...footerRows(frame),
	];
}

/** On as many rows as it takes: nothing is left out once nothing moves. */
function headerRows(window: TaskWindow, { theme, width, now }: Frame): string[] {
	if (width < NARROW) return [paintHeader(headerOf(window, now, width), theme, width)];
	const header = headerOf(window, now).map(({ text, style }) => STYLES[style](text, theme));
	return wrapTextWithAnsi(header.join(""), width);
}

function finalBody(window: TaskWindow, { theme, width, indent, maxLines, expanded }: Frame) {
	const room = width - indent;
	const all = lastRows(window.lines, room, expanded ? Number.POSITIVE_INFINITY : maxLines + 1);
	const shown = expanded ? all : all.slice(-maxLines);
	const lines =
		shown.length > 0 ? shown.map((row) => paint(row, theme)) : [theme.fg("muted", fitLine("(no output)", room))];
	const error = window.errorMessage === undefined ? [] : wrapPlain(sanitizeLine(window.errorMessage), room);
	const isCut = all.length > shown.length || error.length > MAX_ERROR_ROWS;
	const errorRows = (expanded ? error : error.slice(0, MAX_ERROR_ROWS)).map((row) => theme.fg("error", row));
	const said = window.errorMessage !== undefined && shown.length === 0 ? errorRows : [...lines, ...errorRows];
	const remarks = (window.remarks ?? []).flatMap((remark) => wrapPlain(sanitizeLine(remark), room));
	const body = [...said, ...remarks.map((row) => theme.fg("warning", row))];
	return { rows: body.map((row) => " ".repeat(indent) + row), isCut };
}

/** The ids are for reading a session later: none is ever broken in two. */
function footerRows({ windows, theme, width }: Frame): string[] {
	const rows: string[] = [];
	let row = "Sessions:";
	for (const { name, sessionId } of windows) {
		const item = ` ${sessionId} ${sanitizeLine(name)}`;
		const longer = rows.length === 0 && row === "Sessions:" ? row + item : `${row} •${item}`;
		if (fitLine(longer, width) === longer) row = longer;
		else {
			rows.push(row);
			row = item;
		}
	}
	return [...rows, row].map((each) => theme.fg("muted", fitLine(each, width)));
}
