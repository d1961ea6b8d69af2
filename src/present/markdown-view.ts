import { getMarkdownTheme, type Theme } from "@earendil-works/pi-coding-agent";
import { Markdown } from "@earendil-works/pi-tui";
import { expandTabs } from "./fit.ts";
import { sanitize } from "./sanitize.ts";
import { wrapPlain } from "./window-rows.ts";

/** Narrower than this, tables and lists are only in the way. */
const NARROW = 8;

/** An answer as its Markdown wants it drawn, none of the rows wider than `width`. */
export function markdownRows(text: string, width: number, theme: Theme): string[] {
	const printable = expandTabs(sanitize(text).trim());
	if (printable === "") return [];
	const rows = width < NARROW ? undefined : drawn(printable, width);
	return rows ?? printable.split("\n").flatMap((line) => wrapPlain(line, width).map((row) => theme.fg("text", row)));
}

function drawn(text: string, width: number): string[] | undefined {
	try {
		return new Markdown(text, 0, 0, getMarkdownTheme()).render(width).map((row) => row.trimEnd());
	} catch {
		return undefined; // without pi's own theme, as in a test
	}
}
