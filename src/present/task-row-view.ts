import type { Theme, ThemeColor } from "@earendil-works/pi-coding-agent";
import { type Doing, doingNow } from "./doing.ts";
import { columnsOf, fitEnd, fitLine } from "./fit.ts";
import { isWarning } from "./receipt-text.ts";
import { sanitizeLine } from "./sanitize.ts";
import { SIGN_COLORS, SIGNS, type TaskState } from "./task-state.ts";
import { costText, durationText, NONE, tokensText } from "./units.ts";
import type { TaskWindow } from "./window.ts";

/** How wide the columns of a table of tasks are; a column without a width is left out. */
export interface Columns {
	readonly name: number;
	readonly text: number;
	readonly step: number;
	readonly time: number;
	readonly tokens: number;
	readonly cost: number;
}

/** `✓ ` before and ` ` behind the name. */
const SIGN_COLUMNS = 2;
const GAP = 2;
/** With a gap before it. */
const FULL = { step: 7, time: 8, tokens: 7, cost: 8 } as const;
const MIN_TEXT = 36;
const MAX_NAME = 24;
/** `12 stopped` */
const MIN_NAME = 10;
/** What goes first where there is no room; the state, the name and what it does never go. */
const DISPENSABLE = ["step", "tokens", "cost", "time"] as const;

export function columnsFor(names: readonly string[], width: number): Columns {
	const longest = Math.max(MIN_NAME, ...names.map(columnsOf));
	const name = Math.max(1, Math.min(longest, MAX_NAME, Math.max(MIN_NAME, Math.floor(width / 5))));
	const gone = new Set<keyof typeof FULL>();
	const widthOf = (column: keyof typeof FULL) => (gone.has(column) ? 0 : FULL[column]);
	const text = () => width - SIGN_COLUMNS - name - GAP - DISPENSABLE.reduce((sum, column) => sum + widthOf(column), 0);
	for (const column of DISPENSABLE) if (text() < MIN_TEXT) gone.add(column);
	return {
		...{ name, text: Math.max(0, text()) },
		...{ step: widthOf("step"), time: widthOf("time"), tokens: widthOf("tokens"), cost: widthOf("cost") },
	};
}

/** The columns to the right of a text. */
export interface Figures {
	readonly step: string;
	readonly time: string;
	readonly tokens: string;
	readonly cost: string;
}

export const figuresText = (figures: Figures, columns: Columns): string =>
	(["step", "time", "tokens", "cost"] as const)
		.map((column) => (columns[column] > 0 ? figures[column].padStart(columns[column]) : ""))
		.join("");

/** A task's own name, and where it stands with its list. */
export const labelOf = ({ name, todos, profileName }: TaskWindow): string => {
	const label = sanitizeLine(name) || sanitizeLine(profileName ?? "") || NONE;
	return todos ? `${label} [${todos.done}/${todos.total}]` : label;
};

/** One row for a task: what it is, what it does or what became of it, and what it took. Never wider than `width`. */
export function taskRow(window: TaskWindow, columns: Columns, now: number, theme: Theme, width: number): string {
	const { state } = window;
	const isRunning = state === "running" || state === "asks";
	const doing = isRunning ? doingNow(window, now) : undefined;
	const text = doing ? doingText(doing, columns.text, theme) : noteText(window, columns.text, theme);
	const figures = figuresText(figuresOf(window, doing, now), columns);
	return tableRow({ sign: state, name: labelOf(window), text, figures }, columns, theme, width);
}

interface Cells {
	readonly sign: TaskState;
	readonly name: string;
	/** Painted, and no wider than its column. */
	readonly text: { readonly painted: string; readonly columns: number };
	readonly figures: string;
}

export function tableRow({ sign, name, text, figures }: Cells, columns: Columns, theme: Theme, width: number): string {
	const label = fitLine(name, columns.name);
	const head = `${SIGNS[sign]} ${label}`;
	if (columns.text === 0 || columnsOf(head) + GAP > width) return theme.fg("muted", fitLine(head, width));
	const padding = " ".repeat(columns.name - columnsOf(label) + GAP);
	const filling = figures === "" ? "" : " ".repeat(Math.max(0, columns.text - text.columns));
	return [
		theme.fg(SIGN_COLORS[sign] as ThemeColor, SIGNS[sign]),
		" ",
		theme.fg("toolTitle", theme.bold(label)),
		padding,
		text.painted,
		filling,
		figures === "" ? "" : theme.fg("muted", figures),
	].join("");
}

/** `bash  npm test`: its word in one colour, the rest in another, and cut at the end that matters less. */
export function doingText(doing: Doing, width: number, theme: Theme): Cells["text"] {
	const { word, text, keep, tail: tails = { long: "", short: "" } } = doing;
	const head = fitLine(sanitizeLine(word), width);
	const room = width - columnsOf(head) - GAP;
	const tail = columnsOf(text) + columnsOf(tails.long) <= room ? tails.long : tails.short;
	const fitted = (keep === "end" ? fitEnd : fitLine)(sanitizeLine(text), Math.max(0, room - columnsOf(tail)));
	const rest = room > 0 ? fitLine(fitted + (fitted === "" ? tail.trimStart() : tail), room) : "";
	const gap = rest === "" ? "" : " ".repeat(word === "over" ? 1 : GAP);
	return {
		painted: theme.fg("accent", head) + (rest === "" ? "" : gap + theme.fg("text", rest)),
		columns: columnsOf(head + gap + rest),
	};
}

/** What is said of an answer comes before it: an answer that was cut short must not look like a whole one. */
function noteText(window: TaskWindow, width: number, theme: Theme): Cells["text"] {
	const { state, note, errorMessage } = window;
	const remarks = [...(window.remarks ?? []), ...(window.receiptLines ?? []).filter(isWarning)];
	const said = note ?? errorMessage ?? "";
	const isRemarkable = state === "done" && remarks.length > 0;
	const text = fitLine(sanitizeLine(isRemarkable ? [...remarks, said].join(" · ") : said), width);
	const color = state === "failed" ? "error" : isRemarkable ? "warning" : state === "done" ? "text" : "muted";
	return { painted: text === "" ? "" : theme.fg(color, text), columns: columnsOf(text) };
}

function figuresOf(window: TaskWindow, doing: Doing | undefined, now: number): Figures {
	const { startedAt, completedAt, usage, written = 0 } = window;
	const stepMs = doing && doing.since > 0 ? now - doing.since : 0;
	return {
		step: stepMs >= 1_000 ? durationText(stepMs) : "",
		time: startedAt > 0 ? durationText((completedAt ?? now) - startedAt) : "",
		tokens: tokensText(usage.totalTokens, written),
		cost: costText(usage.cost.total, usage.totalTokens),
	};
}

/** What all tasks together took: from the first start to now, or to the last end. */
export function totalFigures(windows: readonly TaskWindow[], now: number): Figures {
	const begun = windows.filter(({ startedAt }) => startedAt > 0);
	const from = Math.min(...begun.map(({ startedAt }) => startedAt));
	const to = Math.max(...begun.map(({ completedAt }) => completedAt ?? now));
	const sum = (figure: (window: TaskWindow) => number) => windows.reduce((total, window) => total + figure(window), 0);
	const tokens = sum(({ usage }) => usage.totalTokens);
	return {
		step: "",
		time: begun.length > 0 ? durationText(to - from) : "",
		tokens: tokensText(
			tokens,
			sum(({ written = 0 }) => written),
		),
		cost: costText(
			sum(({ usage }) => usage.cost.total),
			tokens,
		),
	};
}
