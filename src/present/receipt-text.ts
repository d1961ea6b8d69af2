import { cut } from "../domain/messages.ts";
import type { ReceiptCommand, ReceiptFile, RunReceipt } from "../domain/receipt.ts";
import { sanitizeLine } from "./sanitize.ts";

/** With the two spaces before it. */
const MAX_LINE_CHARS = 198;
const MAX_WARNING_CHARS = 118;
const MAX_COMMAND_CHARS = 40;
const MAX_NAMES = 5;
const MAX_CLAIMS = 3;

/**
 * What was seen of a run's work: a line, and a second one where its answer says more than that. Nothing for a run that had no
 * tool to write with.
 */
export function receiptLines(receipt: RunReceipt | undefined): readonly string[] {
	if (!receipt || receipt.scan.kind === "read-only") return [];
	const whole = lineOf(receipt, MAX_COMMAND_CHARS);
	return [whole.length <= MAX_LINE_CHARS ? whole : lineOf(receipt, MAX_COMMAND_CHARS / 2), ...warnings(receipt)];
}

function lineOf(receipt: RunReceipt, commandChars: number): string {
	const rest = [testPart(receipt, commandChars), failingPart(receipt, commandChars)].filter((part) => part !== "");
	const room = MAX_LINE_CHARS - rest.reduce((sum, part) => sum + part.length + 3, 0);
	return [filesPart(receipt, room), ...rest].join(" · ");
}

/** Whether a line of a receipt says that something is wrong. */
export const isWarning = (line: string): boolean => line.startsWith("!");

function filesPart({ files, scan }: RunReceipt, room: number): string {
	const isKnown = scan.kind !== "incomplete";
	if (files.length === 0) return isKnown ? "changed no file" : "files: not known";
	const tail = isKnown ? "" : " · other files: not known";
	const groups = [
		...grouped(
			"changed",
			files.filter((file) => !file.by && file.change !== "removed"),
		),
		...grouped(
			"removed",
			files.filter((file) => !file.by && file.change === "removed"),
		),
		...byCandidates(files.filter((file) => file.by)),
	];
	return `${fitGroups(groups, room - tail.length)}${tail}`;
}

/** Files that are told of together. */
interface Group {
	readonly word: string;
	readonly names: readonly string[];
	/** What is said behind the first so many names. */
	readonly figures: { readonly after: number; readonly text: string } | undefined;
	readonly end: string;
}

/** Lines are counted by the calls that wrote them: such files come first. */
function grouped(word: string, files: readonly ReceiptFile[]): Group[] {
	if (files.length === 0) return [];
	const counted = files.filter((file) => word === "changed" && file.added !== undefined);
	const sum = (key: "added" | "removed") => counted.reduce((total, file) => total + (file[key] ?? 0), 0);
	const names = [...counted, ...files.filter((file) => !counted.includes(file))].map(({ path }) => path);
	const text = ` (+${sum("added")} −${sum("removed")})`;
	return [{ word, names, figures: counted.length > 0 ? { after: counted.length, text } : undefined, end: "" }];
}

/** Files that another run can have changed as well. */
function byCandidates(files: readonly ReceiptFile[]): Group[] {
	if (files.length === 0) return [];
	const others = [...new Set(files.flatMap(({ by = [] }) => by.slice(1)))].map(
		(name) => `"${cut(sanitizeLine(name), 20)}"`,
	);
	const shown = others.length > 3 ? [...others.slice(0, 2), `${others.length - 2} others`] : others;
	const names = files.map(({ path }) => path);
	return [{ word: "perhaps", names, figures: undefined, end: ` (or ${shown.join(", ")} did)` }];
}

/** As many names as there is room for; then one of each group, cut; then only how many there are. */
function fitGroups(groups: readonly Group[], room: number): string {
	for (let names = MAX_NAMES; names > 0; names--) {
		const text = groups.map((group) => groupText(group, names, Number.POSITIVE_INFINITY)).join(" · ");
		if (text.length <= room) return text;
	}
	const share = Math.floor((room - 3 * (groups.length - 1)) / groups.length);
	const short = groups.map((group) => groupText(group, 1, share)).join(" · ");
	if (short.length <= room) return short;
	return groups
		.map(({ word, names }) => `${word} ${names.length} ${names.length === 1 ? "file" : "files"}`)
		.join(" · ");
}

function groupText({ word, names, figures, end }: Group, max: number, room: number): string {
	const shown = names.slice(0, max).map((name) => sanitizeLine(name));
	const more = names.length > max ? ` and ${names.length - max} more` : "";
	const after = figures && figures.after < names.length && figures.after <= max ? figures.after : shown.length;
	const figuresText = figures?.text ?? "";
	const fixed = word.length + 1 + more.length + figuresText.length + end.length;
	const nameRoom = Math.max(8, Math.floor((room - fixed) / shown.length) - 2);
	const fitted = shown.map((name) => shortPath(name, nameRoom));
	const [first, second] = [fitted.slice(0, after).join(", "), fitted.slice(after).join(", ")];
	const isSplit = second !== "" || (figures !== undefined && figures.after < names.length);
	const listed = isSplit
		? `${first}${figuresText}${second === "" ? "" : `, ${second}`}${more}`
		: `${first}${more}${figuresText}`;
	return `${word} ${listed}${end}`;
}

/** A path is known by its end. */
const shortPath = (path: string, room: number): string =>
	path.length <= room ? path : `…${path.slice(path.length - room + 1)}`;

function testPart({ tests }: RunReceipt, chars: number): string {
	const last = tests.at(-1);
	return last ? `tests: ${commandText(last, chars)} ${exitText(last)}` : "";
}

/** A test whose exit code may be another command's is never said to have passed. */
const exitText = ({ exit, masked }: ReceiptCommand): string => {
	if (masked && exit === 0) return "(its exit code is hidden)";
	return typeof exit === "number" ? `exit ${exit}` : exit === "unknown" ? "(no exit code)" : exit;
};

function failingPart({ failing, tests }: RunReceipt, chars: number): string {
	const last = tests.at(-1);
	if (!failing || (last?.command === failing.command && last.exit === failing.exit)) return "";
	const exit = typeof failing.exit === "number" ? `exit ${failing.exit}` : failing.exit;
	return `last failed: ${commandText(failing, chars)} (${exit})`;
}

function commandText({ command }: ReceiptCommand, chars: number): string {
	const line = sanitizeLine(command.replaceAll(/\s+/g, " ").trim());
	return line.length <= chars ? line : `${cut(line, chars - 1)}…`;
}

function warnings({ unseen }: RunReceipt): readonly string[] {
	if (unseen.length === 0) return [];
	const [head, end] = ["! it says that it wrote ", ": nothing shows that"];
	for (let count = Math.min(unseen.length, MAX_CLAIMS); count > 0; count--) {
		const more = unseen.length > count ? ` and ${unseen.length - count} more` : "";
		const room = MAX_WARNING_CHARS - head.length - end.length - more.length;
		const names = unseen.slice(0, count).map(sanitizeLine).join(", ");
		if (names.length <= room || count === 1) return [`${head}${shortPath(names, room)}${more}${end}`];
	}
	return [];
}
