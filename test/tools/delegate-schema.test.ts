import assert from "node:assert/strict";
import { test } from "node:test";
import { Value } from "typebox/value";
import { delegateParameters, parseTasks } from "../../src/tools/delegate-schema.ts";

test("The schema refuses what cannot be (A3, A5, A11, X15, F23)", () => {
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

test("Of a file one part is asked for; two would silently lose one (A11, A52)", () => {
	const ask = (part: object) => parseTasks({ tasks: [{ name: "n", prompt: "p", files: [{ path: "a", ...part }] }] });
	const [task] = ask({ start: 2, end: 3 });
	assert.deepEqual(task?.request.files, [{ kind: "range", path: "a", start: 2, end: 3 }]);
	for (const part of [
		{ head: 1, tail: 1 },
		{ start: 2, head: 4 },
		{ end: 2, tail: 4 },
	]) {
		assert.throws(() => ask(part), { message: "Of a, ask for start and end, or for head, or for tail" });
	}
});

test("A field that a task does not have is refused: a model that is asked for is not silently another one (X10)", () => {
	const one = { name: "n", prompt: "p" };
	const ask = (parameters: object) => () => parseTasks(parameters as Parameters<typeof parseTasks>[0]);
	assert.throws(ask({ tasks: [one, { ...one, model: "m", agent: "a" }] }), {
		message:
			"delegate_to_subagents does not take model, agent. Valid form: {profile?, tasks: [{name, prompt, profile?, cwd?, timeout?, resume?, files?}, …]}",
	});
	assert.throws(ask({ tasks: [one], timeout: 5 }), /^Error: delegate_to_subagents does not take timeout\. /);
});
