import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { delegate, type ToolOutcome } from "../rig/delegation.ts";
import { createHome, type Home } from "../rig/home.ts";
import { type ModelRequest, type ModelServer, startModelServer, text, toolCalls } from "../rig/model-server.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));

let server: ModelServer;
let home: Home;

before(async () => {
	server = await startModelServer();
	const lines = ["claude-sonnet-4-20250514", "claude-sonnet-4-5", "claude-opus-4-1"].map((id) => ({
		...{ id, name: id, input: ["text"], contextWindow: 10_000, maxTokens: 1_000, reasoning: false },
	}));
	home = createHome(server, {
		providers: {
			acme: { baseUrl: server.url, api: "openai-completions", apiKey: "acme-key-123456", models: lines },
		},
	});
});
after(async () => {
	await server.close();
	home.dispose();
});

const lineOf = ({ text: all }: ToolOutcome, task: string) =>
	all.split("\n").find((line) => line.includes(` ${task}: `)) ?? "";
const requestOf = (requests: readonly ModelRequest[], task: string): ModelRequest => {
	const found = requests.find(({ lastUser }) => lastUser === task);
	assert.ok(found, `no request of ${task}`);
	return found;
};
const toolsOf = ({ tools }: ModelRequest) => [...tools].sort();

describe("agents of other programs, called as they are", { concurrency: 1 }, () => {
	test("A file of .claude/agents runs with its prompt, its tools and the newest model of its line", async () => {
		home.write(
			".claude/agents/review/code-reviewer.md",
			`---
name: Code Reviewer
description: Use when: code has changed. Examples: "review this"
tools: Read, Grep, Glob, WebSearch, Bash(git diff:*)
model: sonnet
color: blue
---

You review code like Claude would.
`,
		);
		const { results, childRequests } = await delegate(home, server, {
			extension: EXTENSION,
			rounds: [
				[{ name: "list_subagent_profiles", args: {} }],
				[
					{
						name: "delegate_to_subagents",
						args: {
							tasks: [
								{ name: "one", prompt: "one", profile: "Code-Reviewer" },
								{ name: "two", prompt: "two", profile: "Code Reviewer" },
							],
						},
					},
				],
			],
			child: () => text("reviewed"),
		});
		const [list, call] = results;
		assert.ok(list && call);
		assert.match(list.text, /^Code-Reviewer \[project claude\] · sonnet · Use when: code has changed/);
		assert.match(list.text, /tools: read, grep, find, WebSearch · left out: WebSearch/);
		for (const task of ["one", "two"]) {
			assert.match(lineOf(call, task), new RegExp(`^✓ ${task}: completed .*acme/claude-sonnet-4-5`));
			const request = requestOf(childRequests, task);
			assert.equal(request.model, "claude-sonnet-4-5");
			assert.deepEqual(toolsOf(request), ["find", "grep", "read"]);
			assert.match(request.system, /^You review code like Claude would\./);
		}
	});

	test("Preset and agent reach it too, without a model of its own, and with no more than its author allowed", async () => {
		home.write(
			".opencode/agent/looker.md",
			`---
description: Looks
mode: subagent
permission:
  edit: deny
  bash:
    "*": ask
    "git *": allow
---
You look.
`,
		);
		const { results, childRequests } = await delegate(home, server, {
			extension: EXTENSION,
			rounds: [
				[
					{
						name: "subagent",
						args: {
							tasks: [
								{ preset: "looker", task: "by preset" },
								{ agent: "looker", task: "by agent" },
							],
						},
					},
				],
			],
			child: ({ tools }) =>
				tools.includes("subagent_finalize")
					? toolCalls([{ name: "subagent_finalize", args: { status: "SUCCESS", result: "seen" } }])
					: text("seen"),
		});
		assert.match(results[0]?.text ?? "", /\[1\/2\] looker: completed[\s\S]*\[2\/2\] looker: SUCCESS/i);
		const byPreset = requestOf(childRequests, "by preset");
		assert.equal(byPreset.model, "mock-1");
		for (const task of ["by preset", "by agent"]) {
			const tools = toolsOf(requestOf(childRequests, task));
			for (const gone of ["edit", "write", "bash", "powershell"])
				assert.ok(!tools.includes(gone), `${task} has ${gone}`);
			assert.ok(tools.includes("read"));
		}
	});

	test("What cannot be called is marked in the list, told once at the start, and fails only its own task", async () => {
		home.write(
			".claude/agents/guarded.md",
			"---\nname: guarded\ndescription: d\nisolation: container\n---\nYou are kept apart.",
		);
		const run = () =>
			delegate(home, server, {
				extension: EXTENSION,
				rounds: [
					[{ name: "list_subagent_profiles", args: { name: "guarded" } }],
					[
						{
							name: "delegate_to_subagents",
							args: {
								tasks: [
									{ name: "fine", prompt: "fine" },
									{ name: "kept", prompt: "kept", profile: "guarded" },
								],
							},
						},
					],
				],
				child: () => text("answered"),
			});
		const first = await run();
		assert.match(
			first.results[0]?.text ?? "",
			/^✗ guarded \[project claude\] cannot be called: .*"isolation: container"/,
		);
		const call = first.results[1];
		assert.ok(call);
		assert.match(lineOf(call, "fine"), /^✓ fine: completed/);
		assert.match(lineOf(call, "kept"), /^✗ kept: error — The profile "guarded" cannot be used: .*isolation/);
		assert.match(first.stderr, /1 of 2 agents from \.claude\/agents cannot be used: \/profile list\n/);
		assert.doesNotMatch((await run()).stderr, /cannot be used: \/profile list/);
		assert.match(readFileSync(join(home.agentDir, "subagents", "told-notices.json"), "utf8"), /1 of 2 agents/);
	});
});
