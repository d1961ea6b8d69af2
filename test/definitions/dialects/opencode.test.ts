import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { allBut, became, file, only, refusal, toolsOf, used } from "./reading.ts";

const opencode = "opencode" as const;
const tools = (...lines: readonly string[]) => toolsOf(opencode, "description: d", ...lines);
const permission = (...lines: readonly string[]) => tools("permission:", ...lines.map((line) => `  ${line}`));

describe("an agent of OpenCode", () => {
	test("All that a usual file says, named as its file is", () => {
		const definition = used(
			opencode,
			"description: Reviews code",
			"mode: subagent",
			"model: anthropic/claude-sonnet-4-20250514",
			"temperature: 0.1",
			"reasoningEffort: high",
			"tools:",
			"  write: false",
			"  edit: false",
		);
		assert.equal(definition.name, "it");
		assert.deepEqual(definition.model, {
			rule: "foreign",
			provider: undefined,
			name: "anthropic/claude-sonnet-4-20250514",
			thinking: "high",
		});
		assert.deepEqual(definition.tools, allBut("edit", "write"));
		assert.equal(definition.promptMode, "replace");
		assert.equal(became(definition, "temperature"), "not used");
	});

	test("A mapping of tools: what is false goes, with * false what is true stays, and true alone restricts nothing", () => {
		assert.deepEqual(tools("tools: {write: false}"), allBut("edit", "write"), "OpenCode has one permission for both");
		assert.deepEqual(tools('tools: {"*": false, read: true, glob: true}'), only("read", "find"));
		assert.deepEqual(tools("tools: {read: true, list: true}"), { kind: "inherit" });
		assert.deepEqual(tools('tools: {"*": false}'), { kind: "none" });
		assert.deepEqual(tools("tools: {bash: false, read: true}"), allBut("bash", "powershell"));
		assert.deepEqual(tools('tools: {"github_*": false}'), allBut("github_*"));
		assert.match(
			refusal(opencode, "description: d", "tools: {write: perhaps}"),
			/"tools\.write" must be true or false/,
		);
	});

	test("A mapping with * true, or with words, is read as it is meant", () => {
		assert.deepEqual(tools('tools: {"*": true, write: false}'), allBut("edit", "write"));
		assert.deepEqual(tools("tools: {write: deny, edit: ask, read: allow}"), allBut("edit", "write"));
		assert.deepEqual(tools('tools: {read: true, "*": false}'), { kind: "none" });
	});

	test("Permissions deny whole tools; ask is deny, because nobody can be asked", () => {
		assert.deepEqual(permission("edit: deny"), allBut("edit", "write"));
		assert.deepEqual(
			permission("edit: deny", "bash: ask", "read: allow"),
			allBut("edit", "write", "bash", "powershell"),
		);
		assert.deepEqual(permission("edit: allow", "bash: allow"), { kind: "inherit" });
		assert.deepEqual(tools("permission: allow"), { kind: "inherit" });
		assert.deepEqual(tools("permission: deny"), { kind: "none" });
		assert.deepEqual(tools("permission: ask"), { kind: "none" });
	});

	test("A rule for a part of a tool takes the whole tool away, and the list says so", () => {
		const definition = used(
			opencode,
			"description: d",
			"permission:",
			"  bash:",
			'    "git *": allow',
			'    "*": deny',
		);
		assert.deepEqual(definition.tools, allBut("bash", "powershell"));
		assert.match(became(definition, "permission") ?? "", /a rule for a part of bash takes the whole away/);
		assert.deepEqual(permission("bash:", '  "git *": allow'), allBut("bash", "powershell"));
		assert.deepEqual(permission("read:", '  "*": allow', '  "*.env": deny'), allBut("read"));
		assert.deepEqual(permission("bash:", '  "*": allow'), { kind: "inherit" });
	});

	test("Permissions for everything are a list of what is allowed after them", () => {
		assert.deepEqual(permission('"*": deny', "read: allow", "grep: allow"), only("read", "grep"));
		assert.deepEqual(permission('"*": ask', "edit: allow", "bash: deny"), only("edit", "write"));
		assert.deepEqual(permission("read: allow", '"*": deny'), { kind: "none" });
		assert.deepEqual(permission('"*": allow', "write: deny"), allBut("write"));
	});

	test("Permissions that are about no tool: skills go, loops are detected anyway, and a directory cannot be enforced", () => {
		assert.deepEqual(used(opencode, "description: d", "permission:", "  skill: deny").skills, { kind: "none" });
		assert.deepEqual(
			used(opencode, "description: d", "permission:", "  skill:", '    "*": deny', "    x: allow").skills,
			{
				kind: "none",
			},
		);
		assert.deepEqual(permission("doom_loop: deny", "task: deny"), allBut("task"));
		assert.deepEqual(permission("external_directory: allow"), { kind: "inherit" });
		for (const value of ["deny", "ask"]) {
			assert.match(
				refusal(opencode, "description: d", "permission:", `  external_directory: ${value}`),
				/"permission\.external_directory" cannot be enforced/,
			);
		}
		assert.match(refusal(opencode, "description: d", "permission:", "  bash: sometimes"), /"permission\.bash"/);
		assert.match(refusal(opencode, "description: d", "permission: [deny]"), /"permission" must be/);
	});

	test("What fetches from the web goes under every name that pi's extensions use for it", () => {
		const policy = permission("webfetch: deny");
		assert.ok(policy.kind === "deny-known" && policy.names.includes("fetch_content"));
	});

	test("Tools and permissions together leave what both allow", () => {
		assert.deepEqual(tools('tools: {"*": false, read: true, bash: true}', "permission: {bash: deny}"), only("read"));
	});

	test("A primary agent and one that is disabled are no sub-agents", () => {
		for (const line of ["mode: primary", "disable: true", "disabled: yes"]) {
			assert.equal(file(opencode, "description: d", line).kind, "not-offered", line);
		}
		for (const line of ["mode: subagent", "mode: all", "disable: false", "hidden: true"]) {
			assert.equal(file(opencode, "description: d", line).kind, "definition", line);
		}
		assert.match(refusal(opencode, "description: d", "mode: secret"), /"mode: secret" is not known/);
	});

	test("Steps are the turn limit, and fields that do nothing are said to be not used", () => {
		assert.equal(used(opencode, "description: d", "steps: 12").budget.turns, 12);
		const definition = used(opencode, "description: d", "top_p: 0.9", "variant: fast", 'color: "#fff"');
		for (const field of ["top_p", "variant", "color"]) assert.equal(became(definition, field), "not used");
	});
});
