import type { Usage } from "@earendil-works/pi-ai";
import { endStatusOf, type KeptRun } from "../domain/kept-run.ts";
import { describeEnd } from "../present/text.ts";

/** The channel of pi's event bus on which other extensions hear of runs. docs/events.md describes it. */
export const RUN_EVENT = "subagents:run";

export type RunNotice =
	| { readonly type: "started"; readonly run: RunRecord }
	| { readonly type: "ended"; readonly run: RunRecord & RunEndRecord };

interface RunRecord {
	readonly runId: string;
	readonly sessionId: string;
	readonly name: string;
	/** The beginning of it, where it is long. */
	readonly task: string;
	readonly definition: string | undefined;
	readonly model: string | undefined;
	readonly cwd: string | undefined;
	readonly directory: string | undefined;
	readonly background: boolean;
	readonly startedAt: number;
}

interface RunEndRecord {
	readonly status: "completed" | "failed" | "aborted";
	/** Why it failed. */
	readonly error: string | undefined;
	/** The answer, or what a failed run had written; the beginning of it, where it is long. */
	readonly text: string;
	readonly remarks: readonly string[];
	readonly toolCalls: number;
	readonly usage: Usage;
	readonly endedAt: number;
}

/** Tells other extensions that a run has started or ended, each once in this process. */
export function createRunEvents(emit: (channel: string, notice: RunNotice) => void): (run: KeptRun) => void {
	const told = new Set<string>();
	return (run) => {
		const notice = noticeOf(run);
		const key = `${notice.type} ${run.runId}`;
		if (told.has(key)) return; // a run that goes to the background has started before
		told.add(key);
		emit(RUN_EVENT, notice);
	};
}

function noticeOf(run: KeptRun): RunNotice {
	const { runId, sessionId, label: name, task, definition, cwd, directory, startedAt, progress } = run;
	const isBackground = run.lifetime.kind === "background";
	const record = { runId, sessionId, name, task, definition, model: run.resolvedModel, cwd, directory, startedAt };
	if (progress.kind === "running") return { type: "started", run: { ...record, background: isBackground } };
	const { text, remarks, toolCalls, usage, at: endedAt } = progress;
	const end = { status: endStatusOf(progress.outcome), error: describeEnd(run) };
	return {
		type: "ended",
		run: { ...record, background: isBackground, ...end, text, remarks, toolCalls, usage, endedAt },
	};
}
