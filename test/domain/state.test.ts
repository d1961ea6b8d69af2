import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AssistantMessage } from "@earendil-works/pi-ai";
import { conclude, resultOf, resultWithout } from "../../src/domain/conclude.ts";
import type { ChatMessage, Exit, RunEvent, StopCause } from "../../src/domain/event.ts";
import { textOf } from "../../src/domain/messages.ts";
import type { Contract } from "../../src/domain/spec.ts";
import { initialState, lastTextOf, messagesOf, type RunState, reduce } from "../../src/domain/state.ts";
import { noUsage } from "../../src/domain/usage.ts";

const assistant = (text: string, more: Partial<AssistantMessage> = {}): RunEvent => ({
	type: "message",
	message: {
		role: "assistant",
		content: text === "" ? [] : [{ type: "text", text }],
		api: "openai-completions",
		provider: "mock",
		model: "mock-1",
		usage: { ...noUsage, input: 10, output: 1 },
		stopReason: "stop",
		timestamp: 1,
		...more,
	},
});
const finalize = (details: unknown, isError = false): RunEvent => {
	const base = { role: "toolResult", toolCallId: "1", toolName: "subagent_finalize", content: [], timestamp: 1 };
	return { type: "message", message: { ...base, details, isError } as unknown as ChatMessage };
};
const started: RunEvent = { type: "started", at: 1_000, supervisorPid: 1, pid: 2 };
const settled: RunEvent = { type: "settled" };
const aborted: StopCause = { kind: "aborted", by: "caller" };
const timedOut: StopCause = { kind: "timeout", afterMs: 5_000 };
const stopping = (cause: StopCause): RunEvent => ({ type: "stopping", at: 2_000, cause });
const fold = (...events: RunEvent[]): RunState => events.reduce(reduce, initialState);

const ZERO: Exit = { kind: "code", code: 0 };
const KILLED: Exit = { kind: "signal", signal: "SIGKILL" };
const LAST_TEXT: Contract = { kind: "last-text" };
const FINALIZE: Contract = { kind: "finalize", attempts: 3 };
const completed = (text: string, end = "natural") => ({ kind: "completed", text, end });
const failed = (failure: unknown) => ({ kind: "failed", failure });

interface Case {
	readonly name: string;
	readonly events: readonly RunEvent[];
	readonly exit?: Exit;
	readonly contract?: Contract;
	readonly outcome: unknown;
}

const CASES: readonly Case[] = [
	{ name: "an answer", events: [assistant("hi"), settled], outcome: completed("hi") },
	{ name: "X13: an answer without text", events: [assistant(""), settled], outcome: completed("") },
	{
		name: "W20: all text blocks of the last answer",
		events: [
			assistant("", {
				content: [
					{ type: "text", text: "a" },
					{ type: "thinking", thinking: "hm" },
					{ type: "text", text: "b" },
				],
			}),
			settled,
		],
		outcome: completed("a\nb"),
	},
	{
		name: "X13: an answer cut by the output limit",
		events: [assistant("as far", { stopReason: "length" }), settled],
		outcome: completed("as far", "output-limit"),
	},
	{
		name: "P10: a tool that ended the run",
		events: [assistant("", { stopReason: "toolUse" }), settled],
		outcome: completed(""),
	},
	{
		name: "F24: a provider's error, though pi exits with 0",
		events: [assistant("", { stopReason: "error", errorMessage: "401: no" }), settled],
		outcome: failed({ kind: "model", message: "401: no" }),
	},
	{
		name: "an error without words",
		events: [assistant("", { stopReason: "error" }), settled],
		outcome: failed({ kind: "model", message: 'The model\'s answer ended with "error"' }),
	},
	{
		name: "F29: an answer that pi itself aborted",
		events: [assistant("so", { stopReason: "aborted", errorMessage: "aborted" }), settled],
		outcome: failed({ kind: "model", message: "aborted" }),
	},
	{
		name: "F25: an error that was tried again",
		events: [assistant("", { stopReason: "error", errorMessage: "503" }), assistant("hi"), settled],
		outcome: completed("hi"),
	},
	{ name: "F28: no answer at all", events: [settled], outcome: failed({ kind: "silent", stderr: "words" }) },
	{
		name: "an exit before the end",
		events: [assistant("hi")],
		outcome: failed({ kind: "exit", exit: ZERO, stderr: "words" }),
	},
	{
		name: "W34: a signal before the end",
		events: [assistant("hi")],
		exit: KILLED,
		outcome: failed({ kind: "exit", exit: KILLED, stderr: "words" }),
	},
	{
		name: "F26: a signal after the end changes nothing",
		events: [assistant("hi"), settled],
		exit: KILLED,
		outcome: completed("hi"),
	},
	{
		name: "A82: a process that never was",
		events: [],
		exit: { kind: "spawn-failed", message: "ENOENT" },
		outcome: failed({ kind: "spawn", message: "ENOENT" }),
	},
	{
		name: "F20: stopped before there was a process",
		events: [stopping(aborted)],
		exit: { kind: "spawn-failed", message: "never started" },
		outcome: failed({ kind: "stopped", cause: aborted }),
	},
	{
		name: "A69: what we did explains the exit",
		events: [assistant("hi"), stopping(aborted)],
		exit: { kind: "code", code: 143 },
		outcome: failed({ kind: "stopped", cause: aborted }),
	},
	{
		name: "A69: the first cause wins",
		events: [stopping(timedOut), stopping(aborted)],
		outcome: failed({ kind: "stopped", cause: timedOut }),
	},
	{
		name: "X13, A95: an answer that is followed by a message without words is the answer",
		events: [assistant("It is 42.", { stopReason: "toolUse" }), assistant(""), settled],
		outcome: completed("It is 42."),
	},
	{
		name: "X13, B44: one that goes on after it had settled, and is ended in the middle, has not completed",
		events: [assistant("first"), settled, { type: "working" }, { type: "delta", text: "sec" }],
		exit: { kind: "signal", signal: "SIGTERM" },
		outcome: failed({ kind: "exit", exit: { kind: "signal", signal: "SIGTERM" }, stderr: "words" }),
	},
	{
		name: "X13, B44: one that goes on after it had settled, and settles again, has said its last words then",
		events: [assistant("first"), settled, { type: "working" }, assistant("second"), settled],
		outcome: completed("second"),
	},
	{
		name: "F19: a run that is being stopped does not settle any more",
		events: [assistant("hi"), stopping(aborted), settled],
		outcome: failed({ kind: "stopped", cause: aborted }),
	},
	{
		name: "F19: a run that has settled is not stopped any more",
		events: [assistant("hi"), settled, stopping(aborted)],
		outcome: completed("hi"),
	},
	{
		name: "C9: a finalized success",
		events: [assistant("free text"), finalize({ status: "SUCCESS", result: "R" }), settled],
		contract: FINALIZE,
		outcome: completed("R"),
	},
	{
		name: "C12: a finalized error is an answer",
		events: [assistant("x"), finalize({ status: "ERROR", error: "E", result: "part" }), settled],
		contract: FINALIZE,
		outcome: completed("E\n\npart"),
	},
	{
		name: "C23: no finalization",
		events: [assistant("free text"), settled],
		contract: FINALIZE,
		outcome: failed({ kind: "unfinalized", attempts: 3 }),
	},
	{
		name: "C23: one that has settled without its answer, and is stopped before it is corrected, was stopped",
		events: [assistant("free text"), settled, stopping(aborted)],
		contract: FINALIZE,
		outcome: failed({ kind: "stopped", cause: aborted }),
	},
	{
		name: "C20: a refused finalization is none",
		events: [
			assistant("x"),
			finalize({ status: "SUCCESS", result: "R" }, true),
			finalize({ status: "ERROR" }),
			settled,
		],
		contract: FINALIZE,
		outcome: failed({ kind: "unfinalized", attempts: 3 }),
	},
];

describe("conclude", () => {
	for (const { name, events, exit = ZERO, contract = LAST_TEXT, outcome } of CASES) {
		test(name, () => assert.deepEqual(conclude(fold(started, ...events), exit, contract, "words"), outcome));
	}
});

describe("reduce", () => {
	test("A run is queued, then running since its start, then done, and stays so", () => {
		assert.deepEqual(initialState.phase, { kind: "queued" });
		const running = fold(started);
		assert.deepEqual(running.phase, { kind: "running", since: 1_000 });
		const result = resultWithout("r", running, { kind: "lost" }, 9_000);
		const done = reduce(running, { type: "ended", result });
		assert.deepEqual(done.phase, { kind: "done", result });
		assert.equal(reduce(done, assistant("too late")), done);
	});

	test("A run that is being stopped is not settled, whatever it still says (F19)", () => {
		assert.equal(fold(started, settled).settled, true);
		assert.equal(fold(started, stopping(aborted), settled).settled, false);
		assert.equal(fold(started, settled, stopping(aborted)).settled, true);
	});

	test("The text being written is what counts until its message is whole", () => {
		const writing = fold(started, assistant("first"), { type: "delta", text: "sec" }, { type: "delta", text: "ond" });
		assert.equal(lastTextOf(writing), "second");
		assert.equal(lastTextOf(reduce(writing, assistant("second!"))), "second!");
		assert.equal(lastTextOf(fold(assistant("first"), assistant("", { stopReason: "toolUse" }))), "first");
		assert.equal(lastTextOf(initialState), "");
	});

	test("500 messages and 200 stray lines are kept, the newest; the counts go on (A77)", () => {
		let state = fold(started);
		for (let n = 0; n < 600; n++) {
			state = reduce(state, assistant(`m${n}`));
			state = reduce(state, { type: "stray", stream: "stdout", text: `s${n}` });
		}
		const messages = messagesOf(state);
		assert.equal(messages.length, 500);
		assert.ok(messages[0]);
		assert.equal(textOf(messages[0]), "m100");
		assert.equal(state.entries.length, 700);
		assert.equal(state.messageCount, 600);
		assert.equal(state.usage.input, 6_000);
		assert.equal(lastTextOf(state), "m599");
	});

	test("What one run can keep in memory is bounded, and no character is cut in two", () => {
		const long = fold({ type: "delta", text: `a${"🎉".repeat(600_000)}` });
		assert.ok(long.partial.length <= 1_000_000 && long.partial.isWellFormed());
		const stray = fold({ type: "stray", stream: "stderr", text: `a${"🎉".repeat(2_000)}` });
		const [entry] = stray.entries;
		assert.ok(entry?.kind === "stray" && entry.text.length <= 2_000 && entry.text.isWellFormed());
	});

	test("Tokens of messages, of tool results and of compactions add up (X14)", () => {
		const toolResult = {
			role: "toolResult",
			toolCallId: "1",
			toolName: "x",
			content: [],
			isError: false,
			timestamp: 1,
		};
		const spending = { ...toolResult, usage: { ...noUsage, input: 5 } } as unknown as ChatMessage;
		const state = fold(
			assistant("a"),
			{ type: "message", message: spending },
			{ type: "message", message: { role: "user", content: "more", timestamp: 1 } },
			{ type: "spent", usage: { ...noUsage, input: 100 } },
		);
		assert.equal(state.usage.input, 115);
		assert.equal(state.messageCount, 3);
	});

	test("A result knows what the events that could not be read would have said (F41)", () => {
		const told = fold(started, assistant("a"), {
			type: "tool-started",
			callId: "1",
			name: "ls",
			args: {},
			nested: false,
		});
		const end = { outcome: conclude(told, ZERO, LAST_TEXT, ""), exit: ZERO, endedAt: 5_000 };
		const result = resultOf("r", told, { ...end, leftovers: [], artifactErrors: ["disk full"] });
		const state = reduce(initialState, { type: "ended", result });
		assert.deepEqual([state.usage.input, state.toolCalls, state.messageCount], [10, 1, 1]);
	});

	test("A result carries the last model, stop reason and text, also of a failed run", () => {
		const state = fold(started, assistant("a", { model: "mock-2", stopReason: "toolUse" }), {
			type: "delta",
			text: "b",
		});
		const result = resultWithout("r", state, { kind: "lost" }, 5_000);
		assert.deepEqual(result.model, { provider: "mock", id: "mock-2" });
		assert.equal(result.stopReason, "toolUse");
		assert.equal(result.text, "b");
		assert.deepEqual([result.startedAt, result.endedAt], [1_000, 5_000]);
		assert.deepEqual(result.exit, { kind: "unknown" });
	});
});
