import { describeMessage } from "../domain/messages.ts";
import { steerText } from "../domain/steer.ts";
import type { ListedRun } from "./fleet-view.ts";
import { sanitize, sanitizeLine } from "./sanitize.ts";
import { SIGNS, WORDS } from "./task-state.ts";

/** The whole transcript of a run as text. */
export function transcriptText(run: ListedRun): string {
	const { state } = run;
	const head = `${SIGNS[run.shown]} ${sanitizeLine(run.label)} (${run.runId}): ${WORDS[run.shown]}`;
	if (!state) return `${head}\nTask: ${sanitize(run.task)}`;
	const said = state.entries.flatMap((entry) => {
		if (entry.kind === "stray") return [`[${entry.stream}]: ${entry.text}`];
		return entry.kind === "steer" ? [steerText(entry.steer)] : describeMessage(entry.message);
	});
	const left = state.messageCount - state.entries.filter(({ kind }) => kind === "message").length;
	const gap = left > 0 ? [`[${left} earlier messages are left out; the run's directory has them]`] : [];
	return sanitize([head, ...gap, ...said, ...(state.partial === "" ? [] : [state.partial])].join("\n"));
}
