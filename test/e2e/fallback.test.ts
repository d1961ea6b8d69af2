import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { RunResult } from "../../src/domain/run-result.ts";
import { startDelegation } from "../rig/delegation.ts";
import { drop, type ModelRequest, type Reply, status, text, toolCall } from "../rig/model-server.ts";
import { createSetup, finalize, isParent, type Setup, taskOf } from "./agent-setup.ts";
import { EXTENSION } from "./background-setup.ts";

const OTHER_KEY = "other-key-0123456789abcdef";
const OWN_KEY = "definition-key-0123456789";
/** A second provider on the same server. */
const withOther = (url: string) => ({
	other: { baseUrl: url, api: "openai-completions", apiKey: OTHER_KEY, models: [{ id: "o-1", name: "o-1" }] },
});
const linesIn = (setup: Setup, name: string) => {
	try {
		return readFileSync(join(setup.home.project, name), "utf8").split("\n").filter(Boolean).length;
	} catch {
		return 0;
	}
};
const resultOf = (setup: Setup, task: string): RunResult =>
	JSON.parse(readFileSync(join(setup.runs().get(task)?.directory ?? "", "result.json"), "utf8")) as RunResult;

/** Two tool calls, then an answer, in whichever turn the conversation is. */
function work(request: ModelRequest): Reply {
	const name = taskOf(request).replaceAll(" ", "-");
	if (request.turn < 2) {
		const usage = { input: 100, output: 10 };
		return toolCall("bash", { command: `echo ${request.turn} >> ${name}` }, { usage });
	}
	return text(`answered by ${request.model}`, { usage: { input: 100, output: 10 } });
}

async function play(setup: Setup, calls: readonly object[], child: (request: ModelRequest) => Reply) {
	const rounds = calls.map((args) => [{ name: "subagent", args }]);
	const { done } = startDelegation(setup.home, setup.server, {
		extension: EXTENSION,
		isParent,
		rounds,
		child,
		pi: { timeoutMs: 120_000 },
	});
	const { results } = await done;
	assert.deepEqual(setup.server.scriptErrors, []);
	return results;
}

const FAILURES: Readonly<Record<string, () => Reply>> = {
	"429": () => status(429),
	"500": () => status(500),
	"503": () => status(503),
	drop: () => drop({ chunks: 0 }),
};

test("A run goes on with the next model in the same conversation when its provider fails, at whichever turn (X37)", async (t) => {
	const setup = await createSetup(t);
	setup.define("subagents/worker.md", [
		"name: worker",
		"description: works",
		"model: mock/mock-1",
		"fallbackModels: mock/mock-2",
	]);
	const tasks = Object.keys(FAILURES).flatMap((kind) => [0, 1, 2].map((turn) => `${kind} at ${turn}`));
	const failsAt = (request: ModelRequest) => {
		const [kind = "", turn] = taskOf(request).split(" at ");
		return request.model === "mock-1" && request.turn === Number(turn) ? FAILURES[kind]?.() : undefined;
	};
	const [result] = await play(
		setup,
		[{ tasks: tasks.map((task) => ({ preset: "worker", task })) }],
		(request) => failsAt(request) ?? work(request),
	);
	const blocks = (result?.text ?? "").split(/\n\n(?=\[\d+\/12\] )/);
	for (const [index, task] of tasks.entries()) {
		const words =
			/^\[\d+\/12\] worker: completed\n\[mock\/mock-1 failed: (.+); went on with mock\/mock-2\]\nanswered by mock-2$/;
		assert.match(blocks[index] ?? "", words, task);
		const kind = task.split(" ")[0] ?? "";
		if (kind !== "drop") assert.match(blocks[index] ?? "", new RegExp(`failed: ${kind}`), task);
		assert.equal(linesIn(setup, task.replaceAll(" ", "-")), 2, `${task}: each tool ran once`);
		const turn = Number(task.at(-1));
		const first = setup.requestsOf(task).find(({ model }) => model === "mock-2");
		assert.deepEqual(
			first?.messages.map(({ role }) => role),
			["user", ...Array.from({ length: turn }, () => ["assistant", "tool"]).flat()],
			`${task}: what was said before, and nothing else`,
		);
		const { failedModels, model, usage } = resultOf(setup, task);
		assert.deepEqual([failedModels.length, failedModels[0]?.id, model?.id], [1, "mock-1", "mock-2"], task);
		assert.equal(usage.totalTokens, 330, `${task}: the sum of all turns`);
	}
});

test("Only failures of the provider lead to another model, one after the other, and all of them are told (X37)", async (t) => {
	const setup = await createSetup(t);
	const define = (name: string, fallback: string) =>
		setup.define(`subagents/${name}.md`, [`name: ${name}`, "description: works", "model: mock/mock-1", fallback]);
	define("worker", "fallbackModels: [mock/mock-2, other/o-1]");
	define("typo", "fallbackModels: mock/mock-9");
	setup.home.write(join(setup.home.agentDir, "models.json"), modelsWithOther(setup));
	const replies: Readonly<Record<string, Readonly<Record<string, Reply>>>> = {
		"two fail": { "mock-1": status(503), "mock-2": status(429) },
		"all fail": {
			"mock-1": status(503),
			"mock-2": status(500),
			"o-1": status(429, { error: { message: "insufficient_quota" } }),
		},
		refused: { "mock-1": status(400) },
		"no key": { "mock-1": status(401) },
		"then refused": { "mock-1": status(500), "mock-2": status(403) },
		"no money": { "mock-1": status(400, { error: { message: "Your credit balance is too low" } }) },
	};
	const tasks = [
		...Object.keys(replies).map((task) => ({ preset: "worker", task })),
		{ preset: "typo", task: "never" },
	];
	const [result] = await play(
		setup,
		[{ tasks }],
		(request) => replies[taskOf(request)]?.[request.model] ?? work(request),
	);
	const blocks = (result?.text ?? "").split(/\n\n(?=\[\d+\/7\] )/).map((block) => block.replace(/^\[\d\/7\] /, ""));
	assert.match(
		blocks[0] ?? "",
		/^worker: completed\n\[mock\/mock-1 failed: 503.*; mock\/mock-2 failed: 429.*; went on with other\/o-1\]\nanswered by o-1$/,
	);
	assert.match(
		blocks[1] ?? "",
		/^worker: failed\nError: mock\/mock-1 failed: 503.*; mock\/mock-2 failed: 500.*; other\/o-1 failed: .*insufficient_quota/,
	);
	assert.match(blocks[2] ?? "", /^worker: failed\nError: 400/);
	assert.match(blocks[3] ?? "", /^worker: failed\nError: 401/);
	assert.match(blocks[4] ?? "", /^worker: failed\nError: mock\/mock-1 failed: 500.*; mock\/mock-2 failed: 403/);
	assert.match(
		blocks[5] ?? "",
		/^worker: completed\n\[mock\/mock-1 failed: 400.*credit balance.*; went on with mock\/mock-2\]/,
	);
	assert.match(blocks[6] ?? "", /^typo: failed\nError: fallbackModels: Unknown model: "mock\/mock-9"/);
	const modelsOf = (task: string) => [...new Set(setup.requestsOf(task).map(({ model }) => model))];
	assert.deepEqual(modelsOf("refused"), ["mock-1"], "F2: nobody else is asked");
	assert.deepEqual(modelsOf("no key"), ["mock-1"]);
	assert.deepEqual(modelsOf("then refused"), ["mock-1", "mock-2"]);
	assert.deepEqual(modelsOf("never"), [], "X37: before any request");
});

test("A definition's key stays with its provider, and the setting counts only where nobody named a model (X39)", async (t) => {
	const setup = await createSetup(t, {
		settings: { subagents: { fallbackModels: ["other/o-1"] }, retry: { enabled: true, maxRetries: 1, baseDelayMs: 1 } },
	});
	setup.home.write(join(setup.home.agentDir, "models.json"), modelsWithOther(setup));
	const agent = (name: string, ...fields: string[]) =>
		setup.define(`prompts/${name}.md`, [`name: ${name}`, "description: works", ...fields]);
	agent("keyed", "model: mock/mock-1", `apiKey: ${OWN_KEY}`, "fallbackModels: other/o-1");
	agent("local", "model: mock/mock-1");
	agent("open");
	const done = finalize({ status: "SUCCESS", result: "done" });
	const [result] = await play(
		setup,
		[{ tasks: ["keyed", "local", "open"].map((name) => ({ agent: name, task: name })) }],
		({ model }) => (model === "o-1" ? done : status(503)),
	);
	const blocks = (result?.text ?? "").split(/\n\n(?=\[\d\/3\] )/);
	const note = /\*\*Note:\*\* mock\/mock-1 failed: 503.*; went on with other\/o-1\n/;
	assert.match(blocks[0] ?? "", note);
	assert.match(blocks[1] ?? "", /^\[2\/3\] local: FAILED\nError: 503/);
	assert.match(blocks[2] ?? "", note);
	const keysOf = (task: string, model: string) => [
		...new Set(
			setup
				.requestsOf(task)
				.filter((each) => each.model === model)
				.map(({ headers }) => headers.authorization),
		),
	];
	assert.deepEqual(keysOf("keyed", "mock-1"), [`Bearer ${OWN_KEY}`]);
	assert.deepEqual(keysOf("keyed", "o-1"), [`Bearer ${OTHER_KEY}`]);
	assert.deepEqual(keysOf("local", "o-1"), []);
});

function modelsWithOther({ home, server }: Setup): string {
	const models = JSON.parse(readFileSync(join(home.agentDir, "models.json"), "utf8")) as { providers: object };
	return JSON.stringify({ providers: { ...models.providers, ...withOther(server.url) } });
}
