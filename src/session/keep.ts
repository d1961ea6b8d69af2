import type { RunProgress, RunRecord } from "../domain/record.ts";
import { messageOf } from "../domain/result.ts";
import { messagesOf, type RunState } from "../domain/state.ts";
import { remarksOn } from "../present/remarks.ts";
import { describeFailure, exitCodeOf } from "../present/text.ts";
import { ENTRY_TYPE, encodeRecord } from "../records/session-entries.ts";
import type { SessionStore } from "../records/session-store.ts";

/** Keeps a run in the store and in pi's session file: when it starts, and again when it has ended. Never throws. */
export type Keep = (record: RunRecord) => void;

export function createKeep(
	store: SessionStore,
	appendEntry: (type: string, data: unknown) => void,
	warn: (message: string) => void,
): Keep {
	return (record) => {
		store.put(record);
		try {
			appendEntry(ENTRY_TYPE, encodeRecord(record));
		} catch (error) {
			warn(`A sub-agent's session could not be saved: ${messageOf(error)}`);
		}
	};
}

/** What is kept of a state. */
export function progressOf(state: RunState, family: RunRecord["family"]): RunProgress {
	if (state.phase.kind !== "done") return { kind: "running" };
	const { result } = state.phase;
	const { outcome, model } = result;
	return {
		kind: "ended",
		status: outcome.kind === "completed" ? "completed" : "error",
		at: result.endedAt,
		exitCode: exitCodeOf(result.exit),
		model: model && `${model.provider}/${model.id}`,
		stopReason: result.stopReason,
		errorMessage: outcome.kind === "failed" ? describeFailure(outcome.failure, family) : undefined,
		remarks: remarksOn(result),
		text: outcome.kind === "completed" ? outcome.text : result.text,
		messages: messagesOf(state),
		messageCount: state.messageCount,
		usage: state.usage,
	};
}
