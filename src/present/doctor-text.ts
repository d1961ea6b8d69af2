import { visibleWidth } from "@earendil-works/pi-tui";
import { sanitizeLine } from "./sanitize.ts";

/** What one look at the set-up has found. */
export interface Finding {
	readonly level: Level;
	readonly title: string;
	/** What is wrong, and what to do about it. */
	readonly lines: readonly string[];
}
export type Level = "fine" | "note" | "problem";

/** pi leaves a column free on both sides. */
const COLUMNS = 78;
const ICONS: Readonly<Record<Level, string>> = { fine: "✓", note: "!", problem: "✗" };

/** All findings, for a person; a line is longer than 80 columns only where one word is. */
export function doctorText(findings: readonly Finding[]): string {
	const blocks = findings.flatMap(({ level, title, lines }) => [
		...wrap(`${ICONS[level]} ${sanitizeLine(title)}`, "  "),
		...lines.flatMap((line) => wrap(`  ${sanitizeLine(line)}`, "    ")),
	]);
	return [verdict(findings), "", ...blocks].join("\n");
}

function verdict(findings: readonly Finding[]): string {
	const count = (level: Level) => findings.filter((finding) => finding.level === level).length;
	const counted = [countOf(count("problem"), "problem"), countOf(count("note"), "note")].filter((text) => text !== "");
	return `Sub-agents: ${counted.length === 0 ? "everything is in order" : counted.join(", ")}`;
}

const countOf = (count: number, word: string) => (count === 0 ? "" : `${count} ${word}${count === 1 ? "" : "s"}`);

/** Breaks at spaces; the lines after the first are set in. */
function wrap(text: string, indent: string): string[] {
	const lines: string[] = [];
	let line = /^\s*/.exec(text)?.[0] ?? "";
	let begun = false;
	for (const word of text.trim().split(" ")) {
		if (begun && visibleWidth(`${line} ${word}`) > COLUMNS) {
			lines.push(line);
			line = `${indent}${word}`;
		} else line = begun ? `${line} ${word}` : `${line}${word}`;
		begun = true;
	}
	return [...lines, line];
}
