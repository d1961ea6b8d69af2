import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BEGINNING, type Blocks, type Position, rowsFrom, scrolled } from "../../src/present/scroll.ts";

/** Blocks of these heights, whose rows are `<block>.<row>`; `made` says which were laid out. */
function blocksOf(...heights: number[]): Blocks & { readonly made: Set<number> } {
	const made = new Set<number>();
	return {
		made,
		count: heights.length,
		rows(block) {
			made.add(block);
			return Array.from({ length: heights[block] ?? 0 }, (_, row) => `${block}.${row}`);
		},
	};
}

describe("scrolling", () => {
	test("The end is followed, and what is read stays where it is while more comes", () => {
		const before = blocksOf(2, 3, 1);
		assert.deepEqual(rowsFrom(before, "end", 2), ["1.2", "2.0"]);
		const up = scrolled(before, "end", -2, 2);
		assert.deepEqual(rowsFrom(before, up, 2), ["1.0", "1.1"]);
		assert.deepEqual(rowsFrom(blocksOf(2, 3, 1, 5, 5), up, 2), ["1.0", "1.1"]);
		assert.deepEqual(rowsFrom(blocksOf(2, 3, 1, 5, 5), "end", 2), ["4.3", "4.4"]);
	});

	test("It stops at the beginning, and whoever comes down to the end follows it again", () => {
		const blocks = blocksOf(2, 0, 3, 1);
		assert.deepEqual(rowsFrom(blocks, scrolled(blocks, "end", -100, 3), 3), ["0.0", "0.1", "2.0"]);
		let position: Position = BEGINNING;
		const seen: string[] = [];
		for (let step = 0; step < 3; step++) {
			seen.push(rowsFrom(blocks, position, 3)[0] ?? "");
			position = scrolled(blocks, position, 1, 3);
		}
		assert.deepEqual(seen, ["0.0", "0.1", "2.0"]);
		assert.equal(position, "end");
		assert.deepEqual(rowsFrom(blocks, scrolled(blocks, "end", 5, 3), 3), ["2.1", "2.2", "3.0"]);
	});

	test("What fits as a whole begins at the beginning", () => {
		const blocks = blocksOf(1, 1);
		assert.deepEqual(rowsFrom(blocks, "end", 5), ["0.0", "1.0"]);
		assert.equal(scrolled(blocks, "end", -3, 5), "end");
		assert.deepEqual(rowsFrom(blocksOf(), "end", 5), []);
	});

	test("Of thousands of blocks only those are laid out that are seen", () => {
		const blocks = blocksOf(...Array.from({ length: 10_000 }, () => 4));
		rowsFrom(blocks, "end", 20);
		scrolled(blocks, "end", -20, 20);
		rowsFrom(blocks, BEGINNING, 20);
		assert.ok(blocks.made.size < 30, String(blocks.made.size));
	});
});
