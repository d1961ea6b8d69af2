import type { Usage } from "@earendil-works/pi-ai";
import type { ChatMessage } from "../domain/event.ts";
import { cut, lastAssistant, newestWithin } from "../domain/messages.ts";
import type { RunSpec } from "../domain/spec.ts";
import { isStoppedByPerson, messagesOf, type RunResult, type RunState } from "../domain/state.ts";
import type { Audience } from "./audience.ts";
import { type Doing, doingOf } from "./doing.ts";
import { endNote } from "./end-note.ts";
import { remarksOn } from "./remarks.ts";
import { type TaskState, taskStateOf } from "./task-state.ts";
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
	/** It goes on as a background run. */
	readonly moved?: true;
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
	/** Seconds without a tool call that it may take after its limit. */
	readonly grace?: number;
	/** What a person sees it as: `status` has only A's three words. */
	readonly state: TaskState;
	/** It waits for its turn. */
	readonly queued?: true;
	/** What was asked: its beginning while it runs. */
	readonly task?: string;
	/** While it runs: what it does now. */
	readonly doing?: Doing;
	/** Characters of the message that it is writing. */
	readonly written?: number;
	/** When it has ended: how, in a line. */
	readonly note?: string;
	/** Its answer as it was written; cut when it is long. */
	readonly answer?: string;
	readonly runId?: string;
	readonly directory?: string;
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
	readonly task: string;
	readonly directory: string | undefined;
	readonly state: RunState;
	/** It goes on as a background run. */
	readonly moved: boolean;
}

/** What a call's details may amount to, however many tasks it has: each update and each result is sent as a whole. */
const RUNNING_LINES_BYTES = 14 * 1024;
const FINAL_ANSWERS_CHARS = 16 * 1024;
const FINAL_TASKS_CHARS = 8 * 1024;
const MAX_RUNNING_TASK_CHARS = 200;
const FINAL_LINES_BYTES = 512 * 1024;
const FINAL_MESSAGES_BYTES = 256 * 1024;
const MAX_WINDOW_LINES_BYTES = 64 * 1024;
const MAX_WINDOW_MESSAGES_BYTES = 32 * 1024;
const MAX_ERROR_CHARS = 2_000;

/** While a call runs: the last lines and no messages. */
export function partialWindows(tasks: readonly ShownTask[], audience: Audience): TaskWindow[] {
	return tasks.map((task) => {
		const lines = shownLines(task, audience.runningLines, audience);
		return windowOf(task, newestWithin(lines, RUNNING_LINES_BYTES / tasks.length), [], { ...audience, tasks: 0 });
	});
}

export function finalWindows(tasks: readonly ShownTask[], audience: Audience): TaskWindow[] {
	const linesBytes = Math.min(MAX_WINDOW_LINES_BYTES, FINAL_LINES_BYTES / tasks.length);
	const messagesBytes = Math.min(MAX_WINDOW_MESSAGES_BYTES, FINAL_MESSAGES_BYTES / tasks.length);
	return tasks.map((task) => {
		const lines = newestWithin(shownLines(task, MAX_LINES, audience), linesBytes);
		const messages = newestWithin(messagesOf(task.state), messagesBytes);
		return windowOf(task, lines, messages, { ...audience, tasks: tasks.length });
	});
}

function shownLines({ state, spec }: ShownTask, max: number, audience: Audience): readonly WindowLine[] {
	return linesOf(state, Math.min(max, MAX_LINES), placeOf(spec, audience));
}

const placeOf = (spec: RunSpec | undefined, { previewWidth, home }: Audience) => ({
	...{ width: previewWidth, home },
	cwd: spec?.cwd ?? "",
});

/** What only a person sees. A call that has ended shares its room among so many tasks; 0 while it runs. */
function shownOf({ state, spec, task, directory }: ShownTask, audience: Audience & { readonly tasks: number }) {
	const { phase, written } = state;
	const place = placeOf(spec, audience);
	const note = endNote(state, spec, place);
	const answer = phase.kind === "done" && phase.result.outcome.kind === "completed" ? phase.result.outcome.text : "";
	const isFinal = audience.tasks > 0;
	return {
		state: taskStateOf(state),
		...(phase.kind === "queued" && { queued: true as const }),
		...(phase.kind === "running" && { doing: doingOf(state, place), ...(written > 0 && { written }) }),
		...(spec && { grace: (spec.limits?.idleGraceMs ?? 0) / 1_000 }),
		...(note !== undefined && { note }),
		task: cut(task, isFinal ? FINAL_TASKS_CHARS / audience.tasks : MAX_RUNNING_TASK_CHARS),
		...(isFinal && answer !== "" && { answer: cut(answer, FINAL_ANSWERS_CHARS / audience.tasks) }),
		...(isFinal && spec && { runId: spec.runId }),
		...(isFinal && directory !== undefined && { directory }),
	};
}

function windowOf(
	task: ShownTask,
	lines: readonly WindowLine[],
	allMessages: readonly ChatMessage[],
	audience: Audience & { readonly tasks: number },
): TaskWindow {
	const { state, spec, profile } = task;
	const result = state.phase.kind === "done" ? state.phase.result : undefined;
	const model = result?.model ?? spec?.model ?? modelOf(state);
	const todos = todosOf(state.entries);
	const stopReason = isStoppedByPerson(state) ? "stopped" : result?.stopReason;
	return {
		name: task.name,
		sessionId: task.sessionId,
		status: delegateStatusOf(state),
		...movedIn(task),
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
		...shownOf(task, audience),
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

const movedIn = ({ moved }: ShownTask) => (moved ? ({ moved: true } as const) : {});

function modelOf(state: RunState): { provider: string; id: string } | undefined {
	const last = lastAssistant(messagesOf(state));
	return last && { provider: last.provider, id: last.model };
}
