import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { RunSpec } from "../../src/domain/spec.ts";
import { delegate, type ToolOutcome } from "../rig/delegation.ts";
import { createHome, type Home } from "../rig/home.ts";
import { type ModelRequest, type ModelServer, startModelServer, text } from "../rig/model-server.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));
const OWN_TOOL = `
export default (pi) => {
	pi.on("session_start", () => pi.registerTool({
		name: "own_tool", label: "own", description: "its own", parameters: { type: "object", properties: {} },
		execute: async () => ({ content: [], details: {} }),
	}));
};
`;

let server: ModelServer;
let home: Home;

before(async () => {
	server = await startModelServer();
	const pilot = {
		id: "pilot-1",
		name: "Pilot",
		input: ["text"],
		contextWindow: 10_000,
		maxTokens: 1_000,
		reasoning: false,
	};
	home = createHome(server, {
		providers: {
			"github-copilot": {
				baseUrl: server.url,
				api: "openai-completions",
				apiKey: "copilot-key-123456",
				models: [pilot],
			},
		},
		settings: { skills: ["../more-skills"] },
	});
	const skill = (name: string) => `---\nname: ${name}\ndescription: all about ${name}\n---\n\nThe lore of ${name}.\n`;
	home.write(`${home.root}/more-skills/alpha/SKILL.md`, skill("alpha"));
	home.write(`${home.root}/.agents/skills/beta/SKILL.md`, skill("beta"));
	home.write("AGENTS.md", "CONTEXT OF THE PROJECT");
});

after(async () => {
	await server.close();
	home.dispose();
});

const profile = (name: string, lines: readonly string[], body = "") =>
	home.write(`${home.agentDir}/agent-profiles/${name}.md`, `---\nname: ${name}\n${lines.join("\n")}\n---\n${body}`);
const lineOf = ({ text: all }: ToolOutcome, task: string) =>
	all.split("\n").find((line) => line.includes(` ${task}: `)) ?? "";
const requestOf = (requests: readonly ModelRequest[], task: string): ModelRequest => {
	const found = requests.find(({ lastUser }) => lastUser === task);
	assert.ok(found, `no request of ${task}`);
	return found;
};
/** What each run of the home was started with, by task. */
const specs = (): Map<string, RunSpec> => {
	const runs = join(home.project, ".pi", "subagents", "runs");
	const names = readdirSync(runs).filter((name) => name !== ".gitignore");
	return new Map(
		names.map((name) => {
			const spec = JSON.parse(readFileSync(join(runs, name, "meta.json"), "utf8")) as RunSpec;
			return [spec.label, spec];
		}),
	);
};

describe("a definition, by what its child really got", () => {
	test("Every field, of every kind, in one call (X3, X4, X5, X10, X25)", async () => {
		home.write("own-tool.ts", OWN_TOOL);
		profile(
			"full",
			[
				"model: MOCK-2",
				"thinkingLevel: high",
				"tools: [read, grep]",
				"loadSkills: alpha",
				"suggestedSkills: beta",
				"noContextFiles: true",
				"noExtensions: yes",
				'appendSystemPrompt: "Appended: README.md"',
				"extraArgs: --verbose, --no-themes",
				"timeout: 77",
			],
			"own-tool.ts\n",
		);
		profile("readonly", ["excludeTools: bash, edit, write"], "READONLY BODY");
		profile("bare", ["noTools: true", "noSkills: true", "model: mock/mock-2:low"]);
		profile("owner", [`extensions: ${home.project}/own-tool.ts`, "approved_tools: [read, own_tool]"]);
		profile("wanting", [`extensions: ${home.project}/own-tool.ts`, "tools: read, no_such_tool"]);
		profile("typo", ["tools: Read"]);
		profile("nomodel", ["model: mock-9"]);
		profile("noskill", ["loadSkills: gamma"]);
		profile("pilot", ["model: github-copilot/pilot-1"]);
		home.write(".pi/subagents/brief.md", "---\nname: brief\ndescription: short\n---\nPRESET BODY");
		home.write(".pi/subagents/greedy.md", "---\nname: greedy\ndescription: d\nextraArgs: --verbose\n---\n");
		home.write(`${home.agentDir}/prompts/scout.md`, "---\nname: scout\ndescription: finds\n---\nAGENT BODY");
		const names = [
			"full",
			"readonly",
			"bare",
			"owner",
			"wanting",
			"typo",
			"nomodel",
			"noskill",
			"pilot",
			"brief",
			"greedy",
			"scout",
			"nobody",
		];
		const { result, childRequests, stderr } = await delegate(home, server, {
			extension: EXTENSION,
			args: {
				profile: "scout",
				tasks: names
					.map((name) => ({ name, prompt: name, profile: name }))
					.map((task) => (task.name === "scout" ? { name: task.name, prompt: task.prompt } : task)),
			},
			child: ({ lastUser }) => text(`answer to ${lastUser}`),
			pi: { timeoutMs: 90_000 },
		});
		const line = (task: string) => lineOf(result, task);
		const of = (task: string) => requestOf(childRequests, task);

		// full: a profile that says everything
		const full = of("full");
		assert.equal(full.model, "mock-2");
		assert.equal(full.reasoningEffort, "high");
		assert.deepEqual(full.tools, ["read", "grep"]);
		// A135 W10: a body that is the name of a file is still a text
		assert.match(
			full.system,
			/^own-tool\.ts\n\n<addendum>\nAppended: README\.md\n\n<loaded_skill name="alpha">\nThe lore of alpha\.\n<\/loaded_skill>/,
		);
		assert.ok(full.system.includes("all about beta"));
		assert.ok(!full.system.includes("CONTEXT OF THE PROJECT"));
		assert.match(line("full"), /^✓ full: completed \(session: [0-9a-f]{16}\) \(profile: full, mock\/mock-2 high\)$/);
		const spec = specs().get("full");
		assert.ok(spec?.agent);
		assert.equal(spec.limits.timeoutMs, 77_000);
		assert.deepEqual(spec.agent.tools, ["read", "grep"]);
		assert.deepEqual([spec.agent.name, spec.agent.scope, spec.agent.requestedModel], ["full", "global", "MOCK-2"]);
		assert.equal(spec.agent.systemPrompt, "own-tool.ts");
		assert.deepEqual(spec.invocation.args.slice(-2), ["--verbose", "--no-themes"]);
		for (const flag of ["--no-extensions", "--no-context-files", "--skill"])
			assert.ok(spec.invocation.args.includes(flag), flag);
		const promptFile = spec.agent.systemPromptPath ?? "";
		assert.equal(readFileSync(promptFile, "utf8"), "own-tool.ts");
		assert.equal(statSync(promptFile).mode & 0o777, 0o600);
		assert.ok(!spec.invocation.args.some((arg) => arg.includes("Appended")));

		// tools
		assert.deepEqual(of("readonly").tools.toSorted(), ["find", "grep", "ls", "read"]);
		assert.deepEqual(of("bare").tools, []);
		assert.equal(of("bare").reasoningEffort, "low");
		assert.deepEqual(of("owner").tools, ["read", "own_tool"]);
		assert.match(line("wanting"), /^✗ wanting: error — .*Unknown tools: "no_such_tool"\. The sub-agent has: read/);
		assert.match(line("typo"), /^✗ typo: error — Unknown tools: "Read"\. Available tools: read, grep, find, bash/);

		// kinds: a preset is added to pi's prompt, an agent replaces it
		assert.match(of("brief").system, /PRESET BODY/);
		assert.ok(of("brief").system.indexOf("PRESET BODY") > 100);
		assert.match(of("scout").system, /^AGENT BODY/);
		assert.equal(of("scout").model, "mock-1");
		assert.match(
			line("greedy"),
			/^✗ greedy: error — The project's "greedy" sets extraArgs, which only a trusted project may \(trust it with/,
		);

		// models, skills, names
		assert.match(
			line("nomodel"),
			/^✗ nomodel: error — Unknown model: "mock-9"\. Similar models: mock\/mock-1, mock\/mock-2, /,
		);
		assert.match(line("noskill"), /^✗ noskill: error — Unknown skills: "gamma"\. Available skills: .*alpha/);
		assert.match(
			line("nobody"),
			/^✗ nobody: error — Unknown profile: "nobody"\. Available profiles: (?:\w+, ){3}bare, brief, full, /,
		);
		assert.equal(of("pilot").headers["x-initiator"], "agent");
		assert.equal(of("full").headers["x-initiator"], undefined);
		for (const task of ["wanting", "typo", "nomodel", "noskill", "greedy", "nobody"]) {
			assert.ok(!childRequests.some(({ lastUser }) => lastUser === task), task);
		}
		assert.equal(stderr, "");
	});

	test("What is excluded beside own extensions is taken from all tools, and a name that nobody knows ends the run (X4, W14)", async () => {
		home.write("own-tool.ts", OWN_TOOL);
		const extensions = `extensions: ${home.project}/own-tool.ts`;
		profile("most", [extensions, "excludeTools: write, bash"]);
		profile("builtin", [extensions, "excludeTools: own_tool"]);
		profile("misspelt", [extensions, "excludeTools: bsah"]);
		const { result, childRequests } = await delegate(home, server, {
			extension: EXTENSION,
			args: { tasks: ["most", "builtin", "misspelt"].map((name) => ({ name, prompt: name, profile: name })) },
			child: () => text("done"),
		});
		const toolsOf = (task: string) => requestOf(childRequests, task).tools.toSorted();
		assert.deepEqual(toolsOf("most"), ["edit", "find", "grep", "ls", "own_tool", "read"]);
		assert.deepEqual(toolsOf("builtin"), ["bash", "edit", "find", "grep", "ls", "powershell", "read", "write"]);
		assert.match(lineOf(result, "misspelt"), /^✗ misspelt: error — .*Unknown tools: "bsah"\. The sub-agent has: read,/);
		assert.ok(!childRequests.some(({ lastUser }) => lastUser === "misspelt"));
	});

	test("What a child's own extension has to do before it goes is done (X6)", async () => {
		const mark = join(home.root, "last-deed");
		home.write(
			"last-deed.ts",
			`import { writeFileSync } from "node:fs";
			const deed = () => setTimeout(() => writeFileSync(${JSON.stringify(mark)}, "done"), 50);
			export default () => void process.once("beforeExit", deed);\n`,
		);
		profile("tidy", [`extensions: ${home.project}/last-deed.ts`]);
		const { result } = await delegate(home, server, {
			extension: EXTENSION,
			args: { tasks: [{ name: "tidy", prompt: "tidy", profile: "tidy" }] },
			child: () => text("done"),
		});
		assert.match(lineOf(result, "tidy"), /^✓ tidy: completed/);
		assert.equal(readFileSync(mark, "utf8"), "done");
	});

	test("A child whose own extension has it go on after it had settled is waited for (X13, B44)", async () => {
		home.write(
			"once-more.ts",
			`let asked = false;
			export default (pi) => pi.on("agent_settled", () => {
				if (asked) return;
				asked = true;
				pi.sendUserMessage("once more");
			});\n`,
		);
		home.write(
			`${home.agentDir}/subagents/again.md`,
			`---\nname: again\ndescription: d\nmodel: mock-1\nextensions: ${home.project}/once-more.ts\n---\n`,
		);
		const { result } = await delegate(home, server, {
			extension: EXTENSION,
			tool: "subagent",
			args: { preset: "again", task: "go" },
			child: ({ lastUser }) => (lastUser === "once more" ? text("second", { delayMs: 1_500 }) : text("first")),
		});
		assert.deepEqual([result.text, result.isError], ["second", false]);
	});

	test("A parent without skills knows those that a profile names all the same (A33, A34)", async () => {
		profile("skilled", ["loadSkills: delta"]);
		const skill = "---\nname: delta\ndescription: all about delta\n---\n\nThe lore of delta.\n";
		home.write(`${home.agentDir}/skills/delta/SKILL.md`, skill);
		const { result, childRequests } = await delegate(home, server, {
			extension: EXTENSION,
			args: { tasks: [{ name: "lore", prompt: "lore", profile: "skilled" }] },
			child: () => text("known"),
			pi: { args: ["--no-skills"] },
		});
		assert.match(lineOf(result, "lore"), /^✓ lore: completed/);
		assert.ok(requestOf(childRequests, "lore").system.includes("The lore of delta."));
	});

	test("A definition that cannot be used fails its own task, and the others run", async () => {
		profile("hollow", ["tools: []"]);
		const { result } = await delegate(home, server, {
			extension: EXTENSION,
			args: {
				tasks: [
					{ name: "fine", prompt: "fine" },
					{ name: "hollow", prompt: "hollow", profile: "hollow" },
				],
			},
			child: () => text("answered"),
		});
		assert.match(lineOf(result, "fine"), /^✓ fine: completed/);
		assert.match(lineOf(result, "hollow"), /^✗ hollow: error — The profile "hollow" cannot be used: .* empty "tools"/);
	});

	test("The list shows what there is and what is wrong, and a contradiction refuses the whole call (A30, A105, X12)", async () => {
		profile("torn", ["suggestedSkills: alpha", "noSkills: true"]);
		profile("broken", ["description: Use when: x"]);
		home.write(".pi/agent-profiles/full.md", "---\nname: full\nmodel: mock-1\n---\nOURS");
		const { results, childRequests, stderr } = await delegate(home, server, {
			extension: EXTENSION,
			rounds: [
				[{ name: "list_subagent_profiles", args: {} }],
				[
					{
						name: "delegate_to_subagents",
						args: {
							tasks: [
								{ name: "a", prompt: "a" },
								{ name: "b", prompt: "b", profile: "torn" },
							],
						},
					},
				],
			],
			child: () => text("never"),
		});
		const [list, call] = results;
		assert.ok(list && call);
		const { count, profiles } = list.details as { count: number; profiles: Record<string, string> };
		assert.equal(count, Object.keys(profiles).length);
		assert.equal(profiles.full, 'full [project profile, hides a global one] · mock-1 · "OURS"');
		assert.equal(
			profiles.brief,
			'brief [project preset] · no model: a call as preset must name one · short · "PRESET BODY"',
		);
		assert.ok(list.text.startsWith(`${Object.values(profiles).join("\n")}\n\nProblems:\n`));
		assert.match(list.text, /broken\.md:3: Nested mappings are not allowed/);
		assert.equal(call.isError, true);
		assert.equal(
			call.text,
			'Profile "torn" has both "suggestedSkills" and "noSkills" set. These are mutually exclusive — --no-skills would override --skill flags.',
		);
		assert.deepEqual(childRequests, []);
		assert.match(stderr, /^pi-subagents: Agent definitions: .*broken\.md:3: .* \(and 2 more: see \/profile list\)\n$/);
	});
});
