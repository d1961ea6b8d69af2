import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ChatMessage, RunEvent } from "../../src/domain/event.ts";
import { initialState, reduce } from "../../src/domain/state.ts";
import { noUsage } from "../../src/domain/usage.ts";

const started: RunEvent = { type: "started", at: 1_000, supervisorPid: 1, pid: 2 };
const working: RunEvent = { type: "working" };
const at = (at: number): RunEvent => ({ type: "clock", at });
const call = (callId: string, name = "bash"): RunEvent => ({
	type: "tool-started",
	callId,
	nested: false,
	name,
	args: { command: callId },
});
const message = (fields: object): RunEvent => ({ type: "message", message: fields as ChatMessage });
const asked = message({ role: "user", content: "go", timestamp: 0 });
const said = message({ role: "assistant", content: [{ type: "text", text: "x" }], stopReason: "stop", usage: noUsage });
const returned = (toolCallId: string) => message({ role: "toolResult", toolCallId, toolName: "bash", content: [] });
const fold = (...events: RunEvent[]) => events.reduce(reduce, initialState);
const doing = (...events: RunEvent[]) => fold(...events).activity;

describe("what a run does now", () => {
	test("It is starting until pi begins to work, then thinking, also before the first token", () => {
		assert.deepEqual(doing(started), { kind: "starting" });
		assert.deepEqual(doing(started, at(1_500), working), { kind: "thinking", since: 1_500, thought: "" });
		assert.deepEqual(doing(started, working, at(1_700), asked), { kind: "thinking", since: 1_700, thought: "" });
		assert.deepEqual(doing(started, working, asked, started), { kind: "starting" }, "a process that goes on with it");
	});

	test("Thoughts are kept from their end, writing since its first piece, and both are counted", () => {
		const long = Array.from(
			{ length: 100 },
			(_, index): RunEvent => ({ type: "thinking", text: `${index} `.repeat(50) }),
		);
		const thinking = fold(started, working, at(2_000), ...long);
		assert.equal(thinking.activity.kind, "thinking");
		const { thought } = thinking.activity as { thought: string };
		assert.ok(thought.endsWith("99 99 ") && thought.length <= 4_000 && thought.length >= 2_000);
		assert.equal(
			thinking.written,
			long.reduce((sum, each) => sum + ("text" in each ? each.text.length : 0), 0),
		);

		const piece = (text: string): RunEvent => ({ type: "delta", text });
		const writing = fold(started, working, at(3_000), piece("ab"), at(4_000), piece("c"));
		assert.deepEqual(writing.activity, { kind: "writing", since: 3_000, call: undefined });
		assert.equal(writing.written, 3);
		const arguing = reduce(reduce(writing, { type: "calling", tool: "write", chars: 0 }), {
			...{ type: "calling", tool: undefined, chars: 40 },
		});
		assert.deepEqual(arguing.activity, { kind: "writing", since: 3_000, call: "write" });
		assert.equal(arguing.written, 43);
		assert.equal(reduce(arguing, said).written, 0);
	});

	test("Tools that run side by side are each there until they have ended, by their event or their result", () => {
		const both = [started, working, at(5_000), call("a"), at(6_000), call("b", "read")];
		const tools = doing(...both);
		assert.deepEqual(tools.kind === "tools" && tools.calls.map(({ name, since }) => [name, since]), [
			["bash", 5_000],
			["read", 6_000],
		]);
		const one = doing(...both, { type: "tool-ended", callId: "b" });
		assert.deepEqual(one.kind === "tools" && one.calls.map(({ id }) => id), ["a"]);
		const none = doing(...both, { type: "tool-ended", callId: "b" }, at(9_000), returned("a"));
		assert.deepEqual(none, { kind: "thinking", since: 9_000, thought: "" });
	});

	test("A retry says why, which attempt it is and when the next request goes out", () => {
		const retrying: RunEvent = {
			...{ type: "retrying", reason: "529" },
			counted: { attempt: 2, of: 3 },
			delayMs: 4_000,
		};
		const expected = { ...{ kind: "retrying", reason: "529" }, ...{ attempt: 2, of: 3, nextAt: 14_000 } };
		assert.deepEqual(doing(started, working, at(10_000), retrying), expected);
		assert.equal(doing(started, working, retrying, working).kind, "thinking");
	});

	test("A child that waits for its slot waits until it is admitted or answered, whatever it prints of its request", () => {
		const waiting: RunEvent = { type: "waiting", for: "llama", before: 2 };
		assert.equal(doing(started, waiting, working, asked).kind, "waiting");
		assert.equal(doing(started, waiting, working, asked, { type: "admitted" }).kind, "thinking");
		assert.equal(doing(started, waiting, working, asked, said).kind, "thinking");
	});

	test("Compacting lasts until its end, whether it succeeded or not", () => {
		assert.deepEqual(doing(started, working, at(2_000), { type: "compacting" }), { kind: "compacting", since: 2_000 });
		assert.equal(doing(started, working, { type: "compacting" }, { type: "spent", usage: noUsage }).kind, "thinking");
	});

	test("It wraps up once it has settled, and from the moment it is being stopped, whatever it still says", () => {
		assert.equal(doing(started, working, said, { type: "settled" }).kind, "wrapping-up");
		assert.equal(doing(started, working, said, { type: "settled" }, working).kind, "thinking");
		const stopping: RunEvent = { type: "stopping", at: 7_000, cause: { kind: "loop", tool: "bash" } };
		assert.deepEqual(doing(started, working, stopping, call("a")), { kind: "wrapping-up", since: 7_000 });
	});
});
