import assert from "node:assert/strict";
import { test } from "node:test";
import { Value } from "typebox/value";
import { delegateParameters } from "../../src/tools/delegate-schema.ts";

test("A3, A5, A11, X15, F23: the schema refuses what cannot be", () => {
	const one = { name: "n", prompt: "p" };
	const good = [
		{ tasks: [one] },
		{ tasks: Array.from({ length: 16 }, () => one), profile: "p" },
		{ tasks: [{ ...one, timeout: 1 }] },
		{ tasks: [{ ...one, timeout: 86_400 }] },
		{
			tasks: [
				{ ...one, cwd: "/", profile: "p", resume: "r", files: ["a", { path: "a" }, { path: "a", start: 1, end: 2 }] },
			],
		},
		{
			tasks: [
				{
					...one,
					files: [
						{ path: "a", head: 1 },
						{ path: "a", tail: 1 },
					],
				},
			],
		},
	];
	for (const value of good) assert.ok(Value.Check(delegateParameters, value), JSON.stringify(value));
	const bad = [
		{},
		{ tasks: [] },
		{ tasks: Array.from({ length: 17 }, () => one) },
		{ tasks: [{ name: "n" }] },
		{ tasks: [{ prompt: "p" }] },
		...[0, 0.5, -1, 86_401, Number.NaN, Number.POSITIVE_INFINITY, "10", null].map((timeout) => ({
			tasks: [{ ...one, timeout }],
		})),
		...[{ head: 0 }, { tail: 0 }, { head: -1 }, { head: 1.5 }, { start: 0 }, { end: 0 }, { tail: "x" }].map((part) => ({
			tasks: [{ ...one, files: [{ path: "a", ...part }] }],
		})),
		{ tasks: [{ ...one, files: [{ head: 1 }] }] },
		{ tasks: [{ ...one, files: [7] }] },
	];
	for (const value of bad) assert.ok(!Value.Check(delegateParameters, value), JSON.stringify(value));
});
