import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { RunEvent } from "../../src/domain/event.ts";
import { initialState, reduce } from "../../src/domain/state.ts";
import { createTranscript, stepsIn } from "../../src/domain/transcript.ts";
import { noUsage } from "../../src/domain/usage.ts";

const model = { api: "openai-completions", provider: "p", model: "m", usage: noUsage, timestamp: 0 } as const;
const user = (content: string): RunEvent => ({ type: "message", message: { role: "user", content, timestamp: 0 } });
const called = (id: string, text: string): RunEvent => ({
	type: "message",
	message: {
		...{ role: "assistant", ...model, stopReason: "toolUse" },
		content: [
			{ type: "thinking", thinking: "" },
			{ type: "text", text },
			{ type: "toolCall", id, name: "read", arguments: { path: id } },
		],
	},
});
const began = (callId: string): RunEvent => ({ type: "tool-started", callId, name: "read", args: {}, nested: false });
const gave = (toolCallId: string, text: string, isError = false): RunEvent => ({
	type: "message",
	message: {
		...{ role: "toolResult", toolCallId, toolName: "read", isError, timestamp: 0 },
		content: [{ type: "text", text }],
	},
});
const clock = (at: number): RunEvent => ({ type: "clock", at });

function fold(...events: RunEvent[]) {
	const transcript = createTranscript();
	const state = events.reduce((before, event) => {
		const after = reduce(before, event);
		transcript.add(event, after);
		return after;
	}, initialState);
	return { steps: transcript.steps, state };
}

describe("the transcript of a run", () => {
	test("Has every step of a run that is longer than what its state keeps", () => {
		const events = Array.from({ length: 400 }, (_, index) => [
			called(`${index}`, `step ${index}`),
			gave(`${index}`, "ok"),
		]);
		const { steps, state } = fold(user("the task"), ...events.flat());
		assert.equal(state.entries.length, 500);
		assert.equal(steps.length, 800);
		assert.deepEqual(steps[0], { kind: "said", text: "step 0" });
		const last = steps.at(-1);
		assert.ok(last?.kind === "call" && last.id === "399" && last.result);
		assert.equal(stepsIn(state).filter(({ kind }) => kind === "said").length, 250);
	});

	test("Knows how long a call took by the run's own clock, that it failed, and how much more it gave", () => {
		const text = Array.from({ length: 20 }, (_, line) => `line ${line}`).join("\n");
		const { steps } = fold(
			...[clock(1_000), user("the task"), called("a", "two at once"), called("b", "")],
			...[began("a"), clock(1_500), began("b"), clock(5_100), gave("a", text), clock(9_000), gave("b", "ENOENT", true)],
		);
		const [, a, b] = steps;
		assert.deepEqual(a?.kind === "call" && a.result, {
			...{ isError: false, lines: 20, ms: 4_100 },
			head: ["line 0", "line 1", "line 2", "line 3", "line 4", "line 5"],
		});
		assert.deepEqual(b?.kind === "call" && b.result, { isError: true, lines: 1, ms: 7_500, head: ["ENOENT"] });
	});

	test("Leaves out the task, and has what the run was told later, also by whom", () => {
		const steer = { id: "1", text: "only src", when: "turn-end" } as const;
		const { steps } = fold(
			user("the task"),
			user("go on"),
			{ type: "steer-queued", at: 5, steer, from: "process" },
			{ type: "steer-received", ids: ["1"] },
		);
		assert.deepEqual(steps, [
			{ kind: "told", text: "go on" },
			{ kind: "steer", steer: { ...steer, from: "process", receipt: { kind: "delivered", turn: 1 } } },
		]);
	});
});
