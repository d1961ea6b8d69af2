import type { Theme } from "@earendil-works/pi-coding-agent";
import { questionText } from "../domain/question.ts";
import type { RunState } from "../domain/state.ts";
import { SENDER_WORDS, type SentSteer } from "../domain/steer.ts";
import { type CallStep, lastAnswerOf, type Step } from "../domain/transcript.ts";
import { callText } from "./doing.ts";
import { columnsOf, expandTabs, fitLine } from "./fit.ts";
import { type ListedRun, nowOf } from "./fleet-view.ts";
import { markdownRows } from "./markdown-view.ts";
import { receiptRows } from "./receipt-view.ts";
import { sanitize, sanitizeLine } from "./sanitize.ts";
import type { Blocks } from "./scroll.ts";
import { WORDS } from "./task-state.ts";
import { costText, durationText, stepTimeText, tokensText } from "./units.ts";
import { wrapPlain } from "./window-rows.ts";

/** `auth · running 38s · turn 4 · 3 tools · 14k (11% of context) · $0.01 · mock/m1` */
export function watchTitle(run: ListedRun, now: number): string {
	const { state, model, contextWindow } = run;
	const time = run.startedAt > 0 ? ` ${durationText((run.endedAt ?? now) - run.startedAt)}` : "";
	const usage = state?.usage ?? run.usage;
	const tokens = tokensText(usage.totalTokens, state?.written ?? 0);
	return [
		sanitizeLine(run.label),
		`${WORDS[run.shown]}${time}`,
		...(state ? [`turn ${turnOf(state)}`, `${state.toolCalls} tool${state.toolCalls === 1 ? "" : "s"}`] : []),
		`${tokens}${contextText(state, contextWindow)}`,
		costText(usage.cost.total, usage.totalTokens),
		...(model === undefined ? [] : [sanitizeLine(`${model.provider}/${model.id}`)]),
		...(run.lifetime === "background" ? ["background"] : []),
	].join(" · ");
}

/** The one that its model answers now, or its last. */
const turnOf = ({ turns, phase, activity }: RunState) =>
	turns + (phase.kind === "running" && (turns === 0 || activity.kind !== "tools") ? 1 : 0);

/** What its last request and answer took of what its model can take in. */
function contextText(state: RunState | undefined, window: number | undefined): string {
	const last = state && lastAnswerOf(state)?.usage?.totalTokens;
	return last && window ? ` (${Math.round((100 * last) / window)}% of context)` : "";
}

interface Place {
	readonly width: number;
	readonly theme: Theme;
	readonly now: number;
}

const known = new WeakMap<object, { readonly key: string; readonly rows: readonly string[] }>();

/** All that a run was asked, said and did; the last block is what happens now, or how it ended. */
export function transcriptBlocks(run: ListedRun, steps: readonly Step[], place: Place): Blocks {
	const { state } = run;
	const within = (rows: readonly string[]) =>
		rows.map((row) => (columnsOf(row) <= place.width ? row : fitLine(row, place.width)));
	return {
		count: steps.length + 2,
		rows(block) {
			if (block === 0) return within(taskRows(run, place));
			const step = steps[block - 1];
			return within(step ? rowsOfStep(step, place) : state ? nowRows(run, state, steps, place) : []);
		},
	};
}

const taskRows = ({ task }: ListedRun, place: Place): string[] => [
	place.theme.fg("muted", "Task"),
	...textRows(task, place, "text"),
	"",
];

/** A step that does not change any more is laid out once. */
function rowsOfStep(step: Step, place: Place): readonly string[] {
	const isRunning = step.kind === "call" && !step.result;
	const key = isRunning ? "" : `${place.width}`;
	const before = known.get(step);
	if (before && before.key === key) return before.rows;
	const rows = stepRows(step, place);
	if (!isRunning) known.set(step, { key, rows });
	return rows;
}

function stepRows(step: Step, place: Place): string[] {
	const { theme, width } = place;
	switch (step.kind) {
		case "call":
			return callRows(step, place);
		case "steer":
			return steerRows([step.steer], place);
		case "said":
			return markdownRows(step.text, Math.max(1, width - 2), theme).map((row) => (row === "" ? "" : `  ${row}`));
		case "thought":
			return textRows(step.text, place, "dim");
		case "stray":
			return textRows(step.text, place, "muted");
		case "failed":
			return textRows(`✗ ${step.text}`, place, "error");
		case "told":
			return [theme.fg("muted", "Told"), ...textRows(step.text, place, "text"), ""];
	}
}

function callRows({ name, args, since, result }: CallStep, { theme, width, now }: Place): string[] {
	const { word, text } = callText({ name, args }, { width, cwd: "", home: "" });
	const ms = result ? result.ms : since > 0 ? now - since : 0;
	const time = since > 0 ? (result ? stepTimeText(ms) : durationText(ms)) : "";
	const sign = result ? (result.isError ? theme.fg("error", "✗") : theme.fg("success", "✓")) : theme.fg("accent", "▸");
	const tool = fitLine(word, Math.max(1, width - 2));
	const room = Math.max(0, width - columnsOf(tool) - 4 - TIME_COLUMNS);
	const about = fitLine(text, room);
	const gap = " ".repeat(Math.max(0, room - columnsOf(about)) + TIME_COLUMNS - columnsOf(time));
	const head = `${sign} ${theme.fg("toolTitle", tool)}  ${theme.fg("text", about)}`;
	const more = result && result.lines > result.head.length ? [`… ${result.lines - result.head.length} more lines`] : [];
	const shown = (result?.head ?? []).flatMap((line) => printable(line));
	return [
		time === "" ? head : `${head}${gap}${theme.fg("muted", time)}`,
		...[...shown, ...more].map((line) => theme.fg("muted", fitLine(`  │ ${line}`, width))),
	];
}

/** `9m59s`, and a gap before it. */
const TIME_COLUMNS = 7;

const printable = (line: string): string[] =>
	sanitize(line)
		.split("\n")
		.map(expandTabs)
		.filter((each) => each !== "");

/** Of what is being written, no more than this is laid out, ten times a second. */
const MAX_PARTIAL_CHARS = 20_000;

function textRows(text: string, { theme, width }: Place, color: "text" | "muted" | "dim" | "error"): string[] {
	return sanitize(text)
		.trim()
		.split("\n")
		.flatMap((line) => wrapPlain(expandTabs(line), Math.max(1, width - 2)))
		.map((row) => (row === "" ? "" : `  ${theme.fg(color, row)}`));
}

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

/** What it writes, what waits for its next turn, and what it does now or how it ended. */
function nowRows(run: ListedRun, state: RunState, steps: readonly Step[], place: Place): string[] {
	const { theme, width } = place;
	const partial = state.partial.slice(-MAX_PARTIAL_CHARS);
	const written = markdownRows(partial, Math.max(1, width - 2), theme).map((row) => (row === "" ? "" : `  ${row}`));
	// One that was delivered stands in the conversation.
	const waiting = state.steers.filter(({ receipt }) => receipt.kind !== "delivered");
	return [
		...written,
		...steerRows(waiting, place),
		...(state.questions.length > 0 ? questionRows(state, place) : endRows(run, state, steps, place)),
	];
}

function endRows(run: ListedRun, state: RunState, steps: readonly Step[], place: Place): string[] {
	const { theme, now, width } = place;
	if (state.phase.kind === "done") {
		const failed = run.shown === "failed" || run.shown === "stopped";
		const words = failed ? `${WORDS[run.shown]}: ${sanitizeLine(run.note ?? "")}` : WORDS[run.shown];
		return ["", theme.fg(failed ? "error" : "success", words), ...receiptRows(run.receipt, width, theme)];
	}
	const doing = nowOf(run, now);
	if (!doing || (doing.word !== "over" && isSeen(state, steps))) return [];
	const time = doing.since > 0 && now - doing.since >= 1_000 ? `  ${durationText(now - doing.since)}` : "";
	const gap = doing.word === "over" ? " " : "  ";
	const words = `${doing.word}${doing.text === "" ? "" : gap}${doing.text}${doing.tail?.long ?? ""}`;
	return wrapPlain(`▸ ${sanitize(words)}${time}`, width).map((row) => theme.fg("accent", row));
}

function questionRows({ questions }: RunState, { theme, width }: Place): string[] {
	const asked = questions.map((question) => `? ${questionText(question)}`).join("\n");
	return sanitize(asked)
		.split("\n")
		.flatMap((line) => wrapPlain(expandTabs(line), width))
		.map((row) => theme.fg("warning", row));
}

/** What it does stands above already: the text that it writes, or the calls that run. */
function isSeen({ activity, partial }: RunState, steps: readonly Step[]): boolean {
	if (activity.kind === "writing") return activity.call === undefined && partial !== "";
	const open = steps.flatMap((step) => (step.kind === "call" && !step.result ? [step.id] : []));
	return activity.kind === "tools" && activity.calls.every(({ id }) => open.includes(id));
}
