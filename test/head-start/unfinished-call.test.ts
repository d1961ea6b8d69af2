import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { WORD_OF } from "../../src/domain/spec.ts";
import { familyOf, requestsSoFar } from "../../src/head-start/unfinished-call.ts";
import type { Parent } from "../../src/plan/parent.ts";

const parent = { cwd: "/project", settings: { timeout: undefined } } as unknown as Parent;
const soFar = (tool: string, args: Record<string, unknown>) =>
	requestsSoFar(tool, args, parent).map(({ family, definition, model, cwd, naming }) =>
		[WORD_OF[family], definition, model, cwd, naming].filter((each) => each !== undefined).join(" "),
	);

describe("what a call announces while it is written", () => {
	test("A task is known when its text begins", () => {
		const tool = "delegate_to_subagents";
		assert.deepEqual(soFar(tool, {}), []);
		assert.deepEqual(soFar(tool, { tasks: [{ name: "a" }] }), []);
		assert.deepEqual(soFar(tool, { tasks: [{ name: "a", profile: "sco" }] }), []);
		assert.deepEqual(soFar(tool, { tasks: [{ name: "a", profile: "scout", prompt: "" }] }), ["profile scout free"]);
		assert.deepEqual(soFar(tool, { tasks: [{ name: "a", cwd: "/b", prompt: "x" }] }), ["profile /b free"]);
		assert.deepEqual(soFar(tool, { profile: "p", tasks: [{ name: "a", prompt: "x" }] }), ["profile p free"]);
	});

	test("One that has just begun is expected to be like the one before it", () => {
		const tool = "delegate_to_subagents";
		const known = { name: "a", profile: "scout", prompt: "x" };
		assert.deepEqual(soFar(tool, { tasks: [known, {}] }), ["profile scout free", "profile scout free"]);
		assert.deepEqual(soFar(tool, { tasks: [known, { name: "b", profile: "wri" }] }).length, 2);
		assert.deepEqual(soFar(tool, { tasks: [known, { name: "b", profile: "w", prompt: "" }] }), [
			"profile scout free",
			"profile w free",
		]);
	});

	test("Presets and agents, alone, in parallel and in the background", () => {
		assert.deepEqual(soFar("subagent", { preset: "p" }), []);
		assert.deepEqual(soFar("subagent", { preset: "p", model: "m", task: "" }), ["preset p m free"]);
		assert.deepEqual(soFar("subagent", { agent: "a", task: "t" }), ["agent a free"]);
		assert.deepEqual(soFar("subagent", { agent: "a", sessionId: "s", task: "t" }), ["agent a fixed"]);
		const tasks = [
			{ preset: "p", task: "t" },
			{ agent: "a", task: "t" },
		];
		assert.deepEqual(soFar("subagent", { tasks }), ["preset p free", "agent a free"]);
		assert.deepEqual(soFar("background_agent", { preset: "p", cwd: "/b", task: "" }), ["preset p /b free"]);
	});

	test("What makes no sense (yet) announces nothing", () => {
		for (const args of [
			{ tasks: "x" },
			{ tasks: [null, 3] },
			{ preset: 7, task: "" },
			{ preset: "p", agent: "a", task: "" },
			{ task: "only" },
		]) {
			assert.deepEqual(soFar("subagent", args), [], JSON.stringify(args));
		}
		assert.deepEqual(soFar("background_agent", { task: "" }), []);
		assert.deepEqual(soFar("bash", { command: "ls" }), []);
	});

	test("Every announced run has ids of its own", () => {
		const tasks = [{ prompt: "x" }, { prompt: "y" }];
		const requests = requestsSoFar("delegate_to_subagents", { tasks }, parent);
		assert.equal(new Set(requests.map(({ runId }) => runId)).size, 2);
		assert.equal(familyOf("subagent"), "subagent");
		assert.equal(familyOf("toString"), undefined);
	});
});
