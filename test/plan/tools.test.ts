import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type OwnPolicy, planTools, type SessionTools, type ToolRequest } from "../../src/plan/tools.ts";

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

function plan(policy: OwnPolicy, changes: Partial<ToolRequest> = {}, session: Partial<SessionTools> = {}) {
	let asked = 0;
	const request: ToolRequest = {
		policy,
		unrestricted: "defaults",
		hasOthers: { extensions: false, cwd: false },
		internal: [],
		mcp: "none",
		...changes,
	};
	const result = planTools(request, () => {
		asked++;
		return { all: ALL, active: ACTIVE, indirect: [], ...session };
	});
	return { ...result, asked };
}
const value = (policy: OwnPolicy, changes: Partial<ToolRequest> = {}, session: Partial<SessionTools> = {}) => {
	const result = plan(policy, changes, session);
	assert.ok(result.ok, JSON.stringify(result));
	return result.value;
};
const error = (policy: OwnPolicy, changes: Partial<ToolRequest> = {}) => {
	const result = plan(policy, changes);
	assert.ok(!result.ok);
	return result.error;
};

const NONE = { kind: "has", names: [] };

describe("a tool policy", () => {
	test("No policy gives no flag, and nothing is asked of pi (B19, A38)", () => {
		const result = plan({ kind: "inherit" });
		assert.deepEqual(result, { ok: true, value: { args: [], names: undefined, demand: NONE }, asked: 0 });
	});

	test("An agent without tool fields gets the parent's active tools, without ours (C6, X6)", () => {
		assert.deepEqual(value({ kind: "inherit" }, { unrestricted: "active", internal: ["subagent_finalize"] }), {
			args: ["--tools", "read,bash,edit,write,web,subagent_finalize"],
			names: ["read", "bash", "edit", "write", "web"],
			demand: NONE,
		});
	});

	test("No tools at all, but those of the contract (A130, C27)", () => {
		assert.deepEqual(value({ kind: "none" }).args, ["--no-tools"]);
		assert.deepEqual(value({ kind: "none" }, { internal: ["subagent_finalize"] }).args, [
			"--tools",
			"subagent_finalize",
		]);
	});

	test("A whitelist is passed on, and the child must have what it names (A129, C3)", () => {
		assert.deepEqual(value({ kind: "allow", names: ["read", "grep", "web", "read"] }), {
			args: ["--tools", "read,grep,web"],
			names: ["read", "grep", "web"],
			demand: { kind: "has", names: ["read", "grep", "web"] },
		});
	});

	test("A name that nobody knows, or in another case, is an error before the spawn (X4)", () => {
		assert.equal(
			error({ kind: "allow", names: ["Read", "grep", "wbe"] }),
			'Unknown tools: "Read", "wbe". Available tools: read, grep, find, bash, powershell, edit, write, ls, web',
		);
		assert.match(error({ kind: "deny", names: ["Bash"], from: "all" }), /^Unknown tools: "Bash"/);
		assert.match(error({ kind: "deny", names: ["Bash"], from: "active" }), /^Unknown tools: "Bash"/);
	});

	test("With own extensions or in another directory only the child can tell (X4)", () => {
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

	test("No child can have the tools that start children (C7)", () => {
		assert.match(error({ kind: "allow", names: ["read", "subagent"] }), /^No sub-agent can have the tools "subagent"/);
	});

	test("excludeTools is taken from all tools, also inactive ones, without ours, and powershell goes with bash (A38, W14)", () => {
		assert.deepEqual(value({ kind: "deny", names: ["write", "edit", "bash"], from: "all" }), {
			args: ["--tools", "read,grep,find,ls,web"],
			names: ["read", "grep", "find", "ls", "web"],
			demand: NONE,
		});
	});

	test("denied_tools is taken from the active ones (C4)", () => {
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

	test("What is excluded is excluded from the tools of its own extensions too, and those stay", () => {
		const hasOthers = { extensions: true, cwd: false };
		assert.deepEqual(value({ kind: "deny", names: ["bash", "theirs"], from: "all" }, { hasOthers }), {
			args: ["--exclude-tools", "bash,powershell"],
			names: undefined,
			demand: { kind: "has-all-but", names: ["theirs"] },
		});
		const elsewhere = { extensions: false, cwd: true };
		assert.deepEqual(value({ kind: "deny", names: ["theirs"], from: "all" }, { hasOthers: elsewhere }).demand, {
			kind: "has-all-but",
			names: ["theirs"],
		});
	});

	test("What the contract needs cannot be excluded (C27, W33)", () => {
		const changes = { hasOthers: { extensions: true, cwd: false }, internal: ["subagent_finalize"] };
		const args = (names: readonly string[]) => value({ kind: "deny", names, from: "all" }, changes).args;
		assert.deepEqual(args(["bash", "subagent_finalize"]), ["--exclude-tools", "bash,powershell"]);
		assert.deepEqual(args(["subagent_finalize"]), []);
	});
});

describe("a tool policy where pi has MCP servers and codemode", () => {
	const MCP = { all: [...ALL, "codemode", "tool_search", "mcp__s__direct", "mcp__s__scripted"] };
	const INDIRECT = ["codemode", "tool_search", "mcp__s__scripted"];
	const session = { ...MCP, active: [...ACTIVE, "codemode", "mcp__s__direct"], indirect: INDIRECT };
	const plain = { ...MCP, active: ACTIVE, indirect: INDIRECT };
	const mcp = { mcp: "switchable" } as const;
	const args = (policy: OwnPolicy, changes: Partial<ToolRequest> = mcp, tools: Partial<SessionTools> = session) =>
		value(policy, changes, tools).args;

	test("An allowlist without MCP tools excludes them all, and no server starts", () => {
		const policy: OwnPolicy = { kind: "allow", names: ["read", "codemode"] };
		assert.deepEqual(args(policy), ["--tools", "read,codemode", "--exclude-tools", "mcp__*", "--no-mcp"]);
		assert.deepEqual(args(policy, { mcp: "always on" }), ["--tools", "read,codemode", "--exclude-tools", "mcp__*"]);
		assert.deepEqual(args({ kind: "allow", names: ["read"] }, { mcp: "none" }), ["--tools", "read"]);
		assert.deepEqual(args({ kind: "none" }), ["--no-tools", "--no-mcp"]);
	});

	test("An allowlist that names an MCP tool has codemode where only a script may be able to call the tool", () => {
		assert.deepEqual(args({ kind: "allow", names: ["read", "mcp__s__direct"] }), ["--tools", "read,mcp__s__direct"]);
		for (const name of ["mcp__s__scripted", "mcp__s__*", "mcp__connecting__t", "mcp__connecting__*"]) {
			assert.deepEqual(args({ kind: "allow", names: [name] }), ["--tools", `${name},codemode`]);
			assert.deepEqual(args({ kind: "allow", names: [name, "codemode"] }), ["--tools", `${name},codemode`]);
			assert.deepEqual(args({ kind: "allow", names: [name, "tool_search"] }), ["--tools", `${name},tool_search`]);
		}
		const { demand } = value({ kind: "allow", names: ["mcp__s__*"] }, mcp, session);
		assert.deepEqual(demand, { kind: "has", names: ["mcp__s__*"] });
	});

	test("A pattern stands for the tools that there are, and one that matches none is unknown", () => {
		assert.deepEqual(value({ kind: "allow", names: ["w*"] }, mcp, session).names, ["write", "web"]);
		assert.equal(plan({ kind: "allow", names: ["xyz*"] }, mcp, session).ok, false);
		assert.deepEqual(value({ kind: "deny", names: ["w*"], from: "active" }, {}, {}).names, ["read", "bash", "edit"]);
	});

	test("Denied MCP tools are excluded by pi too, and never unknown", () => {
		const deny = (names: readonly string[], from: "all" | "active" = "active"): OwnPolicy => ({
			kind: "deny",
			names,
			from,
		});
		assert.deepEqual(args(deny(["mcp__s__scripted", "mcp__unknown__t"])), [
			...["--tools", "read,bash,edit,write,web,codemode,mcp__s__direct,mcp__*"],
			...["--exclude-tools", "mcp__s__scripted,mcp__unknown__t"],
		]);
		assert.deepEqual(args(deny(["mcp__s__*"])), [
			...["--tools", "read,bash,edit,write,web,codemode,mcp__*", "--exclude-tools"],
			"mcp__s__*,list_mcp_resources,list_mcp_resource_templates,read_mcp_resource",
		]);
		const closed = ["--exclude-tools", "mcp__*", "--no-mcp"];
		assert.deepEqual(args(deny(["mcp__*"])), ["--tools", "read,bash,edit,write,web,codemode", ...closed]);
		assert.deepEqual(args(deny(["codemode", "mcp__s__direct"])), ["--tools", "read,bash,edit,write,web", ...closed]);
		const hasOthers = { extensions: true, cwd: false };
		assert.deepEqual(value(deny(["mcp__s__x", "theirs"], "all"), { ...mcp, hasOthers }, session), {
			args: ["--exclude-tools", "mcp__s__x"],
			names: undefined,
			demand: { kind: "has-all-but", names: ["theirs"] },
		});
	});

	test("excludeTools hands over no tool that the session has not active and pi does not declare by itself [A38]", () => {
		const policy: OwnPolicy = { kind: "deny", names: ["bash", "powershell"], from: "all" };
		assert.deepEqual(value(policy, mcp, plain).names, [
			...["read", "edit", "write", "grep", "find", "ls", "web", "mcp__s__direct"],
		]);
		assert.ok(value(policy, mcp, session).names?.includes("codemode"));
	});

	test("An agent without tool fields reaches the MCP tools that its session reaches [C6]", () => {
		const inherit: OwnPolicy = { kind: "inherit" };
		const active = { ...mcp, unrestricted: "active" } as const;
		assert.deepEqual(args(inherit, active), ["--tools", "read,bash,edit,write,web,codemode,mcp__s__direct,mcp__*"]);
		assert.deepEqual(args(inherit, active, plain), [
			...["--tools", "read,bash,edit,write,web", "--exclude-tools", "mcp__*", "--no-mcp"],
		]);
		assert.deepEqual(args(inherit), []);
	});
});
