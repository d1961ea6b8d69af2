import type { Theme } from "@earendil-works/pi-coding-agent";
import { initialState, type RunState, reduce } from "../src/domain/state.ts";
import { noUsage } from "../src/domain/usage.ts";
import type { Display } from "../src/present/display.ts";
import { finalWindows, partialWindows, type ShownTask, type TaskWindow } from "../src/present/window.ts";
import { renderWindows } from "../src/present/windows-view.ts";
import { median, printTable } from "./figures.ts";

const WINDOWS = 16;
const LINES = 500;
const WIDTH = 118;
const ROUNDS = 50;
const AUDIENCE: Display = { previewWidth: WIDTH - 2, maxLines: 15, runningLines: 50, home: "/home/ann" };

const theme = {
	fg: (_color: string, text: string) => `\u001b[38;2;212;212;212m${text}\u001b[39m`,
	bold: (text: string) => `\u001b[1m${text}\u001b[22m`,
} as Theme;

/** One run that has said `LINES` lines, every fourth of them a tool call. */
function longRun(): RunState {
	const identity = {
		api: "openai-completions",
		provider: "mock",
		model: "mock-1",
		usage: noUsage,
		timestamp: 0,
	} as const;
	let state = reduce(initialState, { type: "started", at: Date.now(), supervisorPid: 1, pid: 2 });
	for (let line = 0; line < LINES; line++) {
		const text = `${line}: the quick brown fox jumps over the lazy dog, and then it does so once more`;
		const call = { type: "toolCall", id: `${line}`, name: "read", arguments: { path: `src/file-${line}.ts` } } as const;
		const content = line % 4 === 0 ? [call] : [{ type: "text", text } as const];
		state = reduce(state, {
			type: "message",
			message: { role: "assistant", content, ...identity, stopReason: "stop" },
		});
	}
	return state;
}

const taskOf = (state: RunState): ShownTask => ({
	name: "a sub-agent",
	sessionId: "a3f7b9c2d1e8f4a1",
	timeoutSeconds: 600,
	moved: false,
	profile: undefined,
	spec: undefined,
	task: "work",
	directory: undefined,
	state,
});

function frame(windows: readonly TaskWindow[], isPartial: boolean, expanded: boolean): number {
	const result = { content: [], details: { windows, maxLinesPerWindow: 15 } };
	const screen = () => ({ rows: 50, now: Date.now(), live: new Map() });
	return renderWindows(result, { expanded, isPartial }, theme, { state: {} }, screen).render(WIDTH).length;
}

function timed(work: () => number): number {
	const start = performance.now();
	if (work() === 0) throw new Error("nothing was drawn");
	return performance.now() - start;
}

const figure = (values: readonly number[]) =>
	`${median(values).toFixed(2)} ms (worst ${Math.max(...values).toFixed(2)})`;

/** What a frame costs with 16 windows of 500 lines each. */
export async function benchWindows(): Promise<void> {
	let states = Array.from({ length: WINDOWS }, longRun);
	const running: number[] = [];
	for (let round = 0; round < ROUNDS; round++) {
		// Everything that happens for an update in which every run has written something.
		states = states.map((state) => reduce(state, { type: "delta", text: `word ${round}\n` }));
		running.push(timed(() => frame(partialWindows(states.map(taskOf), AUDIENCE), true, true)));
	}
	const finals = () => finalWindows(states.map(taskOf), AUDIENCE);
	const first = Array.from({ length: ROUNDS }, () => structuredClone(finals())).map((windows) =>
		timed(() => frame(windows, false, true)),
	);
	const windows = finals();
	const again = Array.from({ length: ROUNDS }, () => timed(() => frame(windows, false, true)));
	printTable(`A frame with ${WINDOWS} windows of ${LINES} lines`, [
		["while they run, expanded, all changed", figure(running)],
		["after the end, expanded, drawn for the first time", figure(first)],
		["after the end, expanded, drawn again", figure(again)],
	]);
}

if (process.argv[1] === import.meta.filename) await benchWindows();
