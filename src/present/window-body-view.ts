import type { Theme, ThemeColor } from "@earendil-works/pi-coding-agent";
import { partsOfCall } from "./doing.ts";
import { columnsOf, fitLine } from "./fit.ts";
import { markdownRows } from "./markdown-view.ts";
import { isWarning } from "./receipt-text.ts";
import { sanitize, sanitizeLine } from "./sanitize.ts";
import type { Columns } from "./task-row-view.ts";
import { allLinesOf, type TaskWindow } from "./window.ts";
import type { Mark, WindowLine } from "./window-line.ts";
import { lastRows, wrapPlain } from "./window-rows.ts";
import type { Frame } from "./windows-view.ts";

/** Below so many columns there is nothing to lay out, only something to cut. */
const NARROW = 12;

/** Below a task's row, under its text; on a narrow screen under its name. */
export function rowIndent({ name, text }: Columns, width: number): string {
	if (width < NARROW) return "";
	return " ".repeat(text > 0 && width >= 80 ? name + 4 : 2);
}

/** The last lines of a task as rows, each painted when it is asked for. */
export function lineRows(lines: readonly WindowLine[], width: number, max: number, theme: Theme): (() => string)[] {
	return lastRows(lines, width, max).map((row) => () => paintLine(row, theme, width));
}

const MARKS: Readonly<Record<Mark[2], ThemeColor>> = { added: "toolDiffAdded", removed: "toolDiffRemoved" };

/** A failed call is marked with why; others need no sign. */
function paintLine(line: WindowLine, theme: Theme, width: number): string {
	const { text, kind, failed, marks = [] } = line;
	if (kind === "text") return theme.fg("text", text);
	if (failed !== undefined) {
		const { word, text: rest } = partsOfCall(text);
		const call = `✗ ${word} ${rest}`.trimEnd();
		return theme.fg("error", fitLine(failed === "" ? call : `${call}: ${sanitizeLine(failed)}`, width));
	}
	const painted: string[] = [];
	let done = 0;
	const muted = (to: number) => (to > done ? painted.push(theme.fg("muted", plainCall(text, done, to))) : 0);
	for (const [from, to, role] of marks) {
		muted(from);
		painted.push(theme.fg(MARKS[role], text.slice(from, to)));
		done = to;
	}
	muted(text.length);
	return painted.join("");
}

/** A call's line has an arrow behind the tool's name; on the screen that is a gap. */
function plainCall(text: string, from: number, to: number): string {
	const part = text.slice(from, to);
	return from === 0 ? part.replace(/^(\S+) → /, "$1  ") : part;
}

/** All that is known of a task that has ended: what it was asked, what it did, what it answered, and where it is kept. */
export function expandedRows(window: TaskWindow, { theme, width }: Frame): string[] {
	const indent = width < NARROW ? "" : "  ";
	const room = Math.max(1, width - indent.length);
	const inside = Math.max(1, room - indent.length);
	const section = (title: string, inner: readonly string[]) =>
		inner.length > 0 ? [theme.fg("muted", fitLine(title, room)), ...inner.map((row) => indent + row)] : [];
	const rows = [
		...section("Task", wrapped(window.task ?? "", inside, "toolOutput", theme)),
		...section("Steps", stepRows(window, inside, theme)),
		...section("Answer", markdownRows(window.answer ?? "", inside, theme)),
		...(window.errorMessage === undefined ? [] : wrapped(window.errorMessage, room, "error", theme)),
		...(window.remarks ?? []).flatMap((remark) => wrapped(remark, room, "warning", theme)),
		...(window.receiptLines ?? []).flatMap((line) => wrapped(line, room, isWarning(line) ? "warning" : "muted", theme)),
		...idRows(window, room).map((row) => theme.fg("muted", row)),
		"",
	];
	return rows.map((row) => (row === "" ? row : indent + row));
}

function wrapped(text: string, width: number, color: ThemeColor, theme: Theme): string[] {
	const lines = sanitize(text).trim().replaceAll("\t", "   ").split("\n");
	if (lines.length === 1 && lines[0] === "") return [];
	return lines.flatMap((line) => wrapPlain(line, width)).map((row) => theme.fg(color, row));
}

/** What it said last is its answer, where that is known as a whole. */
function stepRows(window: TaskWindow, width: number, theme: Theme): string[] {
	const { answer } = window;
	const lines = allLinesOf(window);
	const end = answer === undefined ? lines.length : lines.findLastIndex(({ kind }) => kind === "tool") + 1;
	return lineRows(lines.slice(0, end), width, Number.POSITIVE_INFINITY, theme).map((row) => row());
}

/** None is ever broken in two where it can be helped: they are for copying. */
function idRows({ sessionId, runId, directory, profileName, model }: TaskWindow, width: number): string[] {
	const rows: string[] = [];
	const items = [
		`session ${sessionId}`,
		...(runId === undefined ? [] : [`run ${runId}`]),
		...(profileName === undefined ? [] : [`profile ${sanitizeLine(profileName)}`]),
		...(model === undefined ? [] : [sanitizeLine(model)]),
		...(directory === undefined ? [] : [sanitizeLine(directory)]),
	];
	for (const item of items) {
		const longer = `${rows.at(-1)} · ${item}`;
		if (rows.length > 0 && columnsOf(longer) <= width) rows[rows.length - 1] = longer;
		else rows.push(...wrapPlain(item, width));
	}
	return rows;
}
