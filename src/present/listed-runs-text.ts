import { cut } from "../domain/messages.ts";
import { STATUS_SIGNS } from "./background-text.ts";
import { sanitizeLine } from "./sanitize.ts";

/** A run in the list of `/subagents`. */
interface ShownRun {
	readonly runId: string;
	readonly sessionId: string;
	readonly label: string;
	readonly task: string;
	readonly status: "queued" | "running" | "completed" | "failed" | "aborted";
	readonly place: "foreground" | "background" | "elsewhere";
	readonly startedAt: number;
	readonly endedAt: number | undefined;
}

const PLACES = { foreground: "", background: ", in the background", elsewhere: ", of another session" } as const;
const MAX_ROWS = 50;
const MAX_TEXT_CHARS = 80;

/** The list of `/subagents`: what runs comes last, next to the prompt. */
export function listedRunsText(runs: readonly ShownRun[], now: number): string {
	const isOpen = ({ status }: ShownRun) => status === "queued" || status === "running";
	const sorted = [...runs.filter((run) => !isOpen(run)), ...runs.filter(isOpen)];
	const left = sorted.length - MAX_ROWS;
	const count = (status: ShownRun["status"]) => runs.filter((run) => run.status === status).length;
	const ended = runs.filter((run) => !isOpen(run)).length;
	const counts = [`${count("running")} running`, `${count("queued")} queued`, `${ended} ended`];
	return [
		`Sub-agents: ${counts.join(", ")}`,
		...(left > 0 ? [`  ${left} earlier ones are left out`] : []),
		...sorted.slice(-MAX_ROWS).map((run) => listedRunRow(run, now)),
	].join("\n");
}

export function listedRunRow(run: ShownRun, now: number): string {
	const { runId, sessionId, label, task, status, place, startedAt, endedAt } = run;
	const seconds = Math.max(0, Math.round(((endedAt ?? now) - startedAt) / 1_000));
	const age = status === "queued" ? "" : `, ${seconds}s`;
	const session = sessionId === runId ? "" : `, session ${sessionId}`;
	const name = cut(sanitizeLine(label), MAX_TEXT_CHARS);
	return `${STATUS_SIGNS[status]} ${name}: ${status}${age}${PLACES[place]} (run ${runId}${session}): ${cut(sanitizeLine(task.split("\n", 1)[0] ?? ""), MAX_TEXT_CHARS)}`;
}
