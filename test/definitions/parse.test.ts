import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Parsed, parseDefinition } from "../../src/definitions/parse.ts";
import type { AgentDefinition, DefinitionKind } from "../../src/domain/definition.ts";

const parse = (lines: readonly string[], body = "", kind: DefinitionKind = "profile"): Parsed =>
	parseDefinition(`---\n${lines.join("\n")}\n---\n${body}`, kind);

function definition(
	lines: readonly string[],
	body = "",
	kind: DefinitionKind = "profile",
): Omit<AgentDefinition, "origin"> {
	const parsed = parse(["name: x", ...lines], body, kind);
	assert.ok(parsed.kind === "definition", JSON.stringify(parsed));
	return parsed.definition;
}

function rejection(lines: readonly string[], kind: DefinitionKind = "profile"): Extract<Parsed, { kind: "rejected" }> {
	const parsed = parse(["name: x", "description: d", ...lines], "", kind);
	assert.ok(parsed.kind === "rejected", JSON.stringify(parsed));
	return parsed;
}

describe("a definition's file", () => {
	test("The name alone is enough, and says nothing about anything else (A122)", () => {
		assert.deepEqual(definition([]), {
			name: "x",
			description: "",
			model: { rule: "own", provider: undefined, name: undefined, thinking: undefined },
			body: "",
			addition: "",
			tools: { kind: "inherit" },
			skills: { kind: "inherit" },
			extensions: { discover: true, paths: [] },
			contextFiles: "inherit",
			apiKey: undefined,
			extraArgs: [],
			timeoutSeconds: undefined,
			fallbackModels: [],
			budget: { tokens: 0, cost: 0, turns: 0 },
			mayAsk: true,
			output: undefined,
			isolation: "none",
			changes: undefined,
			promptMode: "replace",
			translated: [],
		});
	});

	test("Every field is read (X4)", () => {
		const read = definition(
			[
				"description: looks at code",
				"provider: anthropic",
				"model: claude-sonnet-4-5",
				"thinkingLevel: max",
				"tools: read, bash,grep",
				"extensions: [/a.ts, /b.ts]",
				"noExtensions: true",
				"suggestedSkills: one",
				"loadSkills: [two, three]",
				"noContextFiles: yes",
				'appendSystemPrompt: "be kind"',
				"apiKey: sk-test-abc123",
				"extraArgs: --verbose",
				"timeout: 90",
				"fallbackModels: mock/m2, m3:low",
				"maxTokens: 2500",
				"maxCost: '0.5'",
				"maxTurns: 3",
				"mayAsk: no",
				"output: {type: array, items: {type: string}}",
				"isolation: worktree",
				"changes: apply",
			],
			"\n  You review.\n\n",
		);
		assert.deepEqual(read, {
			name: "x",
			description: "looks at code",
			model: { rule: "own", provider: "anthropic", name: "claude-sonnet-4-5", thinking: "max" },
			body: "You review.",
			addition: "be kind",
			tools: { kind: "allow", names: ["read", "bash", "grep"] },
			skills: { kind: "named", suggested: ["one"], loaded: ["two", "three"] },
			extensions: { discover: false, paths: ["/a.ts", "/b.ts"] },
			contextFiles: "none",
			apiKey: "sk-test-abc123",
			extraArgs: ["--verbose"],
			timeoutSeconds: 90,
			fallbackModels: ["mock/m2", "m3:low"],
			budget: { tokens: 2_500, cost: 0.5, turns: 3 },
			mayAsk: false,
			output: { type: "array", items: { type: "string" } },
			isolation: "worktree",
			changes: "apply",
			promptMode: "replace",
			translated: [],
		});
	});

	test("An isolation that is none, and what cannot be had yet, makes it unusable [X37]", () => {
		const problem = (line: string) => rejection([line]).problems.map(({ message }) => message);
		assert.deepEqual(problem("isolation: full"), ["isolation must be none or pid-namespace or worktree"]);
		assert.deepEqual(problem("isolation: true"), ["isolation must be text: put quotes around it"]);
		assert.deepEqual(problem("changes: merge"), ["changes must be branch or apply"]);
		assert.deepEqual(problem("network: model"), ["network cannot be limited yet: leave the field out"]);
		assert.deepEqual(problem("Isolation: worktree"), ['unknown field "Isolation": it is called "isolation"']);
	});

	test("A name has only letters, digits, - and _, and its case counts (A123, S19)", () => {
		for (const name of ["Code_Reviewer-2", "__proto__", "0", "-"]) {
			const parsed = parse([`name: "${name}"`]);
			assert.equal(parsed.kind === "definition" && parsed.definition.name, name);
		}
		for (const name of ["../x", "..", "a.", "a b", "a.b", "a/b", "a\uff0fb", "ä", "a\\\\b", "x\\0"]) {
			assert.equal(parse([`name: "${name}"`]).kind, "broken", name);
		}
	});

	test("What has no name is none; a preset needs a description, a file among prompts both (A122, B17, X3)", () => {
		assert.equal(parse(["model: a"]).kind, "broken");
		assert.equal(parse(["name: x"], "", "preset").kind, "broken");
		assert.equal(parse(["name: x"], "", "agent").kind, "other");
		assert.equal(parse(["description: x"], "", "agent").kind, "other");
		assert.equal(parse(["name: x", "description: y"], "", "agent").kind, "definition");
		assert.equal(parseDefinition("just a text", "profile").kind, "other");
	});

	test("Lists are strings with commas or YAML lists, whose items keep their commas (A127)", () => {
		assert.deepEqual(definition(["extraArgs: --a , ,--b"]).extraArgs, ["--a", "--b"]);
		assert.deepEqual(definition(["extraArgs:", "  - a,b", '  - " c "']).extraArgs, ["a,b", " c "]);
	});

	test("Booleans may be written as words (A128)", () => {
		for (const word of ["true", "True", '"true"', "yes", "ON"]) {
			assert.deepEqual(definition([`noTools: ${word}`]).tools, { kind: "none" }, word);
		}
		for (const word of ["false", '"no"', "off", ""]) {
			assert.deepEqual(definition([`noTools: ${word}`]).tools, { kind: "inherit" }, word);
		}
	});

	test("CRLF and a byte order mark change nothing", () => {
		const parsed = parseDefinition("\uFEFF---\r\nname: x\r\ntools: read\r\n---\r\nfirst\r\nsecond\r\n", "profile");
		assert.ok(parsed.kind === "definition");
		assert.equal(parsed.definition.body, "first\nsecond");
		assert.deepEqual(parsed.definition.tools, { kind: "allow", names: ["read"] });
	});
});

describe("X4: six fields are one tool policy", () => {
	test("noTools wins without a word (A130)", () => {
		assert.deepEqual(definition(["noTools: true", "tools: read", "excludeTools: bash"]).tools, { kind: "none" });
	});

	test("approved_tools and allowed_tools are whitelists (C3)", () => {
		for (const field of ["tools", "approved_tools", "allowed_tools"]) {
			assert.deepEqual(definition([`${field}: [read]`]).tools, { kind: "allow", names: ["read"] });
		}
	});

	test("denied_tools counts from the active tools, excludeTools from all (C4, A38)", () => {
		assert.deepEqual(definition(["denied_tools: [bash]"]).tools, { kind: "deny", names: ["bash"], from: "active" });
		assert.deepEqual(definition(["excludeTools: bash"]).tools, { kind: "deny", names: ["bash"], from: "all" });
	});

	test("A whitelist and a blacklist together are refused in these words (A37, C5)", () => {
		assert.deepEqual(rejection(["tools: read", "excludeTools: bash"]), {
			kind: "rejected",
			name: "x",
			problems: [
				{
					line: 5,
					message:
						'Profile "x" has both "tools" (allowlist) and "excludeTools" (blacklist) set. These are mutually exclusive — choose one or the other.',
				},
			],
			contradictory: true,
		});
		const agent = rejection(["approved_tools: [read]", "denied_tools: [bash]"], "agent");
		assert.match(
			agent.problems[0]?.message ?? "",
			/^Agent "x" has both "approved_tools" \(allowlist\) and "denied_tools"/,
		);
	});

	test("Two fields of the same sense, and an empty whitelist, are refused", () => {
		assert.equal(rejection(["tools: read", "approved_tools: bash"]).contradictory, false);
		assert.equal(rejection(["excludeTools: read", "denied_tools: bash"]).contradictory, false);
		assert.equal(rejection(["tools: []"]).contradictory, false);
		assert.match(rejection(["tools: []"]).problems[0]?.message ?? "", /empty "tools"/);
	});

	test("Named skills and noSkills together are refused in these words (A30, A31)", () => {
		assert.equal(
			rejection(["suggestedSkills: a", "noSkills: true"]).problems[0]?.message,
			'Profile "x" has both "suggestedSkills" and "noSkills" set. These are mutually exclusive — --no-skills would override --skill flags.',
		);
		assert.equal(
			rejection(["loadSkills: a", "noSkills: true"]).problems[0]?.message,
			'Profile "x" has both "loadSkills" and "noSkills" set. These are mutually exclusive — --no-skills disables skill discovery.',
		);
	});
});

describe("a mistake names its line", () => {
	const malformed = (lines: readonly string[]) => {
		const parsed = parse(lines);
		assert.ok(parsed.kind === "rejected" && parsed.name === "x", JSON.stringify(parsed));
		assert.equal(parsed.contradictory, false);
		return parsed.problems[0];
	};

	test("YAML that cannot be read", () => {
		assert.deepEqual(malformed(["name: x", "description: Use when: y"]), {
			line: 3,
			message: "Nested mappings are not allowed in compact mappings (put quotes around the value)",
		});
		assert.equal(malformed(["name: x", "model: @a"])?.line, 3);
		assert.equal(malformed(["name: x", "model: `a`"])?.line, 3);
		assert.equal(malformed(["name: x", "model: *"])?.line, 3);
		assert.equal(malformed(["name: x", "tools:", "\t- a"])?.line, 4);
		assert.equal(malformed(["name: x", "", "name: y"])?.line, 4);
		for (const lines of [["- a", "- b"], ["only words"]]) {
			const parsed = parse(lines);
			assert.equal(parsed.kind === "broken" && parsed.problem.line, 2);
		}
	});

	test("In YAML that cannot be read a file still says what it is called, and whether it is described (A122, A123, B17)", () => {
		const kindOf = (kind: DefinitionKind, ...lines: string[]) => parse([...lines, "model: @"], "", kind).kind;
		for (const line of ['name: "x"', "'name' : 'x'", "name: x # who", "name:\tx "]) {
			assert.ok(malformed(["model: @", line]), line);
		}
		for (const line of ["title: x", "  name: x", "name:", "name: a b", "name: a.b", "name: [x", "rename: x"]) {
			assert.equal(kindOf("profile", line), "broken", line);
		}
		for (const line of ["description: Use when: y", "description:\n  long", "description: >\n  long"]) {
			assert.equal(kindOf("preset", "name: x", line), "rejected", line);
			assert.equal(kindOf("agent", "name: x", line), "rejected", line);
			assert.equal(kindOf("agent", "name: a b", line), "broken", line);
			assert.equal(kindOf("agent", line), "other", line);
		}
		for (const line of ["description:", 'description: ""', "description: # later", "title: x"]) {
			assert.equal(kindOf("preset", "name: x", line), "broken", line);
			assert.equal(kindOf("agent", "name: x", line), "other", line);
		}
	});

	test("A value that begins with ! would be a YAML tag, and half of a key's command lost", () => {
		assert.deepEqual(malformed(["name: x", "apiKey: !pass show key"]), {
			line: 3,
			message: 'put quotes around a value that begins with "!"',
		});
		assert.equal(definition(['apiKey: "!pass show key"']).apiKey, "!pass show key");
	});

	test("A frontmatter that never ends", () => {
		const problem = { line: 1, message: 'the frontmatter is never closed: a line "---" is missing' };
		assert.deepEqual(parseDefinition("---\nname: x\n", "profile"), {
			kind: "rejected",
			name: "x",
			problems: [problem],
			contradictory: false,
		});
		assert.deepEqual(parseDefinition("---\nA rule above a text.\n\nname: x\n", "profile"), { kind: "broken", problem });
	});

	test("A field that cannot have its value rejects the definition, by name and line", () => {
		const cases: [string, RegExp][] = [
			["thinkingLevel: hihg", /^thinkingLevel must be one of off, minimal, low, medium, high, xhigh, max$/],
			["noTools: maybe", /^noTools must be true or false$/],
			["tools: {a: b}", /^tools must be a list/],
			["tools: [1]", /^tools must be a list/],
			["timeout: 0", /^timeout must be a number from 1 to 86400$/],
			["timeout: soon", /^timeout must be a number/],
			["maxTokens: -1", /^maxTokens must be a whole number above 0$/],
			["maxTokens: 0", /^maxTokens must be/],
			["maxTurns: 1.5", /^maxTurns must be a whole number above 0$/],
			["maxTurns: many", /^maxTurns must be/],
			["maxCost: -0.5", /^maxCost must be a number above 0$/],
			["max_cost: 1", /^unknown field "max_cost": it is called "maxCost"$/],
			["apiKey: 123456", /^apiKey must be text: put quotes around it$/],
			["model: [a]", /^model must be text$/],
		];
		for (const [line, message] of cases) {
			const { problems, contradictory } = rejection([line]);
			assert.equal(contradictory, false);
			assert.equal(problems[0]?.line, 4, line);
			assert.match(problems[0]?.message ?? "", message);
		}
	});

	test("A restriction that is only misspelled is not lost; fields of other programs are none of ours", () => {
		assert.match(rejection(["Tools: read"]).problems[0]?.message ?? "", /unknown field "Tools": it is called "tools"/);
		assert.match(rejection(["exclude_tools: read"]).problems[0]?.message ?? "", /called "excludeTools"/);
		assert.equal(definition(["color: red", "permissions: [a]"]).name, "x");
	});
});
