import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ToolPolicy } from "../../src/domain/definition.ts";
import { planTools, type ToolRequest } from "../../src/plan/tools.ts";

const ALL = [
	"read",
	"bash",
	"powershell",
	"edit",
	"write",
	"grep",
	"find",
	"ls",
	"web",
	"subagent",
	"delegate_to_subagents",
];
const ACTIVE = ["read", "bash", "edit", "write", "web", "delegate_to_subagents"];

function plan(policy: ToolPolicy, changes: Partial<ToolRequest> = {}) {
	let asked = 0;
	const request: ToolRequest = {
		policy,
		unrestricted: "defaults",
		hasOthers: { extensions: false, cwd: false },
		internal: [],
		...changes,
	};
	const result = planTools(request, () => {
		asked++;
		return { all: ALL, active: ACTIVE };
	});
	return { ...result, asked };
}
const value = (policy: ToolPolicy, changes: Partial<ToolRequest> = {}) => {
	const result = plan(policy, changes);
	assert.ok(result.ok, JSON.stringify(result));
	return result.value;
};
const error = (policy: ToolPolicy, changes: Partial<ToolRequest> = {}) => {
	const result = plan(policy, changes);
	assert.ok(!result.ok);
	return result.error;
};

const NONE = { kind: "has", names: [] };

describe("a tool policy", () => {
	test("B19 A38: no policy gives no flag, and nothing is asked of pi", () => {
		const result = plan({ kind: "inherit" });
		assert.deepEqual(result, { ok: true, value: { args: [], names: undefined, demand: NONE }, asked: 0 });
	});

	test("C6 X6: an agent without tool fields gets the parent's active tools, without ours", () => {
		assert.deepEqual(value({ kind: "inherit" }, { unrestricted: "active", internal: ["subagent_finalize"] }), {
			args: ["--tools", "read,bash,edit,write,web,subagent_finalize"],
			names: ["read", "bash", "edit", "write", "web"],
			demand: NONE,
		});
	});

	test("A130 C27: no tools at all, but those of the contract", () => {
		assert.deepEqual(value({ kind: "none" }).args, ["--no-tools"]);
		assert.deepEqual(value({ kind: "none" }, { internal: ["subagent_finalize"] }).args, [
			"--tools",
			"subagent_finalize",
		]);
	});

	test("A129 C3: a whitelist is passed on, and the child must have what it names", () => {
		assert.deepEqual(value({ kind: "allow", names: ["read", "grep", "web", "read"] }), {
			args: ["--tools", "read,grep,web"],
			names: ["read", "grep", "web"],
			demand: { kind: "has", names: ["read", "grep", "web"] },
		});
	});

	test("X4: a name that nobody knows, or in another case, is an error before the spawn", () => {
		assert.equal(
			error({ kind: "allow", names: ["Read", "grep", "wbe"] }),
			'Unknown tools: "Read", "wbe". Available tools: read, bash, powershell, edit, write, grep, find, ls, web',
		);
		assert.match(error({ kind: "deny", names: ["Bash"], from: "all" }), /^Unknown tools: "Bash"/);
		assert.match(error({ kind: "deny", names: ["Bash"], from: "active" }), /^Unknown tools: "Bash"/);
	});

	test("X4: with own extensions or in another directory only the child can tell", () => {
		for (const hasOthers of [
			{ extensions: true, cwd: false },
			{ extensions: false, cwd: true },
		]) {
			assert.deepEqual(value({ kind: "allow", names: ["theirs"] }, { hasOthers }).demand, {
				kind: "has",
				names: ["theirs"],
			});
		}
	});

	test("C7: no child can have the tools that start children", () => {
		assert.match(error({ kind: "allow", names: ["read", "subagent"] }), /^No sub-agent can have the tools "subagent"/);
	});

	test("A38 W14: excludeTools is taken from all tools, also inactive ones, without ours", () => {
		assert.deepEqual(value({ kind: "deny", names: ["write", "edit", "bash"], from: "all" }), {
			args: ["--tools", "read,powershell,grep,find,ls,web"],
			names: ["read", "powershell", "grep", "find", "ls", "web"],
			demand: NONE,
		});
	});

	test("C4: denied_tools is taken from the active ones", () => {
		assert.deepEqual(value({ kind: "deny", names: ["bash", "subagent"], from: "active" }).names, [
			"read",
			"edit",
			"write",
			"web",
		]);
		assert.deepEqual(value({ kind: "deny", names: ["read", "bash", "edit", "write", "web"], from: "active" }).args, [
			"--no-tools",
		]);
	});

	test("what is excluded is excluded from the tools of its own extensions too, and those stay", () => {
		const hasOthers = { extensions: true, cwd: false };
		assert.deepEqual(value({ kind: "deny", names: ["bash", "theirs"], from: "all" }, { hasOthers }), {
			args: ["--exclude-tools", "bash"],
			names: undefined,
			demand: { kind: "has-all-but", names: ["theirs"] },
		});
		const elsewhere = { extensions: false, cwd: true };
		assert.deepEqual(value({ kind: "deny", names: ["theirs"], from: "all" }, { hasOthers: elsewhere }).demand, {
			kind: "has-all-but",
			names: ["theirs"],
		});
	});

	test("C27 W33: what the contract needs cannot be excluded", () => {
		const changes = { hasOthers: { extensions: true, cwd: false }, internal: ["subagent_finalize"] };
		const args = (names: readonly string[]) => value({ kind: "deny", names, from: "all" }, changes).args;
		assert.deepEqual(args(["bash", "subagent_finalize"]), ["--exclude-tools", "bash"]);
		assert.deepEqual(args(["subagent_finalize"]), []);
	});
});
