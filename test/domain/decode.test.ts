import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { decode, decodeTrail, encodeOwn, isDelta } from "../../src/domain/decode.ts";
import type { RunEvent } from "../../src/domain/event.ts";
import { describeMessage, textOf } from "../../src/domain/messages.ts";
import { initialState, reduce } from "../../src/domain/state.ts";
import { noUsage } from "../../src/domain/usage.ts";

const bytes = (value: unknown) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value));
const usage = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3, cost: { total: 0 } };

describe("decode", () => {
	test("Pi's records become events, or records that change nothing (A76)", () => {
		const user = { role: "user", content: "hello", timestamp: 1 };
		const answer = { role: "assistant", content: [{ type: "text", text: "hi" }], stopReason: "stop" };
		const result = { role: "toolResult", toolCallId: "1", toolName: "ls", content: [], isError: false };
		const cases: [unknown, unknown][] = [
			[
				{ type: "message_end", message: user },
				{ type: "message", message: user },
			],
			[
				{ type: "message_end", message: answer },
				{ type: "message", message: answer },
			],
			[
				{ type: "message_end", message: result },
				{ type: "message", message: result },
			],
			[
				{ type: "tool_execution_start", toolCallId: "1", toolName: "ls", args: { path: "." } },
				{ type: "tool-started", callId: "1", name: "ls", args: { path: "." }, nested: false },
			],
			[
				{ type: "tool_execution_start", toolCallId: "1/1", parentToolCallId: "1", toolName: "ls", args: {} },
				{ type: "tool-started", callId: "1/1", name: "ls", args: {}, nested: true },
			],
			[
				{ type: "compaction_end", result: { summary: "s", usage } },
				{ type: "spent", usage },
			],
			[
				{ type: "compaction_end", aborted: true },
				{ type: "spent", usage: noUsage },
			],
			[
				{ type: "compaction_end", result: null },
				{ type: "spent", usage: noUsage },
			],
			[{ type: "compaction_start", reason: "threshold" }, { type: "compacting" }],
			[
				{ type: "tool_execution_end", toolCallId: 'a"/1', toolName: "ls", result: { content: [] }, isError: true },
				{ type: "tool-ended", callId: 'a"/1' },
			],
			[
				{ type: "auto_retry_start", attempt: 2, maxAttempts: 3, delayMs: 4_000, errorMessage: "529 Overloaded" },
				{ type: "retrying", reason: "529 Overloaded", counted: { attempt: 2, of: 3 }, delayMs: 4_000 },
			],
			[{ type: "auto_retry_start" }, { type: "retrying", reason: "", counted: { attempt: 0, of: 0 }, delayMs: 0 }],
			[{ type: "agent_start" }, { type: "working" }],
			[{ type: "agent_settled" }, { type: "settled" }],
			[{ type: "agent_end", messages: [answer], willRetry: false }, undefined],
			[{ type: "turn_end", message: answer, toolResults: [result] }, undefined],
			[{ type: "message_start", message: answer }, undefined],
			[{ type: "session", version: 3 }, undefined],
			[{ type: "a_record_of_a_later_pi" }, undefined],
		];
		for (const [record, event] of cases) {
			const line = decode(bytes(record));
			assert.deepEqual(line, event ? { kind: "event", event } : { kind: "record", delta: false });
			assert.deepEqual(decodeTrail(bytes(record)), event);
		}
	});

	test("Pi's system message is not part of the conversation (A79, W7)", () => {
		for (const role of ["system", "custom", "bashExecution", undefined]) {
			assert.equal(decode(bytes({ type: "message_end", message: { role, content: [] } })).kind, "record");
		}
	});

	test("Pieces of text, of thoughts and of tool calls are events; all other pieces are records that may be left out", () => {
		const update = (event: unknown) => decode(bytes({ type: "message_update", assistantMessageEvent: event }));
		assert.deepEqual(update({ type: "text_delta", delta: "hal" }), {
			kind: "event",
			event: { type: "delta", text: "hal" },
		});
		const event = (told: RunEvent) => ({ kind: "event", event: told });
		assert.deepEqual(update({ type: "thinking_delta", delta: "hm" }), event({ type: "thinking", text: "hm" }));
		assert.deepEqual(update({ type: "thinking_start" }), event({ type: "thinking", text: "" }));
		const named = update({ type: "toolcall_start", id: "1", toolName: "write" });
		assert.deepEqual(named, event({ type: "calling", tool: "write", chars: 0 }));
		const calling = update({ type: "toolcall_delta", delta: '"text_delta"' });
		assert.deepEqual(calling, event({ type: "calling", tool: undefined, chars: 12 }));
		assert.deepEqual(update({ type: "text_end", content: "hal" }), { kind: "record", delta: true });
		for (const piece of [named, calling, update({ type: "thinking_start" })]) assert.ok(isDelta(piece));
		assert.ok(isDelta(update({ type: "text_delta", delta: "hal" })));
		assert.ok(isDelta(decode(bytes({ type: "tool_execution_update", partialResult: {} }))));
		assert.ok(!isDelta(decode(bytes({ type: "message_end", message: { role: "user", content: "x" } }))));
	});

	test("What is not a record is stray, with its line end taken off (F32)", () => {
		for (const text of ["Welcome!", "{", "[]", "null", "42", '"text"', "{}", '{"type":7}', '{"kind":"x"}', " "]) {
			assert.deepEqual(decode(bytes(`${text}\r`)), { kind: "stray", text: text.trimEnd() });
		}
	});

	test("CRLF does not hide a record (F39)", () => {
		assert.deepEqual(decode(bytes('{"type":"agent_settled"}\r')), { kind: "event", event: { type: "settled" } });
	});

	test("A child cannot forge an event of ours", () => {
		const event: RunEvent = { type: "stopping", at: 1, cause: { kind: "loop", tool: "x" } };
		const own = encodeOwn(event).trimEnd();
		assert.deepEqual(decodeTrail(bytes(own)), event);
		for (const text of [own, ` ${own}`, own.replace("{", "{ "), own.replace('"type"', '"\\u0074ype"')]) {
			assert.equal(decode(bytes(text)).kind, "stray", text);
		}
		for (const text of [`{"type":"session",${own.slice(1)}`, own.replace("subagents", "subagentsx")]) {
			assert.equal(decodeTrail(bytes(text)), undefined, text);
		}
	});

	test("A torn line of our own is no event, nor is one of a later version (F44)", () => {
		for (const event of [null, {}, "settled", { type: "rewound" }]) {
			assert.equal(decodeTrail(bytes({ type: "subagents", event })), undefined);
		}
		assert.equal(decodeTrail(bytes('{"type":"subagents","event":{"type":"sett')), undefined);
		assert.equal(decodeTrail(bytes("")), undefined);
	});

	test("Whatever a line holds, nothing throws, neither here nor in what is made of it (F39)", () => {
		const any = fc.anything({ withNullPrototype: false, maxDepth: 4 });
		const part = fc.oneof(any, fc.record({ type: fc.constantFrom("text", "toolCall", "image"), text: any, name: any }));
		const message = fc.record(
			{
				role: fc.constantFrom("user", "assistant", "toolResult", "system"),
				content: fc.oneof(any, fc.array(part)),
				usage: any,
				errorMessage: any,
				details: any,
				toolName: fc.constantFrom("subagent_finalize", "ls"),
			},
			{ requiredKeys: [] },
		);
		const record = fc.record({
			type: fc.constantFrom("message_end", "message_update", "tool_execution_start", "compaction_end", "agent_settled"),
			message: fc.oneof(message, any),
			assistantMessageEvent: fc.oneof(any, fc.record({ type: fc.constant("text_delta"), delta: any })),
			result: fc.oneof(any, fc.record({ usage: any })),
		});
		const property = fc.property(record, (value) => {
			const line = decode(bytes(JSON.stringify(value, (_key, inner) => (typeof inner === "bigint" ? 0 : inner))));
			if (line.kind !== "event") return;
			const state = reduce(initialState, line.event);
			assert.equal(typeof state.usage.input, "number");
			assert.ok(Number.isFinite(state.usage.cost.total));
			if (line.event.type !== "message") return;
			assert.equal(typeof textOf(line.event.message), "string");
			for (const words of describeMessage(line.event.message)) assert.equal(typeof words, "string");
		});
		fc.assert(property, { numRuns: 2_000 });
		const noise = fc.property(fc.uint8Array(), (value) => void decode(Buffer.from(value)));
		fc.assert(noise);
	});
});
