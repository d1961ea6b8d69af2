import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { dialectOf } from "../../../src/definitions/dialects/read-foreign.ts";
import { allBut, became, file, only, refusal, toolsOf, used } from "./reading.ts";

for (const source of ["pi", "agents"] as const) {
	const d = "description: d";
	describe(`an agent of another pi package, in ${source === "pi" ? ".pi/agents" : ".agents/agents"}`, () => {
		test("A usual file of tintinweb's package", () => {
			const definition = used(
				source,
				"description: Security Code Reviewer",
				"tools: read, grep, find, bash",
				"model: anthropic/claude-opus-4-6",
				"thinking: high",
				"max_turns: 30",
			);
			assert.equal(definition.name, "it");
			assert.equal(definition.model.thinking, "high");
			assert.equal(definition.budget.turns, 30);
			assert.deepEqual(definition.tools, only("read", "grep", "find", "bash"));
		});

		test("A usual file of nicobailon's package", () => {
			const definition = used(
				source,
				"name: scout",
				"description: Fast recon",
				"tools: read, grep, find, ls, bash, mcp:chrome-devtools",
				"model: claude-haiku-4-5",
				"systemPromptMode: append",
				"inheritProjectContext: false",
				"inheritSkills: false",
				"output: context.md",
				"defaultProgress: true",
			);
			assert.deepEqual(definition.tools, only("read", "grep", "find", "ls", "bash"));
			assert.equal(definition.promptMode, "append");
			assert.equal(definition.contextFiles, "none");
			assert.deepEqual(definition.skills, { kind: "none" });
			assert.equal(became(definition, "output"), "not used");
		});

		test("prompt_mode says whether the body replaces the prompt or is added to it", () => {
			assert.equal(used(source, d, "prompt_mode: append").promptMode, "append");
			assert.equal(used(source, d, "prompt_mode: replace").promptMode, "replace");
			assert.equal(used(source, d).promptMode, "replace");
			assert.match(refusal(source, d, "prompt_mode: sideways"), /"prompt_mode: sideways" is not known/);
		});

		test("disallowed_tools is taken from all, or from tools", () => {
			assert.deepEqual(toolsOf(source, d, "disallowed_tools: bash"), allBut("bash", "powershell"));
			assert.deepEqual(toolsOf(source, d, "tools: read, write", "disallowed_tools: write"), only("read"));
		});

		test("Selectors of extensions are left out; with * they leave pi's own tools", () => {
			assert.deepEqual(
				toolsOf(source, d, 'tools: "*, ext:mcp/search"'),
				only("read", "bash", "edit", "write", "grep", "find", "ls"),
			);
			const definition = used(source, d, "tools: read, ext:mcp/search");
			assert.deepEqual(definition.tools, only("read"));
			assert.match(became(definition, "tools") ?? "", /left out: ext:mcp\/search/);
			assert.match(refusal(source, d, "tools: ext:mcp/search"), /no tool of "tools" is left/);
		});

		test("Extensions: all is the default, none switches them off, and what names code cannot be called", () => {
			assert.equal(used(source, d, "extensions: true").extensions.discover, true);
			assert.equal(used(source, d, 'extensions: ["*"]').extensions.discover, true);
			for (const none of ["extensions: false", "extensions:", "extensions: []", 'extensions: ""', "extensions: none"]) {
				assert.equal(used(source, d, none).extensions.discover, false, none);
			}
			for (const code of ["extensions: [mcp]", "extensions: /abs/path.ts", "subagentOnlyExtensions: ./x.ts"]) {
				assert.match(refusal(source, d, code), /loads code/, code);
			}
			assert.match(refusal(source, d, "tools: read, ./tools/own.ts"), /"tools" loads code/);
			assert.equal(used(source, d, "exclude_extensions: pi-notify").extensions.discover, false);
		});

		test("Isolated switches extensions and skills off; a worktree is a tree of its own", () => {
			const { extensions, skills } = used(source, d, "isolated: true");
			assert.deepEqual([extensions.discover, skills.kind], [false, "none"]);
			assert.equal(used(source, d, "isolated: false").extensions.discover, true);
			assert.equal(used(source, d, "isolation: worktree").isolation, "worktree");
			assert.equal(used(source, d, "isolation: none").isolation, "none");
			assert.match(refusal(source, d, "isolation: docker"), /"isolation: docker" cannot be had/);
		});

		test("An agent that is not enabled is no sub-agent", () => {
			assert.equal(file(source, d, "enabled: false").kind, "not-offered");
			assert.equal(file(source, d, "enabled: true").kind, "definition");
		});

		test("Limits in time become the timeout, the shortest of them", () => {
			assert.equal(used(source, d, "timeoutMs: 1500").timeoutSeconds, 2);
			assert.equal(used(source, d, "timeoutMs: 90000", "maxRuntimeSeconds: 60").timeoutSeconds, 60);
			assert.equal(used(source, d, "timeoutMs: 0").timeoutSeconds, undefined);
			assert.match(refusal(source, d, "timeoutMs: soon"), /"timeoutMs" must be a number/);
			assert.equal(used(source, d, 'turnBudget: {"maxTurns": 20, "graceTurns": 2}').budget.turns, 20);
			assert.equal(used(source, d, "max_turns: 0").budget.turns, 0);
			assert.match(refusal(source, d, "max_turns: many"), /"max_turns" must be a number/);
			assert.match(refusal(source, d, "toolBudget: {hard: 3}"), /"toolBudget" cannot be enforced/);
		});

		test("Skills: false switches them off, and named ones are not used", () => {
			assert.deepEqual(used(source, d, "skills: false").skills, { kind: "none" });
			const definition = used(source, d, "skills: a, b");
			assert.deepEqual(definition.skills, { kind: "inherit" });
			assert.equal(became(definition, "skills"), "not used");
		});

		test("Read-only, and our own words for tools, count here too", () => {
			assert.deepEqual(toolsOf(source, d, "readonly: true"), allBut("edit", "write", "bash", "powershell"));
			assert.deepEqual(toolsOf(source, d, "excludeTools: bash"), allBut("bash", "powershell"));
			assert.deepEqual(toolsOf(source, d, "denied_tools: [write]"), allBut("write"));
			assert.deepEqual(toolsOf(source, d, "approved_tools: read"), only("read"));
			assert.deepEqual(toolsOf(source, d, "noTools: true"), { kind: "none" });
		});
	});
}

test("Whose words a file uses can be told from its fields", () => {
	assert.equal(dialectOf({ description: "d", mode: "subagent" }), "opencode");
	assert.equal(dialectOf({ tools: { write: false } }), "opencode");
	assert.equal(dialectOf({ description: "d", prompt_mode: "append" }), "pi");
	assert.equal(dialectOf({ name: "x", tools: "Read", permissionMode: "plan" }), "claude");
});
