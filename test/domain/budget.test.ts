import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Amounts, createMeter, describeUse, limitIn, NO_AMOUNTS, smallest } from "../../src/domain/budget.ts";
import { noUsage } from "../../src/domain/usage.ts";

const usage = (totalTokens: number, cost = 0) => ({ ...noUsage, totalTokens, cost: { ...noUsage.cost, total: cost } });
const message = (tokens: number, cost = 0, stopReason = "toolUse") =>
	({ type: "message", message: { role: "assistant", stopReason, usage: usage(tokens, cost) } }) as const;
const meterFor = (limit: Partial<Amounts>, before = NO_AMOUNTS) =>
	createMeter({ limit: { ...NO_AMOUNTS, ...limit }, before });

describe("a run's budget", () => {
	test("Counts messages, tools that ask models, compactions and failed attempts; a failed attempt is no turn (R6, B6)", () => {
		const meter = meterFor({ tokens: 100, turns: 3 });
		meter.observe(message(10, 0, "error"));
		meter.observe({ type: "message", message: { role: "toolResult", usage: usage(20) } });
		meter.observe({ type: "spent", usage: usage(30) });
		meter.observe({ type: "message", message: { role: "user" } });
		meter.observe({ type: "settled" });
		meter.observe(message(39));
		assert.deepEqual(meter.allowance().before, { tokens: 99, cost: 0, turns: 1 });
		assert.equal(meter.usedUp(), undefined);
		meter.observe(message(1));
		assert.deepEqual(meter.usedUp(), { unit: "tokens", used: 100, limit: 100, of: "run" });
		meter.observe(message(500));
		assert.equal(meter.usedUp()?.used, 100, "what had been used when it was used up");
	});

	test("Goes on from what earlier processes of the run have used", () => {
		assert.equal(meterFor({ turns: 2 }, { tokens: 5, cost: 0, turns: 2 }).usedUp()?.unit, "turns");
		const meter = meterFor({ turns: 3 }, { tokens: 5, cost: 0, turns: 2 });
		assert.equal(meter.usedUp(), undefined);
		meter.observe(message(1));
		assert.equal(meter.usedUp()?.used, 3);
	});

	test("In dollars is not missed by rounding, and never reached by a model that costs nothing (B2)", () => {
		const meter = meterFor({ cost: 0.8 });
		for (let turn = 0; turn < 8; turn++) meter.observe(message(1_000, 0.1));
		assert.ok(0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 < 0.8);
		assert.equal(meter.usedUp()?.unit, "cost");
		const local = meterFor({ cost: 0.01 });
		for (let turn = 0; turn < 1_000; turn++) local.observe(message(10_000));
		assert.equal(local.usedUp(), undefined);
	});

	test("Is the smaller one of the definition's and the settings', unit by unit", () => {
		const one = { tokens: 100, cost: 0, turns: 7 };
		const other = { tokens: 200, cost: 0.5, turns: 0 };
		assert.deepEqual(smallest(one, other), { tokens: 100, cost: 0.5, turns: 7 });
		assert.deepEqual(smallest(other, one), { tokens: 100, cost: 0.5, turns: 7 });
		assert.deepEqual(smallest(NO_AMOUNTS, NO_AMOUNTS), NO_AMOUNTS);
	});

	test("Is told in numbers that people read", () => {
		assert.equal(describeUse({ unit: "tokens", used: 3_020, limit: 2_500 }), "3,020 of 2,500 tokens");
		assert.equal(describeUse({ unit: "turns", used: 2, limit: 2 }), "2 of 2 turns");
		assert.equal(describeUse({ unit: "cost", used: 0.5234, limit: 0.5 }), "$0.5234 of $0.50");
		assert.equal(describeUse({ unit: "cost", used: 1234.5, limit: 1_000 }), "$1,234.50 of $1,000.00");
		assert.equal(describeUse({ unit: "cost", used: 0.000_41, limit: 0.0004 }), "$0.00041 of $0.0004");
	});

	test("Cannot be negative, nothing, endless or a text (X37)", () => {
		for (const value of [-1, 0, Number.NaN, Number.POSITIVE_INFINITY, "2500", null, [], true]) {
			assert.equal(limitIn(value, "whole"), undefined, String(value));
			assert.equal(limitIn(value, "any"), undefined, String(value));
		}
		assert.deepEqual([limitIn(2.5, "whole"), limitIn(2.5, "any"), limitIn(2, "whole")], [undefined, 2.5, 2]);
	});
});
