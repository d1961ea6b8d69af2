import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createRedactor } from "../../src/domain/redact.ts";

test("The exact key is replaced wherever it stands (X28)", () => {
	const redact = createRedactor(["sk-0123456789"]);
	assert.equal(redact("a sk-0123456789 b sk-0123456789"), "a [redacted] b [redacted]");
	assert.equal(redact("sk-012345678"), "sk-012345678");
});

test("So are the forms in which JSON, URLs and base64 write it (X28)", () => {
	const key = 'k"e\\y/+ü=12';
	const redact = createRedactor([key]);
	const nested = JSON.stringify({ output: JSON.stringify({ key }) });
	for (const text of [JSON.stringify({ key }), nested, JSON.stringify([nested]), `?key=${encodeURIComponent(key)}`]) {
		assert.match(redact(text), /\[redacted\]/);
		assert.doesNotMatch(redact(text), /12/);
	}
	for (const after of ["", "\n", "xy"]) {
		const encoded = Buffer.from(`${key}${after}`).toString("base64");
		assert.match(redact(encoded), /^\[redacted\]/);
	}
});

test("Keys hold no patterns, and of two keys the longer goes first", () => {
	const redact = createRedactor(["$&.*+?^1", "abcdef", "abcdefghi"]);
	assert.equal(redact("x $&.*+?^1 abcdefghi abcdef"), "x [redacted] [redacted] [redacted]");
});

test("What is too short to be a key is left alone, and without a key nothing changes", () => {
	assert.equal(createRedactor(["", "abc"])("abc"), "abc");
	fc.assert(fc.property(fc.string(), (text) => createRedactor([])(text) === text));
});

test("A line of JSON stays one, whatever the key is", () => {
	for (const key of ["sk-proj_0123456789", 'with "quotes"', "back\\slash", "ünïcödé"]) {
		const line = JSON.stringify({ text: `before ${key} after` });
		assert.deepEqual(JSON.parse(createRedactor([key])(line)), { text: "before [redacted] after" });
	}
});
