import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ChatMessage } from "../../src/domain/event.ts";
import { cut, cutFront, describeMessage, lastAssistant, newestWithin, textOf } from "../../src/domain/messages.ts";

const assistant = (content: unknown[], more: object = {}) =>
	({ role: "assistant", content, stopReason: "stop", ...more }) as unknown as ChatMessage;
const toolResult = (text: string) =>
	({ role: "toolResult", toolName: "ls", content: [{ type: "text", text }] }) as unknown as ChatMessage;
const user = (content: unknown) => ({ role: "user", content }) as ChatMessage;

test("A cut never leaves half of a character, and never takes more than one unit off (W37)", () => {
	const property = fc.property(fc.string({ unit: "grapheme" }), fc.nat(20), (text, max) => {
		for (const part of [cut(text, max), cutFront(text, max)]) {
			assert.ok(part.isWellFormed());
			assert.ok(part.length <= max && part.length >= Math.min(text.length, max) - 1);
		}
		assert.ok(text.startsWith(cut(text, max)) && text.endsWith(cutFront(text, max)));
	});
	fc.assert(property);
	assert.equal(cut("a🎉b", 2), "a");
	assert.equal(cutFront("a🎉b", 2), "b");
});

test("The text of a message is all of its text, without thinking and images (W20)", () => {
	assert.equal(textOf(user("plain")), "plain");
	const parts = [
		{ type: "text", text: "a" },
		{ type: "thinking", thinking: "hm" },
		{ type: "text", text: "b" },
	];
	assert.equal(textOf(assistant(parts)), "a\nb");
	assert.equal(textOf(user([{ type: "image", data: "", mimeType: "image/png" }])), "");
});

test("A message in a transcript: text as it is, calls cut to 120 characters, results to 500 (A101)", () => {
	assert.deepEqual(describeMessage(user("hello")), ["hello"]);
	const long = "x".repeat(200);
	const call = { type: "toolCall", id: "1", name: "bash", arguments: { command: long } };
	const message = assistant([{ type: "text", text: "look" }, call, { type: "text", text: "" }], {
		errorMessage: "503",
	});
	const [text, arrow, error, ...rest] = describeMessage(message);
	assert.deepEqual([text, error, rest], ["look", "[Error: 503]", []]);
	assert.equal(arrow, `→ bash: ${JSON.stringify({ command: long }).slice(0, 120)}`);
	assert.deepEqual(describeMessage(toolResult("y".repeat(500))), [`[tool result]: ${"y".repeat(500)}`]);
	assert.deepEqual(describeMessage(toolResult("y".repeat(501))), [`[tool result]: ${"y".repeat(500)}...`]);
	assert.deepEqual(describeMessage(assistant([{ type: "toolCall", id: "1", name: "ls" }])), ["→ ls: "]);
});

test("The last assistant message, and the newest messages that fit", () => {
	const messages = [user("a"), assistant([]), toolResult("r"), user("b")];
	assert.equal(lastAssistant(messages), messages[1]);
	assert.equal(lastAssistant([user("a")]), undefined);
	const bytes = Buffer.byteLength(JSON.stringify(messages[3]));
	assert.deepEqual(newestWithin(messages, bytes + 1), [messages[3]]);
	assert.deepEqual(newestWithin(messages, bytes - 1), []);
	assert.deepEqual(newestWithin(messages, 1_000_000), messages);
});
