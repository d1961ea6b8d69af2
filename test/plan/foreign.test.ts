import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ModelChoice, ToolPolicy } from "../../src/domain/definition.ts";
import { leftOutTools, ownPolicy } from "../../src/plan/foreign-tools.ts";
import { planModel } from "../../src/plan/model.ts";

const TOOLS = {
	all: ["read", "bash", "edit", "write", "grep", "web_search", "mcp__github__search", "mcp__github__drop", "subagent"],
	active: ["read", "bash", "edit", "write", "web_search"],
	indirect: [],
};
const own = (policy: ToolPolicy) => ownPolicy(policy, () => TOOLS);

describe("tools of foreign files", () => {
	test("What the session does not have is left out, names in any case and patterns are found", () => {
		const names = ["read", "WEB_Search", "TodoWrite", "mcp__github__*", "mcp__gone__x"];
		const policy = { kind: "allow-known", names, but: ["mcp__github__drop"] } as const;
		const result = own(policy);
		assert.ok(result.ok && result.value.kind === "allow");
		assert.deepEqual([...result.value.names].sort(), ["mcp__github__search", "read", "web_search"]);
		assert.deepEqual(
			leftOutTools(policy, () => TOOLS),
			["TodoWrite", "mcp__gone__x"],
		);
	});

	test("Where nothing is left the definition cannot be called", () => {
		const result = own({ kind: "allow-known", names: ["WebSearch", "subagent"], but: [] });
		assert.equal(result.ok ? "" : result.error, "none of its tools is there: WebSearch, subagent");
	});

	test("What is denied need not be there, but a tool of a server that is not connected yet stays denied", () => {
		assert.deepEqual(own({ kind: "deny-known", names: ["Bash", "nobody", "mcp__later__x"] }), {
			ok: true,
			value: { kind: "deny", names: ["bash", "mcp__later__x"], from: "active" },
		});
	});
});

const model = (name: string) => {
	const [provider = "", ...id] = name.split("/");
	return { provider, id: id.join("/"), name };
};
const chosen = (name: string | undefined, models: readonly string[], sessionProvider = "other", thinking?: "high") => {
	const choice: ModelChoice = { rule: "foreign", provider: undefined, name, thinking };
	const session = { provider: sessionProvider, id: "current", thinking: "low" };
	const request = { asked: undefined, choice, inherited: undefined, session, mustBeNamed: true };
	const plan = planModel(request, () => models.map(model));
	return plan.ok ? `${plan.value.model?.provider}/${plan.value.model?.id}` : plan.error;
};

describe("models of foreign files", () => {
	test("None is the session's, which counts as named for a preset too, with its level or the file's", () => {
		assert.equal(chosen(undefined, []), "other/current");
	});

	test("A line is its highest version, then its latest date", () => {
		const models = [
			"a/claude-3-7-sonnet-20250219",
			"a/claude-sonnet-4-20250514",
			"a/claude-sonnet-4-5",
			"a/claude-opus-5",
		];
		assert.equal(chosen("sonnet", models), "a/claude-sonnet-4-5");
		assert.equal(chosen("Sonnet", models.slice(0, 2)), "a/claude-sonnet-4-20250514");
		assert.equal(chosen("opus", models), "a/claude-opus-5");
		assert.equal(chosen("sonnet", ["a/x-sonnet-4-20250101", "a/x-sonnet-4-20250601"]), "a/x-sonnet-4-20250601");
		assert.equal(chosen("sonnet", ["a/x-sonnet-10", "a/x-sonnet-9-5"]), "a/x-sonnet-10");
		assert.match(chosen("haiku", models), /^Unknown model: "haiku"/);
	});

	test("Of one version the session's provider comes first, then pi's order; an alias and its dated id are one", () => {
		const models = ["a/claude-sonnet-4-5-20250929", "b/claude-sonnet-4.5", "c/claude-sonnet-4-5"];
		assert.equal(chosen("sonnet", models, "b"), "b/claude-sonnet-4.5");
		assert.equal(chosen("sonnet", models, "c"), "c/claude-sonnet-4-5");
		assert.equal(chosen("sonnet", models), "a/claude-sonnet-4-5-20250929");
		assert.equal(chosen("sonnet", [...models, "d/claude-sonnet-5"], "b"), "d/claude-sonnet-5");
	});

	test("A full id is that model, with or without its date, and never another", () => {
		const models = ["a/claude-sonnet-4-20250514", "a/claude-sonnet-4-5", "a/claude-sonnet-4-5-20250929"];
		assert.equal(chosen("claude-sonnet-4", models), "a/claude-sonnet-4-20250514");
		assert.equal(chosen("a/claude-sonnet-4.5", models), "a/claude-sonnet-4-5-20250929");
		assert.equal(chosen("claude-sonnet-4-5", models), "a/claude-sonnet-4-5");
		assert.match(chosen("b/claude-sonnet-4-5", models), /^Unknown model: "b\/claude-sonnet-4-5"/);
		assert.match(chosen("claude-opus-4-1-20250805", models), /^Unknown model/);
		assert.equal(chosen("a/sonnet", ["b/claude-sonnet-9", ...models]), "a/claude-sonnet-4-5");
	});

	test("A level goes with it", () => {
		const choice: ModelChoice = { rule: "foreign", provider: undefined, name: "opus:high", thinking: undefined };
		const request = { asked: undefined, choice, inherited: undefined, session: undefined, mustBeNamed: false };
		const plan = planModel(request, () => [model("a/claude-opus-4-1")]);
		assert.deepEqual(plan.ok && plan.value.model, { provider: "a", id: "claude-opus-4-1", thinking: "high" });
	});
});
