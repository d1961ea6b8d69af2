import { sliceByColumn, visibleWidth } from "@earendil-works/pi-tui";

/** How many columns a text takes on the screen. */
export const columnsOf = visibleWidth;

/** pi-tui counts a tab as three columns; a terminal would jump to its next stop. */
export const expandTabs = (text: string): string => text.replaceAll("\t", "   ");

/**
 * Plain text in at most `width` columns, with `…` where something was left out. Unlike pi-tui's own function it adds no
 * reset, which would end the background colour of the block in the middle of a line.
 */
export function fitLine(text: string, width: number): string {
	if (visibleWidth(text) <= width) return text;
	if (width <= 0) return "";
	return `${sliceByColumn(text, 0, width - 1, true)}…`;
}

/** The same, but the end is what stays: of a path, the file's name. */
export function fitEnd(text: string, width: number): string {
	const columns = visibleWidth(text);
	if (columns <= width) return text;
	if (width <= 0) return "";
	return `…${sliceByColumn(text, columns - width + 1, width - 1, true)}`;
}
