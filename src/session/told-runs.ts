import type { ChatMessage } from "../domain/event.ts";
import { type KeptRun, statusOf } from "../domain/kept-run.ts";
import { textOf } from "../domain/messages.ts";
import { lastTextOf, type RunState } from "../domain/state.ts";
import { steerText } from "../domain/steer.ts";
import { describeEnd } from "../present/text.ts";
import type { ToldRun } from "../present/transcript.ts";
import { readRun } from "../run-directory/read.ts";

/** A run with all that can be found of it: its directory tells everything, the session's own entry the end of it. */
export async function tellRun(run: KeptRun): Promise<ToldRun & { readonly lastText: string }> {
	const { task: prompt, progress, directory } = run;
	const status = statusOf(run);
	const errorMessage = describeEnd(run);
	const remarks = progress.kind === "ended" ? progress.remarks : [];
	const state = directory === undefined || run.distrusted ? undefined : await readRun(directory);
	if (state) {
		const { phase, partial, messageCount } = state;
		const outcome = phase.kind === "done" ? phase.result.outcome : undefined;
		return {
			...{ status, prompt, messages: saidIn(state), partial, messageCount, errorMessage, remarks },
			lastText: outcome?.kind === "completed" ? outcome.text : lastTextOf(state),
		};
	}
	if (progress.kind === "running") {
		return { status, prompt, messages: [], partial: "", messageCount: 0, errorMessage, remarks, lastText: "" };
	}
	const { messages, messageCount, text } = progress;
	const partial = messages.some((message) => textOf(message) === text) ? "" : text; // else it was too long to be kept
	return { status, prompt, messages, partial, messageCount, errorMessage, remarks, lastText: text };
}

/** The conversation, with what the run was sent meanwhile and by whom. */
const saidIn = ({ entries }: RunState): readonly ChatMessage[] =>
	entries.flatMap((entry): ChatMessage[] => {
		if (entry.kind === "message") return [entry.message];
		return entry.kind === "steer" ? [{ role: "user", content: steerText(entry.steer), timestamp: 0 }] : [];
	});
