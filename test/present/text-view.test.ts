import assert from "node:assert/strict";
import { test } from "node:test";
import { visibleWidth } from "@earendil-works/pi-tui";
import { renderTruncatedText } from "../../src/present/text-view.ts";
import { plain, theme } from "./windows.ts";

const rows = (text: string, max: number, width = 40, expanded = false) =>
	plain(renderTruncatedText(text, max, expanded, theme).render(width));

test("At most so many lines, then how many more there are (A99)", () => {
	assert.deepEqual(rows("a\nb\nc\nd\ne", 3), ["a", "b", "c", "... (2 more lines)"]);
	assert.deepEqual(rows("a\nb\nc\n", 3), ["a", "b", "c"]);
	assert.deepEqual(rows("a\nb\nc\nd", 3, 40, true), ["a", "b", "c", "d"]);
});

test("A long line takes as many rows as it needs, and no more than there are (A99)", () => {
	assert.deepEqual(rows("one two three four five six", 2, 9), ["one two", "three", "... (2 m…"]);
	const [first, , last] = rows("x".repeat(1_000_000), 2, 25);
	assert.deepEqual([first, last], ["x".repeat(25), "... (39998 more lines)"]);
});

test("A text is shown as printable rows that fit, at any width (S22)", () => {
	const text = "\u001b]52;c;eA==\u0007日本語テキスト\t👩‍👩‍👧 e\u0301\r\n\u001b[2Jplain";
	for (const width of [1, 2, 3, 5, 40, 80, 200]) {
		for (const row of renderTruncatedText(text, 5, width % 2 === 0, theme).render(width)) {
			assert.ok(visibleWidth(row) <= width);
			assert.doesNotMatch(plain([row]).join(), /\p{Cc}/u);
		}
	}
	assert.deepEqual(rows(text, 5), ["日本語テキスト   👩‍👩‍👧 e\u0301", "plain"]);
});
