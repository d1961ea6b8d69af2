import type { AgentToolResult, Theme } from "@earendil-works/pi-coding-agent";
import { type Component, visibleWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import { expandTabs, fitLine } from "./fit.ts";
import { sanitize } from "./sanitize.ts";

/**
 * A text that somebody else wrote, wrapped: at most `maxLines` lines on the screen and then how many more there are, or
 * all of it when expanded. A text that is always shown whole is one that is always expanded.
 */
export function renderTruncatedText(text: string, maxLines: number, expanded: boolean, theme: Theme): Component {
	const lines = sanitize(text)
		.trimEnd()
		.split("\n")
		.map((line) => expandTabs(line).trimEnd());
	let drawn: { width: number; rows: string[] } | undefined;
	return {
		render(width) {
			if (drawn?.width !== width) drawn = { width, rows: rowsOf(lines, expanded ? Infinity : maxLines, width, theme) };
			return drawn.rows;
		},
		invalidate() {
			drawn = undefined;
		},
	};
}

/** The same for what a tool has given back. */
export const renderContent = (
	{ content }: Pick<AgentToolResult<unknown>, "content">,
	maxLines: number,
	expanded: boolean,
	theme: Theme,
): Component => {
	const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
	return renderTruncatedText(texts.join("\n"), maxLines, expanded, theme);
};

function rowsOf(lines: readonly string[], max: number, width: number, theme: Theme): string[] {
	const rows: string[] = [];
	for (const [index, line] of lines.entries()) {
		const { shown, more } = wrapLine(line, width, max - rows.length);
		rows.push(...shown.map((row) => theme.fg("toolOutput", row)));
		const left = lines.length - index - 1 + more;
		if (left > 0 && (rows.length >= max || more > 0)) {
			return [...rows, theme.fg("muted", fitLine(`... (${left} more lines)`, width))];
		}
	}
	return rows;
}

/** Of a line that is longer than what is shown, no more is looked at than that: the rest is only estimated. */
function wrapLine(line: string, width: number, max: number): { shown: string[]; more: number } {
	if (max <= 0) return { shown: [], more: 1 };
	const enough = Number.isFinite(max) ? max * width * 2 : line.length;
	const rest = line.slice(enough);
	const rows = wrapTextWithAnsi(line.slice(0, enough), width).map((row) => fitLine(row, width));
	const more = Math.max(0, rows.length - max) + Math.ceil(visibleWidth(rest) / width);
	return { shown: rows.slice(0, max), more };
}
