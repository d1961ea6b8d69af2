import type { Theme } from "@earendil-works/pi-coding-agent";
import { columnsOf, fitLine } from "./fit.ts";

/** A frame of fixed height around rows that were painted before: what lies below an overlay must not shine through. */
export interface Panel {
	readonly title: string;
	/** To the right of the title: the first that has room. */
	readonly corner: readonly string[];
	readonly body: readonly string[];
	/** Below a line with a title of its own. */
	readonly foot: { readonly title: string; readonly rows: readonly string[] } | undefined;
	/** The first that has room; the last is cut. */
	readonly keys: readonly string[];
}

export function panelRows({ title, corner, body, foot, keys }: Panel, width: number, theme: Theme): string[] {
	const inner = Math.max(1, width - 4);
	const line = (row: string) => {
		const rest = " ".repeat(Math.max(0, inner - columnsOf(row)));
		return `${theme.fg("border", "│")} ${row}${rest} ${theme.fg("border", "│")}`;
	};
	const edge = (left: string, text: string, right: string, more: readonly string[] = []) => {
		const head = fitLine(text, Math.max(0, width - 6));
		const tail = more.find((each) => columnsOf(head) + columnsOf(each) + 8 <= width) ?? "";
		const gap = width - columnsOf(head) - columnsOf(tail) - (tail === "" ? 6 : 8);
		const strokes = "─".repeat(Math.max(0, gap));
		return [
			theme.fg("border", `${left}─ `),
			theme.fg("accent", head),
			theme.fg("border", ` ${strokes}`),
			tail === "" ? "" : theme.fg("muted", ` ${tail} `),
			theme.fg("border", `─${right}`),
		].join("");
	};
	return [
		edge("╭", title, "╮", corner),
		...body.map(line),
		...(foot ? [edge("├", foot.title, "┤"), ...foot.rows.map(line)] : []),
		edge("╰", keys.find((each) => columnsOf(each) + 6 <= width) ?? keys.at(-1) ?? "", "╯"),
	];
}

/** Exactly so many rows. */
export function filled(rows: readonly string[], count: number): string[] {
	return [...rows.slice(0, count), ...Array.from({ length: Math.max(0, count - rows.length) }, () => "")];
}
