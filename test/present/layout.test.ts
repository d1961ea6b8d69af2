import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { type Item, itemsWithin, type Sorted, shareRows } from "../../src/present/layout.ts";

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

describe("rows below running tasks", () => {
	test("They take turns, and what one does not need others get", () => {
		assert.deepEqual(shareRows([9, 9, 9], 6), [2, 2, 2]);
		assert.deepEqual(shareRows([1, 9, 9], 6), [1, 3, 2]);
		assert.deepEqual(shareRows([1, 0, 2], 99), [1, 0, 2]);
		assert.deepEqual(shareRows([], 5), []);
	});

	test("Never more than there are, never more than asked for, and nothing that is asked for is left over", () => {
		fc.assert(
			fc.property(fc.array(fc.nat(20), { maxLength: 16 }), fc.nat(60), (wishes, room) => {
				const granted = shareRows(wishes, room);
				assert.ok(granted.every((rows, index) => rows <= (wishes[index] ?? 0)));
				assert.equal(sum(granted), Math.min(room, sum(wishes)));
			}),
		);
	});
});

describe("the rows of a block", () => {
	const tasks = (word: string, count: number) => Array.from({ length: count }, (_, index) => `${word}${index}`);
	const crowd: Sorted<string> = {
		running: tasks("r", 4),
		failed: tasks("f", 2),
		done: tasks("d", 3),
		stopped: tasks("s", 2),
		queued: tasks("q", 5),
	};
	const words = (items: readonly Item<string>[]) =>
		items.map((item) => (item.kind === "task" ? item.task : `${item.tasks.length} ${item.state}`)).join(" ");

	test("Each task has one, but for what never had its turn", () => {
		assert.equal(words(itemsWithin(crowd, 20)), "r0 r1 r2 r3 f0 f1 d0 d1 d2 2 stopped 5 queued");
	});

	test("Where there is no room what is done is put together first, and what runs last", () => {
		assert.equal(words(itemsWithin(crowd, 9)), "r0 r1 r2 r3 f0 f1 3 done 2 stopped 5 queued");
		assert.equal(words(itemsWithin(crowd, 7)), "r0 r1 r2 r3 2 failed 3 done 5 queued");
		assert.equal(words(itemsWithin(crowd, 6)), "r0 r1 r2 r3 2 failed 5 queued");
		assert.equal(words(itemsWithin(crowd, 5)), "r0 r1 r2 r3 2 failed");
		assert.equal(words(itemsWithin(crowd, 4)), "r0 r1 r2 r3");
		assert.equal(words(itemsWithin(crowd, 3)), "r0 r1 2 running");
		assert.deepEqual(itemsWithin(crowd, 0), []);
		assert.deepEqual(itemsWithin(crowd, -3), []);
	});
});
