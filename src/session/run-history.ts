import { DROPPED_MESSAGE } from "../domain/decode.ts";
import { type KeptRun, statusOf } from "../domain/kept-run.ts";
import { textOf } from "../domain/messages.ts";
import { lastTextOf, type RunState } from "../domain/state.ts";
import { steerText } from "../domain/steer.ts";
import { NOTHING_SAID } from "../present/remarks.ts";
import { describeDeletion, describeEnd } from "../present/text.ts";
import type { HistoryMessage, RunHistory } from "../present/transcript.ts";
import { deletionOf } from "../run-directory/deletions.ts";
import { readRun, readSpec } from "../run-directory/read.ts";

/** A run with all that can be found of it: its directory tells everything, the session's own entry the end of it. */
export async function historyOf(run: KeptRun): Promise<RunHistory & { readonly lastText: string }> {
	const { progress, directory } = run;
	const status = statusOf(run);
	const errorMessage = describeEnd(run);
	const { remarks, receipt } = progress.kind === "ended" ? progress : NOTHING_SAID;
	const state = directory === undefined || run.distrusted ? undefined : await readRun(directory);
	if (state && directory !== undefined) {
		const { phase, partial, messageCount } = state;
		const outcome = phase.kind === "done" ? phase.result.outcome : undefined;
		const prompt = (await readSpec(directory))?.task ?? run.task; // the session's entry has only its beginning
		return {
			...{ status, prompt, messages: messagesIn(state), partial, messageCount, errorMessage, remarks, receipt },
			lastText: outcome?.kind === "completed" ? outcome.text : lastTextOf(state),
		};
	}
	const prompt = run.task;
	if (progress.kind === "running") {
		return { status, prompt, messages: [], partial: "", messageCount: 0, errorMessage, remarks, receipt, lastText: "" };
	}
	const { messages, messageCount, text } = progress;
	const partial = messages.some((message) => textOf(message) === text) ? "" : text; // else it was too long to be kept
	const deletion = directory === undefined || run.distrusted ? undefined : await deletionOf(directory);
	return {
		...{ status, prompt, messages, partial, messageCount, errorMessage, receipt, lastText: text },
		remarks: deletion ? [...remarks, describeDeletion(deletion)] : remarks,
	};
}

/** The conversation, with what the run was sent meanwhile and by whom, and with notes in the place of what was dropped. */
const messagesIn = ({ entries }: RunState): HistoryMessage[] =>
	entries.flatMap((entry): HistoryMessage[] => {
		if (entry.kind === "message") return [entry.message];
		if (entry.kind === "steer") return [{ role: "user", content: steerText(entry.steer), timestamp: 0 }];
		return entry.text === DROPPED_MESSAGE ? [{ role: "note", text: DROPPED_MESSAGE }] : [];
	});
