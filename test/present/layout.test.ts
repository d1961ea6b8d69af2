import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Layout, noLayout, shareRows, type Wish } from "../../src/present/layout.ts";

const wish = (phase: Wish["phase"], rows = 0): Wish => ({ phase, rows });
const rowsOf = ({ granted, shown, hidden }: Layout) =>
	shown.length + (hidden > 0 ? 1 : 0) + granted.reduce((sum, rows) => sum + rows, 0);

test("X26: the room is shared among the windows that run", () => {
	const layout = shareRows([wish("running", 50), wish("running", 50), wish("waiting")], 13, noLayout);
	assert.deepEqual(layout.granted, [5, 5, 0]);
});

test("X26: a finished window keeps its rows until a running one needs them", () => {
	const both = shareRows([wish("running", 5), wish("running", 5), wish("waiting")], 13, noLayout);
	const ended = shareRows([wish("completed", 5), wish("running", 5), wish("waiting")], 13, both);
	assert.deepEqual(ended.granted, [5, 5, 0]);
	const next = shareRows([wish("completed", 5), wish("running", 5), wish("running", 3)], 13, ended);
	assert.deepEqual(next.granted, [2, 5, 3]);
	assert.equal(rowsOf(next), rowsOf(both));
});

test("X26: a running window does not shrink when it has less to show", () => {
	const before = shareRows([wish("running", 6)], 10, noLayout);
	assert.deepEqual(shareRows([wish("running", 2)], 10, before).granted, [6]);
});

test("X26: where the headers do not fit, the most important are shown and the others counted", () => {
	const wishes = [
		...Array.from({ length: 6 }, () => wish("completed", 5)),
		wish("error", 5),
		wish("running", 5),
		wish("running", 5),
		...Array.from({ length: 7 }, () => wish("waiting")),
	];
	const layout = shareRows(wishes, 8, noLayout);
	assert.deepEqual(layout.shown, [0, 1, 2, 3, 6, 7, 8]);
	assert.equal(layout.hidden, 9);
	assert.deepEqual(shareRows(wishes, 0, noLayout).shown, []);
});

test("of the finished windows a failed one is the last to give up the row that says why", () => {
	const before = { ...noLayout, granted: [1, 3, 0], slots: 1 };
	const after = shareRows([wish("error", 1), wish("completed", 3), wish("running", 3)], 7, before);
	assert.deepEqual(after.granted, [1, 0, 3]);
});

test("X26: a run of any course stays within its room and never gets shorter", () => {
	const step = fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 1, maxLength: 16 });
	const history = fc.tuple(
		fc.integer({ min: 1, max: 16 }),
		fc.integer({ min: 0, max: 60 }),
		fc.array(step, { maxLength: 30 }),
	);
	fc.assert(
		fc.property(history, ([count, room, steps]) => {
			let layout = noLayout;
			let height = 0;
			// Four run at a time, in order; each step adds rows to the ones that run, and 20 rows are the end of one.
			const said = Array.from({ length: count }, () => 0);
			for (const amounts of steps) {
				const active = said.flatMap((rows, index) => (rows < 20 ? [index] : [])).slice(0, 4);
				for (const index of active) said[index] = (said[index] ?? 0) + (amounts[index % amounts.length] ?? 0);
				const wishes = said.map((rows, index) => {
					if (rows >= 20) return wish(index % 3 === 0 ? "error" : "completed", 15);
					return active.includes(index) ? wish("running", Math.max(1, rows)) : wish("waiting");
				});
				const before = layout;
				layout = shareRows(wishes, room, layout);
				const now = rowsOf(layout);
				assert.ok(now <= Math.max(room, 1), `${now} rows of ${room}`);
				if (before.slots === layout.slots) assert.ok(now >= height, `${height} → ${now}`);
				height = now;
			}
		}),
	);
});
