import type { Usage } from "@earendil-works/pi-ai";
import type { Theme, ThemeColor } from "@earendil-works/pi-coding-agent";
import type { Limits } from "../domain/spec.ts";
import type { RunState } from "../domain/state.ts";
import { type Doing, doingNow, doingOf } from "./doing.ts";
import { firstLine } from "./end-note.ts";
import { columnsOf, fitEnd, fitLine } from "./fit.ts";
import { filled, panelRows } from "./panel-view.ts";
import { receiptRows } from "./receipt-view.ts";
import { sanitizeLine } from "./sanitize.ts";
import { SIGN_COLORS, SIGNS, type TaskState, WORDS } from "./task-state.ts";
import { costText, durationText } from "./units.ts";
import { lineRows } from "./window-body-view.ts";
import { linesOf } from "./window-lines.ts";
import { wrapPlain } from "./window-rows.ts";

/** A run in the list. */
export interface ListedRun {
	readonly runId: string;
	readonly label: string;
	readonly task: string;
	readonly model: { readonly provider: string; readonly id: string } | undefined;
	/** How many tokens its model takes in; undefined where nobody knows. */
	readonly contextWindow: number | undefined;
	readonly limits: Pick<Limits, "timeoutMs" | "idleGraceMs"> | undefined;
	/** Whether this session has started it, another one of its project, or one of another project. */
	readonly origin: "session" | "project" | "elsewhere";
	readonly lifetime: "foreground" | "background";
	readonly cwd: string;
	readonly shown: TaskState;
	readonly note: string | undefined;
	/** What was seen of its work, in lines. */
	readonly receipt: readonly string[];
	readonly startedAt: number;
	readonly endedAt: number | undefined;
	readonly usage: Usage;
	readonly state: RunState | undefined;
}

export interface FleetPicture {
	readonly runs: readonly ListedRun[];
	readonly selected: number;
	readonly scope: string;
	readonly scopes: readonly string[];
	/** What is to be said instead of the keys. */
	readonly notice: string | undefined;
	readonly keys: readonly string[];
	readonly width: number;
	readonly height: number;
	readonly now: number;
}

/** As many as the list leaves, and at least some. */
const STEP_ROWS = { least: 5, most: 12 } as const;
const LIST_ROWS = 6;
/** The frame, and the line between list and steps. */
const FRAME_ROWS = 3;

/** The list of all runs and the last steps of the one that is selected, in exactly `height` rows. */
export function fleetRows(picture: FleetPicture, theme: Theme): string[] {
	const { runs, selected, width, height, notice, keys } = picture;
	const left = Math.min(STEP_ROWS.most, height - FRAME_ROWS - Math.max(LIST_ROWS, runs.length));
	const steps = Math.min(Math.max(STEP_ROWS.least, left), Math.max(1, height - FRAME_ROWS - 3));
	const room = Math.max(1, height - FRAME_ROWS - steps);
	const first = Math.max(0, Math.min(selected - Math.floor(room / 2), runs.length - room));
	const inner = Math.max(1, width - 4);
	const list = runs
		.slice(first, first + room)
		.map((run, index) => runRow(run, first + index === selected, inner, picture.now, theme));
	const chosen = runs[selected];
	const said = noticeRows(notice, width, theme);
	return panelRows(
		{
			title: titleOf(picture),
			corner: cornersOf(picture),
			body: filled(list.length > 0 ? list : [theme.fg("muted", "No runs yet.")], room),
			foot: {
				title: chosen ? `${sanitizeLine(chosen.label)} · ${chosen.runId}` : "",
				rows: filled([...said, ...(chosen ? stepRows(chosen, inner, steps, theme) : [])], steps),
			},
			keys: notice !== undefined && said.length === 0 ? [notice] : keys,
		},
		width,
		theme,
	);
}

const cornersOf = ({ scopes, scope }: FleetPicture): string[] => [
	`${scopes.map((each) => (each === scope ? `[${each}]` : each)).join("  ")}: tab`,
	`[${scope}]: tab`,
];

/** A notice that is too long for the lower edge: a path must be seen as a whole. */
export const noticeRows = (notice: string | undefined, width: number, theme: Theme): string[] =>
	notice === undefined || columnsOf(notice) + 6 <= width
		? []
		: wrapPlain(notice, Math.max(1, width - 4)).map((row) => theme.fg("text", row));

function titleOf({ runs }: FleetPicture): string {
	const count = (matches: (run: ListedRun) => boolean) => runs.filter(matches).length;
	const cost = runs.reduce((sum, { usage }) => sum + usage.cost.total, 0);
	const parts = [
		[count(({ shown, lifetime }) => shown === "running" && lifetime === "foreground"), "running"],
		[count(({ shown }) => shown === "asks"), "asking"],
		[count(({ shown }) => shown === "queued"), "queued"],
		[count(({ shown, lifetime }) => shown === "running" && lifetime === "background"), "in the background"],
	] as const;
	const counts = parts.flatMap(([n, word]) => (n > 0 ? [`${n} ${word}`] : []));
	return ["Agents", ...counts, ...(runs.length > 0 ? [costText(cost, 1)] : [])].join(" · ");
}

const WORD_COLUMNS = 9;
const NAME_COLUMNS = 12;

function runRow(run: ListedRun, isSelected: boolean, width: number, now: number, theme: Theme): string {
	const doing = nowOf(run, now);
	const time = run.startedAt > 0 ? durationText((run.endedAt ?? now) - run.startedAt) : "";
	const cost = costText(run.usage.cost.total, run.usage.totalTokens);
	const figures = [
		...(width >= 90 ? [fitLine(sanitizeLine(run.model?.id ?? ""), 12).padEnd(13)] : []),
		time.padStart(7),
		...(width >= 70 ? [cost.padStart(8)] : []),
	].join("");
	const cursor = isSelected ? "▸ " : "  ";
	const word = fitLine(sanitizeLine(doing?.word ?? WORDS[run.shown]), WORD_COLUMNS - 1);
	const name = fitLine(sanitizeLine(run.label), NAME_COLUMNS - 1);
	const taken = 4 + WORD_COLUMNS + NAME_COLUMNS + columnsOf(figures) + 1;
	const text = aboutRun(run, doing, Math.max(0, width - taken), now);
	const head = `${pad(word, WORD_COLUMNS)}${pad(name, NAME_COLUMNS)}`;
	const body = `${pad(text, Math.max(0, width - taken))} ${figures}`;
	if (width < 4 + WORD_COLUMNS + NAME_COLUMNS)
		return theme.fg("muted", fitLine(`${cursor}${SIGNS[run.shown]} ${name}`, width));
	const row = [
		theme.fg("accent", cursor),
		theme.fg(SIGN_COLORS[run.shown] as ThemeColor, SIGNS[run.shown]),
		" ",
		isSelected ? theme.fg("accent", head) : theme.fg("toolTitle", head),
		theme.fg(isSelected ? "text" : "muted", body),
	];
	return row.join("");
}

/** What a running one does at this moment, also that it is over its limit. */
export function nowOf({ shown, state, startedAt, limits }: ListedRun, now: number): Doing | undefined {
	if ((shown !== "running" && shown !== "asks") || !state) return undefined;
	const [timeout, grace] = [(limits?.timeoutMs ?? 0) / 1_000, (limits?.idleGraceMs ?? 0) / 1_000];
	return doingNow({ startedAt, timeout, grace, doing: doingOf(state, PLACE) }, now);
}

const PLACE = { width: 200, cwd: "", home: "" };
const pad = (text: string, width: number) => text + " ".repeat(Math.max(0, width - columnsOf(text)));

/** What it does, or how it ended, or what it was asked while it waits. */
function aboutRun(run: ListedRun, doing: Doing | undefined, width: number, now: number): string {
	const where = whereText(run);
	if (doing) {
		const since = doing.since > 0 && now - doing.since >= 1_000 ? ` (${durationText(now - doing.since)})` : "";
		const tail = fitLine(`${doing.tail?.short ?? ""}${since}${where}`, width);
		return (doing.keep === "end" ? fitEnd : fitLine)(doing.text, Math.max(0, width - columnsOf(tail))) + tail;
	}
	if (run.shown === "running") return fitLine(`${firstLine(run.task)}${where}`, width);
	return fitLine(sanitizeLine(run.shown === "queued" ? run.task : firstLine(run.note ?? "")), width);
}

/** ` · background · another session`: what is not so for a task of a call of this session. */
function whereText({ lifetime, origin, cwd }: ListedRun): string {
	const project = sanitizeLine(cwd.split(/[\\/]/).at(-1) ?? "");
	const origins = { session: "", project: " · another session", elsewhere: ` · in ${project || "another project"}` };
	return `${lifetime === "background" ? " · background" : ""}${origins[origin]}`;
}

/** Its task, and the last it has said and done. */
function stepRows(
	{ task, state, shown, directory, receipt }: ListedRun & { directory?: string | undefined },
	width: number,
	max: number,
	theme: Theme,
): string[] {
	const head = theme.fg("muted", "Task  ") + theme.fg("text", fitLine(sanitizeLine(task), Math.max(0, width - 6)));
	const seen = receiptRows(receipt, width, theme);
	const lines = state ? linesOf(state, max, { ...PLACE, width }) : [];
	const waiting =
		shown === "queued" ? "Its turn has not come." : directory === undefined ? "Nothing can be read of it." : "…";
	const rows = lineRows(lines, width, Math.max(1, max - 1 - seen.length), theme).map((row) => row());
	return [head, ...seen, ...(rows.length > 0 ? rows : [theme.fg("muted", state ? "Nothing yet." : waiting)])];
}
