import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseForeign } from "../../../src/definitions/dialects/read-foreign.ts";
import { allBut, became, file, only, refusal, toolsOf, used } from "./reading.ts";

const claude = "claude" as const;

describe("an agent of Claude Code", () => {
	test("All that a usual file says", () => {
		const definition = used(
			claude,
			"name: code-reviewer",
			"description: Reviews code",
			"tools: Read, Grep, Glob, LS",
			"model: sonnet",
			"color: cyan",
		);
		assert.deepEqual(
			{ ...definition, translated: [] },
			{
				name: "code-reviewer",
				description: "Reviews code",
				model: { rule: "foreign", provider: undefined, name: "sonnet", thinking: undefined },
				body: "You are it.",
				promptMode: "replace",
				addition: "",
				tools: only("read", "grep", "find", "ls"),
				skills: { kind: "inherit" },
				extensions: { discover: true, paths: [] },
				contextFiles: "inherit",
				apiKey: undefined,
				extraArgs: [],
				timeoutSeconds: undefined,
				budget: { tokens: 0, cost: 0, turns: 0 },
				fallbackModels: [],
				mayAsk: true,
				output: undefined,
				isolation: "none",
				changes: undefined,
				translated: [],
			},
		);
		assert.equal(became(definition, "tools"), "tools: read, grep, find, ls");
		assert.equal(became(definition, "color"), "not used");
	});

	test("A name with other characters becomes one that can be called, and without a name the file's is taken", () => {
		const named = (line: string) => used(claude, line, "description: d").name;
		assert.equal(named('name: "Code Reviewer 👀"'), "Code-Reviewer");
		assert.equal(named("name: team/code.reviewer"), "team-code-reviewer");
		assert.equal(named("name: 代码审查"), "it");
		assert.equal(named("color: red"), "it");
		const parsed = file(claude, 'name: "Code Reviewer"', "description: d");
		assert.equal(parsed.kind === "definition" && parsed.writtenName, "Code Reviewer");
	});

	test("Tools are a text or a list, in any case; nothing, none and an empty list mean no tools, * and all no restriction", () => {
		const tools = (value: string) => toolsOf(claude, "name: x", `tools: ${value}`);
		assert.deepEqual(tools("[READ, multiedit, Edit]"), only("read", "edit"));
		assert.deepEqual(tools("Read Grep Glob"), only("read", "grep", "find"));
		assert.deepEqual(tools('"Read\\nBash"'), only("read", "bash"));
		for (const none of ["[]", '""', "none", "", "None"]) assert.deepEqual(tools(none), { kind: "none" }, none);
		for (const all of ['"*"', "all", "All", '["*"]', "inherit"]) assert.deepEqual(tools(all), { kind: "inherit" }, all);
		assert.deepEqual(toolsOf(claude, "name: x"), { kind: "inherit" });
	});

	test("Tools that only other programs have stay in the list, for the session to leave out", () => {
		const tools = toolsOf(claude, "name: x", "tools: Read, WebSearch, TodoWrite, mcp__github__search, mcp__fs__*");
		assert.deepEqual(tools, only("read", "WebSearch", "TodoWrite", "mcp__github__search", "mcp__fs__*"));
	});

	test("A part of a tool is no tool: it is left out, and where nothing else is left the file cannot be called", () => {
		const definition = used(claude, "name: x", "tools: Read, Bash(git diff:*), Bash(npm run test, npm run lint)");
		assert.deepEqual(definition.tools, only("read"));
		assert.match(became(definition, "tools") ?? "", /left out: Bash\(git diff:\*\)/);
		assert.match(refusal(claude, "name: x", "tools: Bash(git:*)"), /no tool of "tools" is left \(Bash\(git:\*\)\)/);
	});

	test("What is denied is taken away from what is allowed, or from all", () => {
		assert.deepEqual(toolsOf(claude, "name: x", "disallowedTools: Write, Edit"), allBut("write", "edit"));
		assert.deepEqual(
			toolsOf(claude, "name: x", "tools: Read, Write, Bash", "disallowedTools: [write]"),
			only("read", "bash"),
		);
		assert.match(refusal(claude, "name: x", "tools: Write", "disallowedTools: write"), /no tool is left/);
		assert.deepEqual(toolsOf(claude, "name: x", "tools: mcp__a__*", "disallowedTools: mcp__a__drop"), {
			kind: "allow-known",
			names: ["mcp__a__*"],
			but: ["mcp__a__drop"],
		});
		assert.deepEqual(toolsOf(claude, "name: x", 'disallowedTools: "*"'), { kind: "none" });
	});

	test("A part that is denied takes the whole tool away, and powershell goes with bash", () => {
		assert.deepEqual(toolsOf(claude, "name: x", "disallowedTools: Bash(rm:*)"), allBut("bash", "powershell"));
		assert.deepEqual(
			toolsOf(claude, "name: x", "disallowedTools: NotebookEdit"),
			allBut("NotebookEdit", "edit", "write"),
		);
	});

	test("Modes that forbid changes take edit, write and the shells away; modes that only ask take nothing", () => {
		const readOnly = allBut("edit", "write", "bash", "powershell");
		assert.deepEqual(toolsOf(claude, "name: x", "permissionMode: plan"), readOnly);
		assert.deepEqual(toolsOf(claude, "name: x", "permissionMode: dontAsk"), readOnly);
		assert.deepEqual(toolsOf(claude, "name: x", "permissionMode: plan", "tools: Read, Edit, Bash"), only("read"));
		for (const mode of ["default", "acceptEdits", "bypassPermissions"]) {
			assert.deepEqual(toolsOf(claude, "name: x", `permissionMode: ${mode}`), { kind: "inherit" }, mode);
		}
		assert.match(refusal(claude, "name: x", "permissionMode: paranoid"), /"permissionMode: paranoid" is not known/);
	});

	test("A hook for tools takes those tools away, and any other hook makes the file uncallable", () => {
		const hook = (event: string, matcher: string) => [
			"name: x",
			"hooks:",
			`  ${event}:`,
			`    - matcher: ${matcher}`,
			"      hooks:",
			'        - type: command\n          command: "./check.sh"',
		];
		assert.deepEqual(toolsOf(claude, ...hook("PreToolUse", "Bash")), allBut("bash", "powershell"));
		assert.deepEqual(toolsOf(claude, ...hook("PreToolUse", "Edit|Write")), allBut("edit", "write"));
		assert.match(refusal(claude, ...hook("PreToolUse", '"*"')), /"hooks\.PreToolUse" cannot be run/);
		assert.match(refusal(claude, ...hook("Stop", "x")), /"hooks\.Stop" cannot be run/);
		assert.match(refusal(claude, "name: x", "hooks: [1]"), /"hooks" cannot be run/);
	});

	test("A restriction that nobody can keep, or that nobody knows, makes the file uncallable and names the field", () => {
		for (const line of [
			"isolation: container",
			"permissions: strict",
			"allowed_paths: [src]",
			"denyList: [x]",
			"read_only_paths: src",
			"forbidden: [rm]",
			"excludePaths: x",
			"isolated_network: true",
			"readonly: perhaps",
			"extensions: ./evil.ts",
			"extraArgs: --approve",
			"apiKey: sk-123",
		]) {
			const [field] = line.split(":");
			assert.match(refusal(claude, "name: x", line), new RegExp(`"${field}`), line);
		}
		assert.deepEqual(toolsOf(claude, "name: x", "isolation: none", "readonly: false"), { kind: "inherit" });
	});

	test("No model, inherit and an effort", () => {
		assert.deepEqual(used(claude, "name: x", "model: inherit", "effort: high").model, {
			rule: "foreign",
			provider: undefined,
			name: undefined,
			thinking: "high",
		});
		assert.equal(used(claude, "name: x", "model: opus[1m]").model.name, "opus");
		assert.equal(used(claude, "name: x", "effort: extreme").model.thinking, undefined);
		assert.match(refusal(claude, "name: x", "model: [a, b]"), /"model" must be text/);
	});

	test("maxTurns is the turn limit", () => {
		assert.equal(used(claude, "name: x", "maxTurns: 7").budget.turns, 7);
	});

	test("Fields that do nothing here are said to be not used", () => {
		const definition = used(claude, "name: x", "skills: [a]", "memory: user", "mcpServers: [github]", "version: 2");
		for (const field of ["skills", "memory", "mcpServers", "version"]) {
			assert.match(became(definition, field) ?? "", /^not used/, field);
		}
	});

	test("An unquoted colon is read, with a warning, and the fields after it are not lost", () => {
		const parsed = parseForeign(
			[
				"---",
				"name: helper",
				"description: Use when: things break. Examples:",
				"",
				"<example>",
				"Context: a test fails",
				'user: "why: tell me"',
				"</example>",
				"tools: Read, Grep",
				"disallowedTools: Grep",
				"---",
				"",
				"Help.",
			].join("\n"),
			claude,
			"/x/helper.md",
		);
		assert.ok(parsed.kind === "definition", JSON.stringify(parsed));
		assert.match(parsed.definition.description, /^Use when: things break\. Examples:\n\n<example>\nContext: a test/);
		assert.deepEqual(parsed.definition.tools, only("read"));
		assert.equal(parsed.definition.body, "Help.");
		assert.deepEqual(parsed.warnings, [{ line: 3, message: "description is not valid YAML: put quotes around it" }]);
	});

	test("A restriction that is no YAML makes the file uncallable, whatever the rest is", () => {
		const parsed = parseForeign("---\nname: x\ndescription: a: b\ntools: [Read, {\n---\nx", claude, "/x/y.md");
		assert.equal(parsed.kind, "rejected");
	});

	test("A file without frontmatter, or with that of something else, is no agent", () => {
		assert.equal(parseForeign("# Notes", claude, "/x/README.md").kind, "other");
		assert.equal(parseForeign("---\ntitle: Notes\n---\n# Notes", claude, "/x/notes.md").kind, "other");
	});
});
