import type { Usage } from "@earendil-works/pi-ai";
import type { ChatMessage } from "../domain/event.ts";
import { cut, lastAssistant, newestWithin } from "../domain/messages.ts";
import type { RunSpec } from "../domain/spec.ts";
import { isStoppedByPerson, messagesOf, type RunResult, type RunState } from "../domain/state.ts";
import type { Audience } from "./audience.ts";
import { remarksOn } from "./remarks.ts";
import { type DelegateStatus, delegateStatusOf, describeFailure, exitCodeOf } from "./text.ts";
import { type Todos, todosOf } from "./todos.ts";
import type { WindowLine } from "./window-line.ts";
import { linesOf, MAX_LINES } from "./window-lines.ts";

export type { WindowLine } from "./window-line.ts";

/** What a task looks like from outside: a part of the tool's details, so it is plain JSON. */
export interface TaskWindow {
	readonly name: string;
	readonly sessionId: string;
	readonly status: DelegateStatus;
	readonly lines: readonly WindowLine[];
	readonly allMessages: readonly ChatMessage[];
	readonly exitCode: number | null;
	/** `provider/id` */
	readonly model?: string;
	readonly thinking?: string;
	readonly stopReason?: string;
	readonly errorMessage?: string;
	/** What is said of it besides: a sentence each. */
	readonly remarks?: readonly string[];
	readonly profileName?: string;
	/** Where the definition comes from, and whether a project's hides one of the person's own. */
	readonly profileSource?: "global" | "project" | "project, hides global";
	/** Seconds; 0 = no limit. */
	readonly timeout: number;
	/** 0 while the task waits for its turn. */
	readonly startedAt: number;
	readonly completedAt?: number;
	readonly toolCalls: number;
	/** While the sub-agent's own list is not complete. */
	readonly todos?: Todos;
	readonly usage: Usage;
}

/** A task of a call, whether it could be planned or not. */
export interface ShownTask {
	readonly name: string;
	readonly sessionId: string;
	readonly timeoutSeconds: number;
	readonly profile: string | undefined;
	readonly spec: RunSpec | undefined;
	readonly state: RunState;
}

/** What a call's details may amount to, however many tasks it has: each update and each result is sent as a whole. */
const RUNNING_BYTES = 32 * 1024;
const FINAL_LINES_BYTES = 512 * 1024;
const FINAL_MESSAGES_BYTES = 256 * 1024;
const MAX_WINDOW_LINES_BYTES = 64 * 1024;
const MAX_WINDOW_MESSAGES_BYTES = 32 * 1024;
const MAX_ERROR_CHARS = 2_000;

/** While a call runs: the last lines and no messages. */
export function partialWindows(tasks: readonly ShownTask[], audience: Audience): TaskWindow[] {
	return tasks.map((task) => {
		const lines = shownLines(task, audience.runningLines, audience);
		return windowOf(task, newestWithin(lines, RUNNING_BYTES / tasks.length), []);
	});
}

export function finalWindows(tasks: readonly ShownTask[], audience: Audience): TaskWindow[] {
	const linesBytes = Math.min(MAX_WINDOW_LINES_BYTES, FINAL_LINES_BYTES / tasks.length);
	const messagesBytes = Math.min(MAX_WINDOW_MESSAGES_BYTES, FINAL_MESSAGES_BYTES / tasks.length);
	return tasks.map((task) => {
		const lines = newestWithin(shownLines(task, MAX_LINES, audience), linesBytes);
		return windowOf(task, lines, newestWithin(messagesOf(task.state), messagesBytes));
	});
}

function shownLines({ state, spec }: ShownTask, max: number, { previewWidth, home }: Audience): readonly WindowLine[] {
	return linesOf(state, Math.min(max, MAX_LINES), { width: previewWidth, cwd: spec?.cwd ?? "", home });
}

function windowOf(task: ShownTask, lines: readonly WindowLine[], allMessages: readonly ChatMessage[]): TaskWindow {
	const { state, spec, profile } = task;
	const result = state.phase.kind === "done" ? state.phase.result : undefined;
	const model = result?.model ?? spec?.model ?? modelOf(state);
	const todos = todosOf(state.entries);
	const stopReason = isStoppedByPerson(state) ? "stopped" : result?.stopReason;
	return {
		name: task.name,
		sessionId: task.sessionId,
		status: delegateStatusOf(state),
		lines,
		allMessages,
		exitCode: result ? exitCodeOf(result.exit) : null,
		...(model && { model: `${model.provider}/${model.id}` }),
		...(spec?.model?.thinking !== undefined && { thinking: spec.model.thinking }),
		...(stopReason !== undefined && { stopReason }),
		...(result?.outcome.kind === "failed" && {
			errorMessage: cut(describeFailure(result.outcome.failure, spec?.family), MAX_ERROR_CHARS),
		}),
		...remarksOf(result),
		...(profile !== undefined && { profileName: profile }),
		...(spec?.agent && { profileSource: spec.agent.shadows ? "project, hides global" : spec.agent.scope }),
		timeout: task.timeoutSeconds,
		startedAt: state.phase.kind === "running" ? state.phase.since : (result?.startedAt ?? 0),
		...(result && { completedAt: result.endedAt }),
		toolCalls: state.toolCalls,
		...(todos.done < todos.total && { todos }),
		usage: state.usage,
	};
}

function remarksOf(result: RunResult | undefined): Pick<TaskWindow, "remarks"> {
	const remarks = result ? remarksOn(result) : [];
	return remarks.length > 0 ? { remarks } : {};
}

function modelOf(state: RunState): { provider: string; id: string } | undefined {
	const last = lastAssistant(messagesOf(state));
	return last && { provider: last.provider, id: last.model };
}
