import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createUpdateBudget } from "../../src/call/update-budget.ts";

/** What a client gets that is offered an update of this size ten times a second. */
function traffic(sizes: readonly number[], seconds: number): { readonly at: number; readonly bytes: number }[] {
	let now = 0;
	const budget = createUpdateBudget(() => now);
	const sent: { at: number; bytes: number }[] = [];
	for (let step = 0; now < seconds * 1_000; step++) {
		const bytes = sizes[step % sizes.length] ?? 0;
		if (budget.ask(bytes) === 0) sent.push({ at: now, bytes });
		now += 100;
	}
	return sent;
}

test("After the first one, updates take at most 200 kB/s on average and 5 MB in all, whatever their sizes", () => {
	fc.assert(
		fc.property(fc.array(fc.integer({ min: 1, max: 6_000_000 }), { minLength: 1, maxLength: 20 }), (sizes) => {
			let total = 0;
			for (const { at, bytes } of traffic(sizes, 120).slice(1)) {
				total += bytes;
				assert.ok(total <= 5_000_000 && total <= 200 * at, `${total} bytes after ${at} ms`);
			}
		}),
	);
});

test("Small updates come often at first, and still come after ten minutes", () => {
	const at = traffic([2_000], 700).map((update) => update.at);
	assert.ok(at.filter((time) => time < 10_000).length > 60, "in the first ten seconds");
	assert.ok(at.some((time) => time > 600_000));
});

test("The first update is sent at once, and one that is too large for the rest is never sent", () => {
	let now = 0;
	const budget = createUpdateBudget(() => now);
	assert.equal(budget.ask(50_000_000), 0);
	assert.equal(budget.ask(5_000_001), Number.POSITIVE_INFINITY);
	const wait = budget.ask(1_000_000);
	assert.ok(wait > 5_000 && wait < 7_000, String(wait));
	now += wait;
	assert.equal(budget.ask(1_000_000), 0);
});
