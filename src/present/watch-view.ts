import type { ToolResultMessage } from "@earendil-works/pi-ai";
import type { Theme } from "@earendil-works/pi-coding-agent";
import { textOf } from "../domain/messages.ts";
import type { Entry, RunState } from "../domain/state.ts";
import { SENDER_WORDS, type SentSteer } from "../domain/steer.ts";
import { callText } from "./doing.ts";
import { columnsOf, expandTabs, fitLine } from "./fit.ts";
import type { ListedRun } from "./fleet-view.ts";
import { sanitize, sanitizeLine } from "./sanitize.ts";
import { WORDS } from "./task-state.ts";
import { costText, durationText, tokensText } from "./units.ts";
import { wrapPlain } from "./window-rows.ts";

/** `auth · running 38s · turn 4 · 3 tools · 14k · $0.01 · mock-1` */
export function watchTitle(run: ListedRun, now: number): string {
	const { state } = run;
	const time = run.startedAt > 0 ? ` ${durationText((run.endedAt ?? now) - run.startedAt)}` : "";
	const usage = state?.usage ?? run.usage;
	return [
		sanitizeLine(run.label),
		`${WORDS[run.shown]}${time}`,
		...(state ? [`turn ${turnOf(state)}`, `${state.toolCalls} tools`] : []),
		tokensText(usage.totalTokens, state?.written ?? 0),
		costText(usage.cost.total, usage.totalTokens),
		...(run.model === undefined ? [] : [sanitizeLine(run.model)]),
		...(run.lifetime === "background" ? ["background"] : []),
	].join(" · ");
}

const turnOf = ({ entries, phase }: RunState) =>
	entries.filter(({ kind, ...entry }) => kind === "message" && roleOf(entry) === "assistant").length +
	(phase.kind === "running" ? 1 : 0);
const roleOf = (entry: object) => (entry as { message?: { role?: string } }).message?.role;

interface Place {
	readonly width: number;
	readonly theme: Theme;
	readonly now: number;
}

const RESULT_LINES = 6;
/** Of one text, no more than this is wrapped: a child can write without end. */
const MAX_TEXT_CHARS = 100_000;

const known = new WeakMap<Entry, { readonly key: string; readonly rows: readonly string[] }>();

/** All that a run was asked, said and did, as rows; the end of it is what happens now. */
export function transcriptRows(run: ListedRun, place: Place): string[] {
	const { theme, width } = place;
	const { state } = run;
	const task = [theme.fg("muted", "Task"), ...textRows(run.task, place, "text"), ""];
	if (!state) return task;
	const results = new Map<string, ToolResultMessage>();
	for (const entry of state.entries) {
		if (entry.kind === "message" && entry.message.role === "toolResult")
			results.set(entry.message.toolCallId, entry.message);
	}
	const said = state.entries.flatMap((entry, index) => entryRows(entry, index, results, place));
	const partial = state.partial === "" ? [] : textRows(state.partial, place, "text");
	return [...task, ...said, ...partial, ...steerRows(undelivered(state), place), ...endRows(run, state, place)].map(
		(row) => (columnsOf(row) <= width ? row : fitLine(row, width)),
	);
}

function entryRows(
	entry: Entry,
	index: number,
	results: ReadonlyMap<string, ToolResultMessage>,
	place: Place,
): readonly string[] {
	const answered = answeredIn(entry, results);
	const key = `${place.width} ${answered} ${index === 0}`;
	const before = known.get(entry);
	if (before?.key === key) return before.rows;
	const rows = makeRows(entry, index, results, place);
	known.set(entry, { key, rows });
	return rows;
}

/** How many of its calls have a result: only then does an entry look different. */
function answeredIn(entry: Entry, results: ReadonlyMap<string, ToolResultMessage>): number {
	if (entry.kind !== "message" || entry.message.role !== "assistant") return 0;
	return entry.message.content.filter((part) => part.type === "toolCall" && results.has(part.id)).length;
}

function makeRows(
	entry: Entry,
	index: number,
	results: ReadonlyMap<string, ToolResultMessage>,
	place: Place,
): string[] {
	const { theme } = place;
	if (entry.kind === "stray") return textRows(`[${entry.stream}]: ${entry.text}`, place, "muted");
	if (entry.kind === "steer") return steerRows([entry.steer], place);
	const { message } = entry;
	if (message.role === "toolResult") return [];
	if (message.role === "user") {
		if (index === 0) return []; // the task stands above
		return [theme.fg("muted", "Told"), ...textRows(textOf(message), place, "text"), ""];
	}
	const rows = message.content.flatMap((part): string[] => {
		if (part.type === "text") return part.text.trim() === "" ? [] : textRows(part.text, place, "text");
		if (part.type === "thinking") return textRows(part.thinking, place, "dim");
		if (part.type !== "toolCall") return [];
		return callRows(part, results.get(part.id), place);
	});
	return message.errorMessage ? [...rows, ...textRows(`✗ ${message.errorMessage}`, place, "error")] : rows;
}

function callRows(
	call: { readonly name: string; readonly arguments: unknown },
	result: ToolResultMessage | undefined,
	{ theme, width }: Place,
): string[] {
	const { word, text } = callText({ name: call.name, args: call.arguments }, { width, cwd: "", home: "" });
	const sign = result ? (result.isError ? theme.fg("error", "✗") : theme.fg("success", "✓")) : theme.fg("accent", "▸");
	const head = `${sign} ${theme.fg("toolTitle", word)}  ${theme.fg("text", fitLine(text, Math.max(0, width - columnsOf(word) - 4)))}`;
	const lines = result ? sanitize(textOf(result)).trim().split("\n") : [];
	const shown = lines.slice(0, RESULT_LINES).filter((line) => line !== "");
	const more = lines.length > RESULT_LINES ? [`… ${lines.length - RESULT_LINES} more lines`] : [];
	return [head, ...[...shown, ...more].map((line) => theme.fg("muted", fitLine(`  │ ${expandTabs(line)}`, width)))];
}

function textRows(text: string, { theme, width }: Place, color: "text" | "muted" | "dim" | "error"): string[] {
	return sanitize(text.slice(-MAX_TEXT_CHARS))
		.trim()
		.split("\n")
		.flatMap((line) => wrapPlain(expandTabs(line), Math.max(1, width - 2)))
		.map((row) => (row === "" ? "" : `  ${theme.fg(color, row)}`));
}

/** One that was delivered stands in the conversation. */
const undelivered = ({ steers }: RunState) => steers.filter(({ receipt }) => receipt.kind !== "delivered");

function steerRows(steers: readonly SentSteer[], place: Place): string[] {
	return steers.flatMap(({ text, from, receipt }) => {
		const head = `Message from ${SENDER_WORDS[from]}: ${receiptText(receipt)}`;
		return [place.theme.fg("warning", fitLine(head, place.width)), ...textRows(text, place, "text")];
	});
}

export function receiptText(receipt: SentSteer["receipt"]): string {
	if (receipt.kind === "delivered") return `delivered in turn ${receipt.turn}`;
	return receipt.kind === "queued" ? "queued" : "not delivered: it ended";
}

/** What it does now, or how it ended. */
function endRows(run: ListedRun, { activity, phase }: RunState, { theme, now }: Place): string[] {
	if (phase.kind === "done") {
		const failed = run.shown === "failed" || run.shown === "stopped";
		return [
			"",
			theme.fg(failed ? "error" : "success", failed ? `${WORDS[run.shown]}: ${sanitizeLine(run.note ?? "")}` : "done"),
		];
	}
	if (activity.kind === "tools") {
		const since = Math.min(...activity.calls.map((call) => call.since));
		return [theme.fg("accent", `  running for ${durationText(now - since)} …`)];
	}
	if (activity.kind === "thinking") {
		const thought = sanitizeLine(activity.thought.slice(-300));
		return [theme.fg("accent", "▸ thinking"), ...(thought === "" ? [] : [theme.fg("dim", `  ${thought}`)])];
	}
	return [theme.fg("accent", `▸ ${activity.kind.replace("-", " ")}`)];
}
