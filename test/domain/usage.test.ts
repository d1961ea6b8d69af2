import assert from "node:assert/strict";
import { test } from "node:test";
import type { Usage } from "@earendil-works/pi-ai";
import { addUsage, noUsage } from "../../src/domain/usage.ts";

const some: Usage = {
	input: 1,
	output: 2,
	cacheRead: 3,
	cacheWrite: 4,
	totalTokens: 10,
	cost: { input: 0.1, output: 0.2, cacheRead: 0.3, cacheWrite: 0.4, total: 1 },
};

test("Every figure is added; what only one side has is kept (X14)", () => {
	const sum = addUsage({ ...some, reasoning: 5 }, { ...some, cacheWrite1h: 7 });
	assert.deepEqual(sum, {
		input: 2,
		output: 4,
		cacheRead: 6,
		cacheWrite: 8,
		cacheWrite1h: 7,
		reasoning: 5,
		totalTokens: 20,
		cost: { input: 0.2, output: 0.4, cacheRead: 0.6, cacheWrite: 0.8, total: 2 },
	});
	assert.deepEqual(addUsage(noUsage, some), some);
});

test("What is missing, or no number, counts as zero", () => {
	assert.equal(addUsage(some, undefined), some);
	assert.deepEqual(addUsage(some, {}), some);
	const nonsense = { input: "7", output: null, totalTokens: Number.NaN, cost: { total: "free" } } as unknown as Usage;
	assert.deepEqual(addUsage(some, nonsense), some);
	assert.deepEqual(addUsage(some, { cost: null } as unknown as Usage), some);
});
