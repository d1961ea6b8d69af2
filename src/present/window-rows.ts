import { wrapTextWithAnsi } from "@earendil-works/pi-tui";
import { columnsOf, fitLine } from "./fit.ts";
import { sanitize } from "./sanitize.ts";
import type { Mark, WindowLine } from "./window-line.ts";

const ASCII = /^[\x20-\x7e]*$/;
const known = new WeakMap<WindowLine, { readonly width: number; readonly rows: readonly WindowLine[] }>();

/** The last `max` rows of these lines: text is wrapped, a tool call stays on one row. Read from the end, so it costs what is seen. */
export function lastRows(lines: readonly WindowLine[], width: number, max: number): WindowLine[] {
	const newestFirst: WindowLine[] = [];
	for (let index = lines.length - 1; index >= 0 && newestFirst.length < max; index--) {
		const line = printable(lines[index]);
		if (columnsOf(line.text) <= width) newestFirst.push(line);
		else newestFirst.push(...brokenRows(line, width));
	}
	return newestFirst.slice(0, Math.max(0, max)).reverse();
}

const EMPTY: WindowLine = { text: "", kind: "text" };

/** Lines that were read back from a session file may be anybody's. */
function printable(line = EMPTY): WindowLine {
	if (ASCII.test(line.text)) return line;
	const text = sanitize(line.text).replace(/[\t\n]/g, " ");
	if (text === line.text) return line;
	return { text, kind: line.kind, ...(line.failed !== undefined && { failed: line.failed }) };
}

/** The rows of a line that is too long for one, newest first. */
function brokenRows(line: WindowLine, width: number): readonly WindowLine[] {
	const before = known.get(line);
	if (before?.width === width) return before.rows;
	const rows = line.kind === "tool" ? [fitToolLine(line, width)] : wrapPlain(line.text, width).map(textRow).reverse();
	known.set(line, { width, rows });
	return rows;
}

const textRow = (text: string): WindowLine => ({ text, kind: "text" });

function fitToolLine(line: WindowLine, width: number): WindowLine {
	const text = fitLine(line.text, width);
	if (!line.marks) return { ...line, text };
	const kept = text.length - 1;
	return {
		...line,
		text,
		marks: line.marks.flatMap(([from, to, role]): Mark[] => (to <= kept ? [[from, to, role]] : [])),
	};
}

/** Rows of plain text, none wider than `width`, also where a single character is. */
export function wrapPlain(text: string, width: number): string[] {
	return wrapTextWithAnsi(text, Math.max(1, width)).map((row) => fitLine(row, width));
}
