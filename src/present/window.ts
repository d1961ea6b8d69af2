import type { Usage } from "@earendil-works/pi-ai";
import { cutBytes, cutFront, lastAssistant, newestWithin } from "../domain/messages.ts";
import { modelName } from "../domain/model-name.ts";
import type { RunReceipt } from "../domain/receipt.ts";
import type { RunResult } from "../domain/run-result.ts";
import type { RunSpec } from "../domain/spec.ts";
import { isStoppedByPerson, messagesOf, type RunState } from "../domain/state.ts";
import type { Display } from "./display.ts";
import { type Doing, doingOf } from "./doing.ts";
import { endNote } from "./end-note.ts";
import { shareLimit } from "./preset-text.ts";
import { receiptLines } from "./receipt-text.ts";
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
	/** The newest `maxLinesPerWindow` lines. */
	readonly lines: readonly WindowLine[];
	/** The newest lines, as many as are kept and fit: what an expanded window shows. */
	readonly allMessages: readonly WindowLine[];
	readonly exitCode: number | null;
	/** `provider/id` */
	readonly model?: string;
	readonly thinking?: string;
	readonly stopReason?: string;
	readonly errorMessage?: string;
	/** What is said of it besides: a sentence each. */
	readonly remarks?: readonly string[];
	/** What was seen of its work, as much of it as there is room for; and the lines that it comes to. */
	readonly receipt?: RunReceipt;
	readonly receiptLines?: readonly string[];
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

/** What a call's windows may amount to, however many tasks it has: each update and each result is sent as a whole. */
const RUNNING_BYTES = 30_000;
/** An agent's call also has what its agents handed over. */
const FINAL_BYTES = 40_000;
/** Of what is no line: with 16 tasks it must leave room for some. */
const MAX_FIELD_BYTES = 200;
const MAX_ERROR_BYTES = 600;
const FINAL_ANSWERS_BYTES = 12_000;
const FINAL_TASKS_BYTES = 4_000;
const FINAL_RECEIPTS_BYTES = 12_000;

/** `tasks`: among so many a call that has ended shares its room; 0 while it runs. */
type Room = Display & { readonly tasks: number };

/** While a call runs: the lines that a screen can show. */
export const partialWindows = (tasks: readonly ShownTask[], display: Display): TaskWindow[] =>
	windowsWithin(RUNNING_BYTES, tasks, { ...display, tasks: 0 }, display.runningLines);

export const finalWindows = (tasks: readonly ShownTask[], display: Display): TaskWindow[] =>
	windowsWithin(FINAL_BYTES, tasks, { ...display, tasks: tasks.length }, MAX_LINES);

/** All lines of a window, also of one that an earlier version has made. */
export const allLinesOf = ({ lines, allMessages }: TaskWindow): readonly WindowLine[] =>
	typeof allMessages[0]?.text === "string" ? allMessages : lines;

/** What one window does not need, the others get. */
function windowsWithin(bytes: number, tasks: readonly ShownTask[], display: Room, max: number): TaskWindow[] {
	const bare = tasks.map((task) => windowOf(task, display));
	const all = tasks.map((task) => shownLines(task, max, display));
	const few = all.map((lines) => lines.slice(-display.maxLines));
	const left = Math.max(0, bytes - sizeOf(bare));
	const fewShares = shareLimit(few.map(sizeOf), Math.floor(left / 2));
	const shown = few.map((lines, at) => fitLines(lines, fewShares[at] ?? 0));
	const allShares = shareLimit(all.map(sizeOf), Math.max(0, left - sizeOf(shown)));
	return bare.map((window, at) => ({
		...window,
		lines: shown[at] ?? [],
		allMessages: fitLines(all[at] ?? [], allShares[at] ?? 0),
	}));
}

/** The newest lines that fit; where not even one does, its end. */
function fitLines(lines: readonly WindowLine[], bytes: number): readonly WindowLine[] {
	const newest = newestWithin(lines, bytes);
	const last = lines.at(-1);
	if (newest.length > 0 || !last) return newest;
	return newestWithin([{ ...last, text: `…${cutFront(last.text, Math.floor(bytes / 4))}` }], bytes);
}

const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

function shownLines({ state, spec }: ShownTask, max: number, display: Display): readonly WindowLine[] {
	return linesOf(state, Math.min(max, MAX_LINES), placeOf(spec, display));
}

const placeOf = (spec: RunSpec | undefined, { previewWidth, home }: Display) => ({
	...{ width: previewWidth, home },
	cwd: spec?.cwd ?? "",
});

/** What only a person sees. */
function shownOf({ state, spec, task, directory, moved }: ShownTask, display: Room) {
	const { phase, written } = state;
	const place = placeOf(spec, display);
	const note = moved ? "moved to the background" : endNote(state, spec, place);
	const answer = phase.kind === "done" && phase.result.outcome.kind === "completed" ? phase.result.outcome.text : "";
	const isFinal = display.tasks > 0;
	return {
		state: moved ? ("moved" as const) : taskStateOf(state),
		...(phase.kind === "queued" && { queued: true as const }),
		...(phase.kind === "running" && { doing: doingOf(state, place), ...(written > 0 && { written }) }),
		...(spec && { grace: (spec.limits?.idleGraceMs ?? 0) / 1_000 }),
		...(note !== undefined && { note }),
		task: cutBytes(task, isFinal ? FINAL_TASKS_BYTES / display.tasks : MAX_FIELD_BYTES),
		...(isFinal && answer !== "" && { answer: cutBytes(answer, FINAL_ANSWERS_BYTES / display.tasks) }),
		...(isFinal && spec && { runId: spec.runId }),
		...(isFinal && directory !== undefined && { directory }),
	};
}

function windowOf(task: ShownTask, display: Room): TaskWindow {
	const { state, spec, profile } = task;
	const result = state.phase.kind === "done" ? state.phase.result : undefined;
	const model = result?.model ?? spec?.model ?? modelOf(state);
	const todos = todosOf(state.entries);
	const stopReason = isStoppedByPerson(state) ? "stopped" : result?.stopReason;
	return {
		name: cutBytes(task.name, MAX_FIELD_BYTES),
		sessionId: task.sessionId,
		status: delegateStatusOf(state),
		...movedIn(task),
		lines: [],
		allMessages: [],
		exitCode: result ? exitCodeOf(result.exit) : null,
		...(model && { model: modelName(model) }),
		...(spec?.model?.thinking !== undefined && { thinking: spec.model.thinking }),
		...(stopReason !== undefined && { stopReason }),
		...(result?.outcome.kind === "failed" && {
			errorMessage: cutBytes(describeFailure(result.outcome.failure, spec?.family), MAX_ERROR_BYTES),
		}),
		...remarksOf(result),
		...receiptIn(result, display),
		...(profile !== undefined && { profileName: cutBytes(profile, MAX_FIELD_BYTES) }),
		...(spec?.agent && { profileSource: spec.agent.shadows ? "project, hides global" : spec.agent.scope }),
		timeout: task.timeoutSeconds,
		...shownOf(task, display),
		startedAt: state.phase.kind === "running" ? state.phase.since : (result?.startedAt ?? 0),
		...(result && { completedAt: result.endedAt }),
		toolCalls: state.toolCalls,
		...(todos.done < todos.total && { todos }),
		usage: state.usage,
	};
}

function remarksOf(result: RunResult | undefined): Pick<TaskWindow, "remarks"> {
	const remarks = result ? remarksOn(result).map((remark) => cutBytes(remark, MAX_FIELD_BYTES)) : [];
	return remarks.length > 0 ? { remarks } : {};
}

/** Commands go first where there is no room, then files; what a person sees was made from all of it. */
function receiptIn(result: RunResult | undefined, { tasks }: Room): Pick<TaskWindow, "receipt" | "receiptLines"> {
	const receipt = result?.receipt;
	if (!receipt || tasks === 0) return {};
	const room = FINAL_RECEIPTS_BYTES / tasks;
	const bare = { ...receipt, files: [], commands: [], tests: receipt.tests.slice(-1) };
	const files = newestWithin(receipt.files.toReversed(), room - sizeOf(bare)).toReversed();
	const commands = newestWithin(receipt.commands, room - sizeOf({ ...bare, files }));
	const tests = newestWithin(receipt.tests, room - sizeOf({ ...bare, files, commands }) + sizeOf(bare.tests));
	return { receipt: { ...receipt, files, commands, tests }, receiptLines: receiptLines(receipt) };
}

const movedIn = ({ moved }: ShownTask) => (moved ? ({ moved: true } as const) : {});

function modelOf(state: RunState): { provider: string; id: string } | undefined {
	const last = lastAssistant(messagesOf(state));
	return last && { provider: last.provider, id: last.model };
}
