import assert from "node:assert/strict";
import { test } from "node:test";
import { delegateParameters, parseTasks } from "../../src/tools/delegate-schema.ts";
import { prepareArguments } from "../../src/tools/prepare-arguments.ts";
import { subagentParameters } from "../../src/tools/subagent-schema.ts";

const prepared = (args: unknown) => prepareArguments<unknown>(delegateParameters, args);
const ONE = { name: "a", prompt: "look" };

test("A list of tasks, and tasks in it, may be JSON texts", () => {
	const expected = { tasks: [ONE, { ...ONE, name: "b" }] };
	const [first, second] = expected.tasks;
	for (const args of [
		expected,
		{ tasks: JSON.stringify(expected.tasks) },
		{ tasks: [JSON.stringify(first), second] },
		{ tasks: ` ${JSON.stringify([JSON.stringify(first), JSON.stringify(second)])}\n` },
		JSON.stringify(expected),
	]) {
		assert.deepEqual(prepared(args), expected, JSON.stringify(args));
	}
	assert.deepEqual(prepared({ tasks: JSON.stringify(ONE) }), { tasks: ONE }, "pi makes a list of one");
});

test("An empty text in an optional field counts as missing, at every depth; a required one stays", () => {
	const task = { ...ONE, profile: "", cwd: " ", timeout: "", resume: "", files: [{ path: "a", start: "", end: 3 }] };
	assert.deepEqual(prepared({ profile: "", tasks: [task] }), {
		tasks: [{ ...ONE, files: [{ path: "a", end: 3 }] }],
	});
	assert.deepEqual(prepared({ tasks: [{ name: "", prompt: "" }] }), { tasks: [{ name: "", prompt: "" }] });
	const one = prepareArguments(subagentParameters([]), { preset: "", agent: "a", sessionId: "", task: "t", tasks: "" });
	assert.deepEqual(one, { agent: "a", task: "t" });
});

test("Attached files may be JSON texts; a text that is no description of a file is a path", () => {
	const files = ["a.txt", { path: "b.txt", tail: 2 }];
	assert.deepEqual(prepared({ tasks: [{ ...ONE, files: JSON.stringify(files) }] }), { tasks: [{ ...ONE, files }] });
	const written = ["a.txt", '{"path":"b.txt","tail":2}', "[id].tsx", "{x}.md", '{"head":1}'];
	assert.deepEqual(prepared({ tasks: [{ ...ONE, files: written }] }), {
		tasks: [{ ...ONE, files: [...files, "[id].tsx", "{x}.md", '{"head":1}'] }],
	});
});

test("What cannot be understood stays as it is, for pi to refuse, and prompts are never touched", () => {
	const prompt = '{"tasks": []}';
	for (const args of [
		undefined,
		null,
		7,
		"tasks",
		[],
		{ tasks: "[{" },
		{ tasks: 7 },
		{ tasks: [[], 7, null, "x"] },
		{ tasks: [{ name: "[1]", prompt }] },
		{ other: "", tasks: [{ ...ONE, other: "" }] },
	]) {
		assert.deepEqual(prepared(args), args);
	}
});

test("A task with a blank name or prompt refuses the call and says which one", () => {
	const ask =
		(...tasks: { name: string; prompt: string }[]) =>
		() =>
			parseTasks({ tasks });
	assert.throws(ask(ONE, { name: " \n", prompt: "x" }), {
		message: /^Task 2 has an empty name\. Valid form: \{profile\?/,
	});
	assert.throws(ask({ name: "a", prompt: "\t" }), { message: /^Task 1 has an empty prompt\. / });
});
