import { dirname } from "node:path";
import type { BackgroundCounts, BackgroundEnd, BackgroundRun } from "../domain/background.ts";
import { backgroundStatusOf } from "../domain/background.ts";
import { cut } from "../domain/messages.ts";
import { FILES } from "../run-directory/names.ts";
import { shorten } from "./answer-lines.ts";
import { escapeLines } from "./preset-text.ts";
import { sanitizeLine } from "./sanitize.ts";

/** What the completion message carries for its renderer. */
export interface CompletionDetails {
	readonly runId: string;
	readonly preset: string;
	readonly status: BackgroundEnd["status"];
	readonly seconds: number;
	readonly tokens: number;
	readonly cost: number;
	readonly text: string;
}

const MAX_SHOWN_CHARS = 4_000;
const MAX_TASK_CHARS = 100;
const MAX_ERROR_CHARS = 1_000;

export const footerText = ({ running, total }: BackgroundCounts): string | undefined =>
	total === 0 ? undefined : `bg: ${running} running / ${total} total`;

export const ICONS = { running: "⏳", completed: "✓", failed: "✗", aborted: "✗" } as const;

/** What is told when a background run has ended: a notice to the person, a message with more to show to the session. */
export interface CompletionText {
	readonly notice: string;
	/** What the model reads. */
	readonly text: string;
	readonly details: CompletionDetails;
}

export function completionText(run: BackgroundRun, end: BackgroundEnd): CompletionText {
	const seconds = secondsBetween(run.startedAt, end.at);
	const notice = `${ICONS[end.status]} Background agent ${sanitizeLine(run.preset)} (${run.runId}) ${end.status}${remarkOn(end)} after ${seconds}s${errorOf(end)}`;
	return {
		notice,
		text: `${notice}. Its answer: background_agent_status with this runId.`,
		details: {
			runId: run.runId,
			preset: run.preset,
			status: end.status,
			seconds,
			tokens: end.usage.totalTokens,
			cost: end.usage.cost.total,
			text: cut(end.text || (end.errorMessage ?? ""), MAX_SHOWN_CHARS),
		},
	};
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
	const more = progress.kind === "ended" ? `${remarkOn(progress)}${errorOf(progress)}` : "";
	return `${ICONS[status]} ${run.runId} ${sanitizeLine(run.preset)}: ${status}${more}, ${age}s, ${run.resolvedModel ?? "pi's default model"}: ${task}`;
}

/** The same for one that was asked for: with where and when it worked, and what it has left. */
export function runText(run: BackgroundRun, now: number): string {
	const { cwd, requestedModel, startedAt, progress, directory } = run;
	const lines = [
		runRow(run, now),
		`cwd: ${sanitizeLine(cwd)}`,
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

/** Why nobody can tell how a run ended. */
export const distrustText = ({ directory, socket }: BackgroundRun, place: "directory" | "socket"): string =>
	place === "directory"
		? `Its directory is not private to you any more, so nothing is read from it: ${directory}`
		: `The directory of its socket is not private to you any more, so it is not followed: ${dirname(socket)}`;

/** A line of an answer that looks like a row is none of ours. */
const ROW_HEADS = /^(?=[⏳✓✗] \d{8}-\d{6}-[0-9a-f]{8} )/gm;

/** What a run that has ended said, whole where that is known; empty where it said nothing. `limit` characters at most. */
export function saidText(
	{ runId }: BackgroundRun,
	end: BackgroundEnd,
	whole: string | undefined,
	limit: number,
): string {
	const text = escapeLines(shorten(whole ?? end.text, runId, limit), ROW_HEADS);
	return text === "" || end.status === "completed" ? text : `What it had written:\n${text}`;
}

const errorOf = ({ errorMessage }: BackgroundEnd) =>
	errorMessage === undefined ? "" : ` — ${cut(sanitizeLine(errorMessage), MAX_ERROR_CHARS)}`;

/** An answer that is none, or not all of one, says so. */
function remarkOn({ status, stopReason, text, remarks }: BackgroundEnd): string {
	const told = remarks.map((remark) => `, ${sanitizeLine(remark)}`).join("");
	if (status !== "completed") return told;
	if (stopReason === "length") return `, cut by the output limit${told}`;
	return text.trim() === "" ? `, no text output${told}` : told;
}

const secondsBetween = (from: number, to: number) => Math.max(0, Math.round((to - from) / 1_000));
