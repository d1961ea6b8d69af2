import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Catalog } from "../../src/definitions/catalog.ts";
import { parseDefinition } from "../../src/definitions/parse.ts";
import type { AgentDefinition, DefinitionKind, Origin } from "../../src/domain/definition.ts";
import { type AgentRequest, planAgent, type Surroundings } from "../../src/plan/agent.ts";
import { checkExtraArguments } from "../../src/plan/extra-arguments.ts";

let base: string;
before(() => {
	base = mkdtempSync(join(tmpdir(), "pi-plan-"));
	writeFileSync(join(base, "extension.ts"), "");
	for (const [name, text] of Object.entries({
		web: "---\nname: web\ndescription: d\n---\n\n# Web\n\nSearch.\n",
		odd: "---\ndescription: Use when: odd\n---\nOdd body",
	})) {
		mkdirSync(join(base, name));
		writeFileSync(join(base, name, "SKILL.md"), text);
	}
});
after(() => rmSync(base, { recursive: true, force: true }));

const empty: Catalog = {
	entries: new Map(),
	ignored: new Set(),
	diagnostics: [],
	warnings: [],
};

function definition(lines: readonly string[], body = "", origin: Partial<Origin> = {}): AgentDefinition {
	const kind = (origin.kind ?? "profile") as DefinitionKind;
	const parsed = parseDefinition(`---\nname: x\ndescription: d\n${lines.join("\n")}\n---\n${body}`, kind);
	assert.ok(parsed.kind === "definition", JSON.stringify(parsed));
	const path = join(base, "x.md");
	return {
		...parsed.definition,
		origin: { kind, scope: "global", path, base, trust: "trusted", shadows: false, ...origin },
	};
}

const ACME = { provider: "acme", id: "one", name: "One" };

interface Asked {
	skills: number;
	tools: number;
	models: string[];
}

function surroundings(asked: Asked): Surroundings {
	const models = [{ provider: "anthropic", id: "claude-sonnet-4-5", name: "Sonnet" }];
	return {
		catalog: empty,
		mcp: "none",
		tools() {
			asked.tools++;
			return { all: ["read", "bash", "grep"], active: ["read", "bash"], indirect: [] };
		},
		skills() {
			asked.skills++;
			return ["web", "odd", "gone"].map((name) => ({ name, path: join(base, name, "SKILL.md") }));
		},
		models(which) {
			asked.models.push(which);
			if (which === "usable") return models;
			const scopedOut = { provider: "other", id: "o-1", name: "O" };
			return which === "keyed" ? [...models, scopedOut] : [...models, scopedOut, ACME];
		},
	};
}

async function plan(defined: AgentDefinition | undefined, changes: Partial<AgentRequest> = {}) {
	const asked: Asked = { skills: 0, tools: 0, models: [] };
	const request: AgentRequest = {
		word: "profile",
		definition: defined,
		model: undefined,
		sessionModel: undefined,
		inheritedModel: { provider: "mock", id: "mock-1", thinking: "off" },
		elsewhere: false,
		internalTools: [],
		...changes,
	};
	return { result: await planAgent(request, surroundings(asked)), asked };
}
async function planned(defined: AgentDefinition | undefined, changes: Partial<AgentRequest> = {}) {
	const { result } = await plan(defined, changes);
	assert.ok(result.ok, JSON.stringify(result));
	return result.value;
}
async function refused(defined: AgentDefinition, changes: Partial<AgentRequest> = {}): Promise<string> {
	const { result } = await plan(defined, changes);
	assert.ok(!result.ok, JSON.stringify(result));
	return result.error;
}
const INHERITED = ["--provider", "mock", "--model", "mock-1", "--thinking", "off"];

describe("what a definition comes to", () => {
	test("The reviewer, with its prompt in a file and its key apart (A133)", async () => {
		const reviewer = definition(
			[
				"provider: anthropic",
				"model: claude-sonnet-4-5",
				"thinkingLevel: high",
				"tools: read,bash,grep",
				"noExtensions: true",
				"apiKey: sk-test-abc123",
				"extraArgs: --verbose",
			],
			"You are a code reviewer.",
		);
		const { args, files, apiKey, agent } = await planned(reviewer);
		assert.deepEqual(args, [
			...["--provider", "anthropic", "--model", "claude-sonnet-4-5", "--thinking", "high"],
			...["--system-prompt", "{run-directory}/system-prompt.md"],
			...["--tools", "read,bash,grep", "--no-extensions", "--verbose"],
		]);
		assert.deepEqual(files, [{ name: "system-prompt.md", text: "You are a code reviewer." }]);
		assert.deepEqual(apiKey, { provider: "anthropic", key: "sk-test-abc123" });
		assert.ok(!JSON.stringify({ args, files, agent }).includes("sk-test"));
	});

	test("What a run's meta.json says about its definition (B39)", async () => {
		const { agent } = await planned(
			definition(["tools: read", "model: sonnet"], "Be brief.", { kind: "preset", scope: "project", shadows: true }),
			{
				word: "preset",
			},
		);
		assert.deepEqual(agent, {
			name: "x",
			word: "preset",
			kind: "preset",
			scope: "project",
			path: join(base, "x.md"),
			shadows: true,
			requestedModel: "sonnet",
			tools: ["read"],
			systemPrompt: "Be brief.",
			systemPromptPath: "{run-directory}/system-prompt.md",
		});
	});

	test("A task without a definition asks nothing and gets the parent's model (A26, A33, A38)", async () => {
		const { result, asked } = await plan(undefined);
		assert.deepEqual(result.ok && result.value.args, INHERITED);
		assert.deepEqual(asked, { skills: 0, tools: 0, models: [] });
	});

	test("An empty body gives no flag; the body of a preset is added, not put in the place of pi's (A124, X3)", async () => {
		assert.deepEqual((await planned(definition([]))).args, INHERITED);
		const preset = await planned(
			definition(["model: sonnet", "appendSystemPrompt: and kind"], "Be brief.", { kind: "preset" }),
		);
		assert.deepEqual(preset.args.slice(-2), ["--append-system-prompt", "{run-directory}/system-prompt.md"]);
		assert.deepEqual(preset.files, [{ name: "system-prompt.md", text: "Be brief.\n\nand kind" }]);
	});

	test("Loaded skills follow the appended text, without their frontmatter; suggested ones are flags (A131)", async () => {
		const { args, files } = await planned(
			definition(["appendSystemPrompt: First.", "loadSkills: [web, odd]", "suggestedSkills: web"], "Body."),
		);
		assert.deepEqual(args, [
			...INHERITED,
			...["--system-prompt", "{run-directory}/system-prompt.md"],
			...["--append-system-prompt", "{run-directory}/append-system-prompt.md"],
			...["--skill", join(base, "web", "SKILL.md")],
		]);
		assert.deepEqual(files[1], {
			name: "append-system-prompt.md",
			text: 'First.\n\n<loaded_skill name="web">\n# Web\n\nSearch.\n</loaded_skill>\n\n<loaded_skill name="odd">\nOdd body\n</loaded_skill>',
		});
	});

	test("Unknown skills are named, with what there is; one that cannot be read is told (A36)", async () => {
		assert.equal(
			await refused(definition(["suggestedSkills: bad", "loadSkills: worse"])),
			'Unknown skills: "bad", "worse". Available skills: odd, web, gone',
		);
		assert.match(await refused(definition(["loadSkills: gone"])), /^The skill "gone" could not be read: /);
	});

	test("The flags that switch things off (A128)", async () => {
		const off = definition(["noTools: true", "noExtensions: true", "noSkills: true", "noContextFiles: true"]);
		assert.deepEqual((await planned(off)).args, [
			...INHERITED,
			...["--no-tools", "--no-extensions", "--no-skills", "--no-context-files"],
		]);
	});

	test("Extensions start from where the definition belongs; packages are for pi to find (A129)", async () => {
		const { args } = await planned(definition(["extensions: [extension.ts, npm:some-extension]"]));
		assert.deepEqual(args.slice(-4), ["--extension", join(base, "extension.ts"), "--extension", "npm:some-extension"]);
		assert.equal(
			await refused(definition(["extensions: nope.ts"])),
			`Extension does not exist: ${join(base, "nope.ts")}`,
		);
	});

	test("An agent call names its child's tools, so no argument may name others (C27, A138)", async () => {
		const wilful = definition(["extraArgs: [--tools, read]"]);
		assert.match(await refused(wilful, { word: "agent" }), /^Refusing extraArg "--tools" which would override/);
		assert.deepEqual((await planned(wilful)).args, [...INHERITED, "--tools", "read"]);
	});

	test("With its own key a definition may use a model that pi has no key for (X10)", async () => {
		const own = await plan(definition(["model: acme/one", "apiKey: sk-acme-123456"]));
		assert.deepEqual(own.asked.models, ["all"]);
		assert.deepEqual(own.result.ok && own.result.value.apiKey, { provider: "acme", key: "sk-acme-123456" });
		assert.match(
			await refused(definition(["model: acme/one"])),
			/^Unknown model: "acme\/one"\. Available models: anthropic.*\. pi knows acme\/one, but has no key for acme: use \/login, or set the provider's key$/,
		);
	});

	test("A model that only the session's scope leaves out is not said to lack a key (X10)", async () => {
		assert.match(
			await refused(definition(["model: other/o-1"])),
			/pi knows other\/o-1, but this session's scoped models leave it out \(\/scoped-models\)$/,
		);
	});

	test("A definition's key never goes to another provider than its own, whatever model a call asks for (X28)", async () => {
		const own = definition(["model: acme/one", "apiKey: sk-acme-123456"]);
		assert.equal(
			await refused(own, { model: "anthropic/claude-sonnet-4-5" }),
			'The apiKey of "x" is for acme: it is not used for anthropic/claude-sonnet-4-5',
		);
		const nobodys = definition(["apiKey: sk-acme-123456"]);
		assert.equal(
			await refused(nobodys, { model: "anthropic/claude-sonnet-4-5" }),
			'"x" has an apiKey, but neither a model nor a provider to use it for',
		);
		assert.deepEqual((await planned(own, { model: "acme/one" })).apiKey, { provider: "acme", key: "sk-acme-123456" });
	});

	test("A key with nobody to give it to, or that cannot be had, fails without telling it", async () => {
		const lost = await refused(definition(["apiKey: sk-lost-123456"]), { inheritedModel: undefined });
		assert.equal(lost, '"x" has an apiKey, but neither a model nor a provider to use it for');
		assert.equal(
			await refused(definition(["apiKey: $PI_NO_SUCH_VARIABLE"])),
			'"x" cannot be used: its apiKey refers to $PI_NO_SUCH_VARIABLE, which is not set',
		);
	});

	test("X12 case 3, S05: far-reaching fields of a project that nobody decided about are refused, with how to trust", async () => {
		const unasked = { scope: "project", trust: "unasked" } as const;
		const marker = join(base, "was-run");
		const far = definition(
			[`apiKey: "!touch ${marker}; echo k"`, "extraArgs: --verbose", "extensions: extension.ts"],
			"",
			unasked,
		);
		assert.equal(
			await refused(far),
			`The project's "x" sets extensions, extraArgs, apiKey, which only a trusted project may (trust it with /trust, or start pi with --approve)`,
		);
		assert.throws(() => rmSync(marker), { code: "ENOENT" });
		assert.ok(await planned(definition(["tools: read"], "Body", unasked)));
	});
});

describe("extraArgs", () => {
	const check = (arg: string, restricts = false) => {
		const result = checkExtraArguments([arg], restricts);
		return result.ok ? "passes" : result.error;
	};

	test("Null bytes and what looks like shell is refused in these words (A136, A137)", () => {
		assert.equal(check("test\0arg"), "Invalid extraArg: contains null byte");
		for (const arg of ["| ls", "&& rm", "a || b", "; ls", "> file", "a<b", "`whoami`", "$HOME", "!x", "\\x", " x"]) {
			assert.equal(check(arg), `Refusing extraArg: potentially unsafe argument '${arg}...'`);
		}
		assert.equal(check("arg$(whoami)"), "passes");
	});

	test("What would undo a tool restriction is refused while there is one (A138, A139, S06)", () => {
		for (const arg of [
			"--tools",
			"-t",
			"--no-tools",
			"-nt",
			"--tools=read",
			"-xt",
			"--exclude-tools",
			"-nbt",
			"--no-builtin-tools=1",
		]) {
			assert.equal(
				check(arg, true),
				`Refusing extraArg "${arg}" which would override profile tool restrictions. Use the dedicated profile fields instead.`,
			);
			assert.equal(check(arg), "passes");
		}
	});

	test("Keys, trust, code, models and prompts never go this way, and no value is told (W15, S06)", () => {
		assert.equal(
			check("--api-key=sk-secret-1"),
			'Refusing extraArg "--api-key": a key would be visible to everybody; use "apiKey".',
		);
		for (const arg of [
			"--approve",
			"-a",
			"-e",
			"--extension",
			"--model",
			"--system-prompt",
			"-p",
			"--mode",
			"--",
			"@file",
		]) {
			assert.match(check(arg), /^Refusing extraArg/, arg);
		}
		for (const arg of ["--verbose", "--offline", "--no-themes", "--my-flag", "value"])
			assert.equal(check(arg), "passes");
	});
});
