import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { conclude, resultWithout } from "../../src/domain/conclude.ts";
import type { ChatMessage, Exit, RunEvent } from "../../src/domain/event.ts";
import { type Finalized, parseFinalized } from "../../src/domain/finalized.ts";
import { initialState, reduce } from "../../src/domain/state.ts";

describe("C20: what a finalize call must say", () => {
	const valid: [string, unknown, Finalized][] = [
		["a result", { status: "SUCCESS", result: "x" }, { status: "SUCCESS", result: "x" }],
		["a result as it is", { status: "SUCCESS", result: " x\n" }, { status: "SUCCESS", result: " x\n" }],
		["an error beside a result", { status: "SUCCESS", result: "x", error: "e" }, { status: "SUCCESS", result: "x" }],
		["a null for nothing", { status: "SUCCESS", result: "x", error: null }, { status: "SUCCESS", result: "x" }],
		["a number, as pi makes it", { status: "SUCCESS", result: 0 }, { status: "SUCCESS", result: "0" }],
		["an error", { status: "ERROR", error: "e" }, { status: "ERROR", error: "e", result: undefined }],
		["partial findings", { status: "ERROR", error: "e", result: "p" }, { status: "ERROR", error: "e", result: "p" }],
		[
			"empty findings",
			{ status: "ERROR", error: "e", result: " " },
			{ status: "ERROR", error: "e", result: undefined },
		],
	];
	for (const [name, input, answer] of valid) {
		test(name, () => assert.deepEqual(parseFinalized(input), answer));
	}

	const invalid: [string, unknown, RegExp][] = [
		["no result", { status: "SUCCESS" }, /^SUCCESS needs a result/],
		["an empty result", { status: "SUCCESS", result: " \n\t" }, /^SUCCESS needs a result/],
		["a result that is no text", { status: "SUCCESS", result: { a: 1 } }, /^SUCCESS needs a result/],
		["an error for a result", { status: "SUCCESS", error: "e" }, /^SUCCESS needs a result/],
		["no error", { status: "ERROR", result: "p" }, /^ERROR needs an error/],
		["an empty error", { status: "ERROR", error: "" }, /^ERROR needs an error/],
		["no question", { status: "QUESTION", result: "r" }, /^QUESTION needs a question/],
		["another status", { status: "DONE", result: "x" }, /^status must be/],
		["another spelling", { status: "success", result: "x" }, /^status must be/],
		["no status", { result: "x" }, /^status must be/],
		["nothing", undefined, /^status must be/],
		["null", null, /^status must be/],
		["a text", "SUCCESS", /^status must be/],
		["a list", ["SUCCESS"], /^status must be/],
	];
	for (const [name, input, complaint] of invalid) {
		test(`Refused: ${name}`, () => assert.match(String(parseFinalized(input)), complaint));
	}
});

describe("what an agent's run amounts to", () => {
	const finalize = (result: string): RunEvent => {
		const details = { status: "SUCCESS", result };
		const base = { role: "toolResult", toolCallId: "1", toolName: "subagent_finalize", content: [], timestamp: 1 };
		return { type: "message", message: { ...base, details, isError: false } as unknown as ChatMessage };
	};
	const says = (stopReason: string): RunEvent => {
		const message = {
			role: "assistant",
			content: [{ type: "text", text: "free text" }],
			stopReason,
			errorMessage: "E",
		};
		return { type: "message", message: message as unknown as ChatMessage };
	};
	const settled: RunEvent = { type: "settled" };
	const stopping: RunEvent = { type: "stopping", at: 1, cause: { kind: "aborted", by: "caller" } };
	const conclusion = (events: readonly RunEvent[], exit: Exit = { kind: "code", code: 0 }) =>
		conclude(events.reduce(reduce, initialState), exit, { kind: "finalize", attempts: 3 }, "");
	const answer = (text: string) => ({ kind: "completed", text, end: "natural" });

	test("The first valid answer counts (X22)", () => {
		assert.deepEqual(conclusion([says("toolUse"), finalize("one"), finalize("two"), settled]), answer("one"));
	});
	test("An answer that was handed over is not lost by what follows (X13)", () => {
		assert.deepEqual(conclusion([says("toolUse"), finalize("one"), says("error"), settled]), answer("one"));
		assert.deepEqual(
			conclusion([says("toolUse"), finalize("one")], { kind: "signal", signal: "SIGKILL" }),
			answer("one"),
		);
		assert.deepEqual(conclusion([says("toolUse"), finalize("one"), stopping]), answer("one"));
	});
	test("Nor when nobody is left to watch over the run (X13)", () => {
		const state = [says("toolUse"), finalize("one")].reduce(reduce, initialState);
		assert.deepEqual(resultWithout("id", state, { kind: "lost" }, 1).outcome, answer("one"));
	});
	test("First cause wins: what comes while the run is being stopped is no answer (X13)", () => {
		assert.equal(conclusion([says("toolUse"), stopping, finalize("one"), settled]).kind, "failed");
	});
	test("Free text is not the answer (C21)", () => {
		assert.deepEqual(conclusion([says("stop"), settled]), {
			kind: "failed",
			failure: { kind: "unfinalized", attempts: 3 },
		});
	});
});
