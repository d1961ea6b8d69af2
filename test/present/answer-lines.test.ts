import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { resultWithout } from "../../src/domain/conclude.ts";
import type { Failure, Outcome } from "../../src/domain/run-result.ts";
import { initialState } from "../../src/domain/state.ts";
import { agentAnswer } from "../../src/present/agent-text.ts";
import { linesOf, shorten } from "../../src/present/answer-lines.ts";
import { completionText, runRow } from "../../src/present/background-text.ts";
import { presetAnswer } from "../../src/present/preset-text.ts";
import { summaryLine } from "../../src/present/text.ts";
import { backgroundEnd, backgroundRun, failed as toldFailure } from "../rig/records.ts";

test("Issue 9.4: a text within the limit stays as it is, a longer one says where to read on", () => {
	assert.equal(shorten("a\nb", "s", 3), "a\nb");
	const note = (offset: number) =>
		`\n\n[cut after 6 characters; get_subagent_output with sessionId "s" and offset ${offset} reads on]`;
	assert.equal(shorten("one\ntwo\nthree", "s", 6), `one\ntw${note(2)}`);
	assert.equal(shorten("first\nsecond", "s", 6), `first\n${note(2)}`);
});

test("Issue 9.4: offset and limit count lines from 1, and what is left is named", () => {
	const text = "one\ntwo\nthree\nfour\n";
	assert.equal(linesOf(text, 1, undefined), "one\ntwo\nthree\nfour");
	assert.equal(linesOf(text, 3, undefined), "three\nfour");
	assert.equal(linesOf(text, 2, 2), "two\nthree\n\n[lines 2-3 of 4; offset 4 reads on]");
	assert.equal(linesOf(text, 4, 9), "four");
	assert.equal(linesOf(text, 5, 1), "[the answer has 4 lines]");
});

test("Issue 9.4: whoever reads on as the notes say has read every line", () => {
	const line = fc.string({ maxLength: 12 }).map((value) => `x${value.replaceAll("\n", "")}`);
	const property = fc.property(
		fc.array(line, { minLength: 1, maxLength: 30 }),
		fc.integer({ min: 1, max: 60 }),
		fc.integer({ min: 1, max: 5 }),
		(lines, limit, step) => {
			const whole = lines.join("\n");
			const note = / and offset (\d+) reads on\]$/.exec(shorten(`${whole}\n${"x".repeat(limit)}`, "s", limit));
			const from = Number(note?.[1]);
			const read = lines.slice(0, from - 1); // whole lines that the cut text had
			for (let offset = from; offset <= lines.length; offset += step) {
				read.push(
					...linesOf(whole, offset, step)
						.split("\n")
						.slice(0, Math.min(step, lines.length - offset + 1)),
				);
			}
			assert.deepEqual(read, lines.slice(0, read.length));
			assert.ok(read.length >= lines.length);
		},
	);
	fc.assert(property);
});

const noise = `first\nsecond\r\n\u2028third ${"long ".repeat(5_000)}`;
const failure: Failure = { kind: "model", message: noise };
const failed: Outcome = { kind: "failed", failure };

test("Issue 9.4: a summary line stays a line, and a short one, whatever the name and the error say", () => {
	const line = summaryLine(`name\n${"n".repeat(5_000)}`, "0011", failed, undefined);
	assert.match(line, /^✗ name n+: error — first second third long .*\(session: 0011\)$/);
	assert.ok(line.length < 1_300, String(line.length));
	assert.equal(line.split(/[\n\r\u2028]/).length, 1);
});

test("Issue 9.4: an error in an answer is bounded too", () => {
	const result = { ...resultWithout("run-1", initialState, failure, 1), text: "partial ".repeat(5_000) };
	for (const answer of [presetAnswer("run-1", result, 1_000), agentAnswer("id-1", undefined, result, 1_000)]) {
		assert.ok(answer.startsWith("Error: first\nsecond"));
		assert.ok(answer.length < 5_500, String(answer.length));
	}
});

test("Issue 9.4: a background run's row and its completion message are short lines", () => {
	const end = backgroundEnd({ outcome: toldFailure(noise), text: "said ".repeat(50_000) });
	const run = backgroundRun({ task: noise, progress: end });
	const { text, details } = completionText(run, end);
	for (const told of [text, runRow(run, 3_000)]) {
		assert.ok(told.length < 1_500, String(told.length));
		assert.equal(told.includes("\n"), false);
	}
	assert.ok(details.text.length <= 4_000);
});
