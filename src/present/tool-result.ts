import type { ToolResultMessage } from "@earendil-works/pi-ai";
import { cut, textOf } from "../domain/messages.ts";
import { sanitizeLine } from "./sanitize.ts";
import { added, type Piece, toolLine, type WindowLine } from "./window-line.ts";

/** The notice that pi's tools put below a result that is not complete. */
const NOTICE = /\n\n\[[^\n]*\]\s*$/;
const NOTHING = /^\s*(?:\(empty directory\)|No files found[^\n]*)?\s*$/;

/** What stands below a call of `ls` or `find`; other results are not shown. */
export function resultLine(message: ToolResultMessage): WindowLine | undefined {
	if (message.isError || (message.toolName !== "ls" && message.toolName !== "find")) return undefined;
	const text = textOf(message);
	const entries = text
		.replace(NOTICE, "")
		.split("\n")
		.filter((line) => line.trim() !== "" && !NOTHING.test(line));
	const more = isCut(message, text) ? "+" : "";
	if (message.toolName === "find") {
		return toolLine(["  ", added(String(entries.length)), entries.length === 1 ? " match" : " matches", more]);
	}
	if (entries.length === 0) return toolLine(["  (empty)"]);
	const directories = entries.filter((entry) => entry.endsWith("/")).length;
	const files = entries.length - directories;
	return toolLine([
		"  ",
		...(files > 0 ? counted(files, "file") : []),
		...(files > 0 && directories > 0 ? [", "] : []),
		...(directories > 0 ? counted(directories, "dir") : []),
		more,
	]);
}

const MAX_ERROR_CHARS = 200;

/** The line of a failed call's result that says why. Of a command that is the last one, below what it has printed. */
export function errorLine(message: ToolResultMessage): string {
	const lines = textOf(message)
		.split("\n")
		.map(sanitizeLine)
		.filter((line) => line !== "");
	return cut((message.toolName === "bash" ? lines.at(-1) : lines[0]) ?? "", MAX_ERROR_CHARS);
}

const counted = (count: number, noun: string): Piece[] => [added(String(count)), ` ${noun}${count === 1 ? "" : "s"}`];

function isCut(message: ToolResultMessage, text: string): boolean {
	const { entryLimitReached, resultLimitReached, truncation } = (message.details ?? {}) as Record<string, unknown>;
	return Boolean(entryLimitReached || resultLimitReached || truncation) || NOTICE.test(text);
}
