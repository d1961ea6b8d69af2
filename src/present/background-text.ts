import {
	type BackgroundCounts,
	type BackgroundRun,
	type BackgroundStatus,
	backgroundStatusOf,
	endStatusOf,
	type RunEnd,
	type SaidOfRun,
} from "../domain/kept-run.ts";
import { cut } from "../domain/messages.ts";
import type { RunReceipt } from "../domain/receipt.ts";
import { isPersonsStop } from "../domain/run-result.ts";
import { FILES, RUN_ID_PATTERN } from "../run-directory/names.ts";
import { shorten } from "./answer-lines.ts";
import { fleetKeyText } from "./fleet-key.ts";
import { escapeLines } from "./preset-text.ts";
import { sanitizeLine } from "./sanitize.ts";
import { SIGNS, WORDS } from "./task-state.ts";
import { describeEnd } from "./text.ts";

/** What the completion message carries for its renderer. */
export interface CompletionDetails {
	readonly runId: string;
	readonly preset: string;
	readonly status: Exclude<BackgroundStatus, "running">;
	readonly seconds: number;
	readonly tokens: number;
	readonly cost: number;
	/** Missing in messages of earlier versions. */
	readonly receipt?: readonly string[];
	readonly text: string;
}

const MAX_SHOWN_CHARS = 4_000;
const MAX_NAMES = 8;
const MAX_TASK_CHARS = 100;
const MAX_ERROR_CHARS = 1_000;

/** `agents: 4 running, 1 in background · alt+a`; nothing when nothing runs. */
export function footerText(foreground: number, { running }: BackgroundCounts): string | undefined {
	const parts = [
		...(foreground > 0 ? [`${foreground} running`] : []),
		...(running > 0 ? [`${running} in background`] : []),
	];
	return parts.length > 0 ? `agents: ${parts.join(", ")} · ${fleetKeyText()}` : undefined;
}

export const STATUS_SIGNS = {
	queued: SIGNS.queued,
	running: SIGNS.running,
	completed: SIGNS.done,
	failed: SIGNS.failed,
	aborted: SIGNS.stopped,
} as const;

/** What a person reads on the screen, the same as everywhere; the model is told B's words. */
export const STATUS_WORDS = { completed: WORDS.done, failed: WORDS.failed, aborted: WORDS.stopped } as const;

/** What is told when a background run has ended: a notice to the person, a message with more to show to the session. */
export interface CompletionText {
	readonly notice: string;
	/** What the model reads. */
	readonly text: string;
	readonly details: CompletionDetails;
}

/** The person knows: no notification has to say so. */
export const wasStoppedByPerson = ({ outcome }: RunEnd): boolean =>
	outcome.kind === "failed" && outcome.failure.kind === "stopped" && isPersonsStop(outcome.failure);

export function completionText(run: BackgroundRun, end: RunEnd): CompletionText {
	const seconds = secondsBetween(run.startedAt, end.at);
	const status = endStatusOf(end.outcome);
	const how = wasStoppedByPerson(end) ? "stopped by you" : `${status}${remarkOn(end)}`;
	const error = wasStoppedByPerson(end) ? "" : errorOf(run);
	const line = `${STATUS_SIGNS[status]} Background agent ${sanitizeLine(run.label)} (${run.runId}) ${how} after ${seconds}s${error}`;
	return {
		notice: [line, ...receiptOf(end)].join("\n"),
		text: [`${line}. Its answer: background_agent_status with this runId.`, ...receiptOf(end)].join("\n"),
		details: {
			runId: run.runId,
			preset: run.label,
			status,
			seconds,
			tokens: end.usage.totalTokens,
			cost: end.usage.cost.total,
			receipt: end.receipt,
			text: cut(end.text || (describeEnd(run) ?? ""), MAX_SHOWN_CHARS),
		},
	};
}

/** The lines of a receipt stand below the run's own. */
export const receiptOf = ({ receipt }: SaidOfRun): string[] => receipt.map((line) => `  ${sanitizeLine(line)}`);

/** For whoever quits: undefined where nothing runs. */
export function keepsRunningText(runs: readonly BackgroundRun[]): string | undefined {
	const names = runs.filter(({ progress }) => progress.kind === "running").map(({ label }) => sanitizeLine(label));
	if (names.length === 0) return undefined;
	const who = names.length === 1 ? "1 background agent keeps" : `${names.length} background agents keep`;
	const shown = [...names.slice(0, MAX_NAMES), ...(names.length > MAX_NAMES ? ["…"] : [])].join(", ");
	return `${who} running: ${shown}. You will be told when this session is opened again.`;
}

/** `2 running, 1 completed, 0 failed, 0 aborted, 3 total` */
export const countsText = ({ running, completed, failed, aborted, total }: BackgroundCounts): string =>
	`${running} running, ${completed} completed, ${failed} failed, ${aborted} aborted, ${total} total`;

/** One run in the list of `background_agent_status`. */
export function runRow(run: BackgroundRun, now: number): string {
	const status = backgroundStatusOf(run);
	const { progress } = run;
	const age = secondsBetween(run.startedAt, progress.kind === "ended" ? progress.at : now);
	const task = cut(sanitizeLine(run.task.split("\n", 1)[0] ?? ""), MAX_TASK_CHARS);
	const more = progress.kind === "ended" ? `${remarkOn(progress)}${errorOf(run)}` : "";
	return `${STATUS_SIGNS[status]} ${run.runId} ${sanitizeLine(run.label)}: ${status}${more}, ${age}s, ${run.resolvedModel ?? "pi's default model"}: ${task}`;
}

/** The same for one that was asked for: with where and when it worked, and what it has left. */
export function runText(run: BackgroundRun, now: number): string {
	const { cwd, requestedModel, startedAt, progress, directory } = run;
	const lines = [
		runRow(run, now),
		`cwd: ${sanitizeLine(cwd ?? "")}`,
		...(requestedModel === undefined ? [] : [`requested model: ${sanitizeLine(requestedModel)}`]),
		`started: ${timeText(startedAt)}${progress.kind === "ended" ? `, ended: ${timeText(progress.at)}` : ""}`,
		`artifacts: ${sanitizeLine(directory)}/{${SHOWN_FILES.join(",")}}`,
	];
	return lines.join("\n");
}

/** Of the run directory, what says something about the run. */
const SHOWN_FILES = (["meta", "events", "result", "stdout", "stderr", "transcript", "childSession"] as const).map(
	(name) => FILES[name],
);

/** Not `toISOString`, which throws where an entry holds a time that is none. */
const timeText = (at: number) => new Date(at).toJSON();

/** A line of an answer that looks like a row is none of ours. */
const ROW_HEADS = new RegExp(`^(?=[●✓✗■] ${RUN_ID_PATTERN} )`, "gm");

/** What a run that has ended said, whole where that is known; empty where it said nothing. `limit` characters at most. */
export function saidText({ runId }: BackgroundRun, end: RunEnd, whole: string | undefined, limit: number): string {
	const text = escapeLines(shorten(whole ?? end.text, runId, limit), ROW_HEADS);
	return text === "" || end.outcome.kind === "completed" ? text : `What it had written:\n${text}`;
}

function errorOf(run: BackgroundRun): string {
	const error = describeEnd(run);
	return error === undefined ? "" : ` — ${cut(sanitizeLine(error), MAX_ERROR_CHARS)}`;
}

/** An answer that is none, or not all of one, says so. */
function remarkOn({ outcome, stopReason, text, remarks }: RunEnd): string {
	const told = remarks.map((remark) => `, ${sanitizeLine(remark)}`).join("");
	if (outcome.kind !== "completed") return told;
	if (stopReason === "length") return `, cut by the output limit${told}`;
	return text.trim() === "" ? `, no text output${told}` : told;
}

const secondsBetween = (from: number, to: number) => Math.max(0, Math.round((to - from) / 1_000));

/** A background run as its tools show it in their details. */
export interface ShownRun {
	readonly runId: string;
	readonly preset: string;
	readonly presetSource: BackgroundRun["scope"];
	readonly task: string;
	readonly cwd: string | undefined;
	readonly requestedModel: string | undefined;
	readonly resolvedModel: string | undefined;
	readonly directory: string;
	readonly startedAt: number;
	readonly status: BackgroundStatus;
	readonly progress: BackgroundRun["progress"];
	readonly artifacts: Readonly<Record<keyof typeof FILES, string>>;
	/** Missing while it runs, and where its directory is gone. */
	readonly receipt?: RunReceipt;
}

export function shownRun(run: BackgroundRun, receipt?: RunReceipt): ShownRun {
	const { runId, label, scope, task, cwd, requestedModel, resolvedModel, directory, startedAt, progress } = run;
	const paths = Object.entries(FILES).map(([name, file]) => [name, `${directory}/${file}`]);
	return {
		...{ runId, preset: label, presetSource: scope, task, cwd, requestedModel, resolvedModel, directory, startedAt },
		...{ status: backgroundStatusOf(run), progress, artifacts: Object.fromEntries(paths), ...(receipt && { receipt }) },
	};
}
