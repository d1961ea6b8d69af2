import { cut } from "../domain/messages.ts";
import type { ListedRun } from "./fleet-view.ts";
import { sanitizeLine } from "./sanitize.ts";
import { SIGNS, WORDS } from "./task-state.ts";
import { durationText } from "./units.ts";

/** A run in the list of `/subagents`. */
type ShownRun = ListedRun & { readonly sessionId: string };

const ORIGINS = { session: "", project: ", of another session", elsewhere: ", of another project" } as const;
const MAX_ROWS = 50;
const MAX_TEXT_CHARS = 80;

/** The list of `/subagents`: what runs comes last, next to the prompt. */
export function listedRunsText(runs: readonly ShownRun[], now: number): string {
	const isOpen = ({ shown }: ShownRun) => shown === "queued" || shown === "running" || shown === "asks";
	const oldestFirst = runs.toSorted((a, b) => a.startedAt - b.startedAt);
	const ended = oldestFirst.filter((run) => !isOpen(run));
	const queued = runs.filter(({ shown }) => shown === "queued");
	const running = oldestFirst.filter((run) => isOpen(run) && run.shown !== "queued");
	const sorted = [...ended, ...running, ...queued];
	const left = sorted.length - MAX_ROWS;
	return [
		`Sub-agents: ${running.length} running, ${queued.length} queued, ${ended.length} ended`,
		...(left > 0 ? [`  ${left} earlier ones are left out`] : []),
		...sorted.slice(-MAX_ROWS).map((run) => listedRunRow(run, now)),
	].join("\n");
}

export function listedRunRow(run: ShownRun, now: number): string {
	const { runId, sessionId, label, task, shown, lifetime, origin, startedAt, endedAt } = run;
	const age = startedAt > 0 ? `, ${durationText((endedAt ?? now) - startedAt)}` : "";
	const place = `${lifetime === "background" ? ", in the background" : ""}${ORIGINS[origin]}`;
	const session = sessionId === runId ? "" : `, session ${sessionId}`;
	const name = cut(sanitizeLine(label), MAX_TEXT_CHARS);
	return `${SIGNS[shown]} ${name}: ${WORDS[shown]}${age}${place} (run ${runId}${session}): ${cut(sanitizeLine(task.split("\n", 1)[0] ?? ""), MAX_TEXT_CHARS)}`;
}
