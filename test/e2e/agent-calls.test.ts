import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { startDelegation, type ToolOutcome } from "../rig/delegation.ts";
import { type ScriptedCall, status } from "../rig/model-server.ts";
import { createSetup, finalize, isParent, success } from "./agent-setup.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));
const OWN_TOOL = `
export default (pi) => pi.registerTool({
	name: "own_tool", label: "own", description: "its own", parameters: { type: "object", properties: {} },
	execute: async () => ({ content: [], details: {} }),
});
`;

test("The tools and the prompt that an agent really gets (C3–C7, C26, C27, X3, X4, X6)", async (t) => {
	const { define, call, requestsOf, home, runs, server } = await createSetup(t);
	const own = home.write("own-tool.ts", OWN_TOOL);
	const agent = (name: string, ...fields: string[]) =>
		define(`prompts/${name}.md`, [`name: ${name}`, "description: d", ...fields], `BODY OF ${name}`);
	agent("approved", "approved_tools:", "  - read", "  - grep");
	agent("allowed", "allowed_tools: [ls]");
	agent("denied", "denied_tools: [bash, subagent, subagent_finalize]");
	agent("plain");
	agent("none", "noTools: true");
	agent("owner", `extensions: ${own}`, "excludeTools: [bash, subagent_finalize]");
	agent("wilful", "extraArgs: [--tools, read]");
	agent("greedy", "approved_tools: [read, subagent]");
	agent("both", "approved_tools: [read]", "denied_tools: [bash]");
	define("agent-profiles/profile.md", ["name: profile", "tools: read"], "BODY OF profile");
	define("subagents/preset.md", ["name: preset", "description: d", "model: mock-2"], "BODY OF preset");

	const names = [
		"approved",
		"allowed",
		"denied",
		"plain",
		"none",
		"owner",
		"wilful",
		"greedy",
		"profile",
		"preset",
		"nobody",
	];
	const [result, contradictory] = await call(
		[
			{ tasks: names.map((name) => ({ agent: name, task: `as ${name}` })) },
			{
				tasks: [
					{ agent: "plain", task: "must not run" },
					{ agent: "both", task: "must not run" },
				],
			},
		],
		Object.fromEntries(names.map((name) => [`as ${name}`, [success(`done by ${name}`)]])),
	);
	const toolsOf = (name: string) => requestsOf(`as ${name}`).flatMap(({ tools }) => tools);
	// In which order the tools of an extension come is pi's own business, and differs between versions.
	const inOrder = (name: string) => (name === "owner" ? toolsOf(name).toSorted() : toolsOf(name));
	assert.deepEqual(Object.fromEntries(names.map((name) => [name, inOrder(name)])), {
		approved: ["read", "grep", "subagent_finalize"],
		allowed: ["ls", "subagent_finalize"],
		denied: ["read", "edit", "write", "subagent_finalize"],
		plain: ["read", "bash", "edit", "write", "subagent_finalize"],
		none: ["subagent_finalize"],
		owner: ["edit", "find", "grep", "ls", "own_tool", "read", "subagent_finalize", "write"],
		wilful: [],
		greedy: [],
		profile: ["read", "subagent_finalize"],
		preset: ["read", "bash", "edit", "write", "subagent_finalize"],
		nobody: [],
	});
	const blocks = (result?.text ?? "").split(/\n\n(?=\[\d+\/11\] )/);
	assert.match(blocks[6] ?? "", /^\[7\/11\] wilful: FAILED\nError: Refusing extraArg "--tools" which would override/);
	assert.match(blocks[7] ?? "", /^\[8\/11\] greedy: FAILED\nError: No sub-agent can have the tools "subagent"/);
	assert.equal(
		blocks[10],
		'[11/11] nobody: FAILED\nError: Unknown agent: "nobody". Available agents: greedy, none, allowed, approved, denied, owner, plain, preset, profile, wilful',
	);
	for (const name of names.filter((each) => toolsOf(each).length > 0)) {
		const [request] = requestsOf(`as ${name}`);
		const appended = name === "preset";
		assert.equal(request?.system.startsWith(`BODY OF ${name}`), !appended, name);
		assert.ok(request?.system.includes(`BODY OF ${name}`), name);
		assert.equal(request?.model, appended ? "mock-2" : "mock-1");
		const args = runs().get(`as ${name}`)?.spec.invocation.args ?? [];
		assert.deepEqual(args.slice(1, 5), ["--mode", "json", "-p", "--session"]);
		assert.ok(!args.some((arg) => arg.includes(`as ${name}`)), "C28: no task in the arguments");
	}
	assert.equal(contradictory?.isError, true);
	assert.match(contradictory?.text ?? "", /both "approved_tools" \(allowlist\) and "denied_tools" \(blacklist\)/);
	assert.equal(requestsOf("must not run").length, 0, "C5");
	for (const { tools } of server.requests.filter(isParent)) assert.ok(!tools.includes("subagent_finalize"), "C24");
});

test("What a call returns, and what the other tools know of it (C9–C12, X2, X8, X13, X14)", async (t) => {
	const { define, call } = await createSetup(t);
	define("prompts/scout.md", ["name: scout", "description: finds"], "SCOUT BODY");
	const read = (tool: string, sessionId: string) => ({ tool, sessionId });
	const long = "x".repeat(60_000);
	const results = await call(
		[
			{ agent: "scout", task: "a new session" },
			{ agent: "scout", task: "cannot", sessionId: "kept-1" },
			{ agent: "scout", task: "breaks", sessionId: "kept-2" },
			read("get_subagent_output", "kept-1"),
			read("get_subagent_session", "kept-1"),
			read("get_subagent_output", "kept-2"),
			{ tool: "delegate_to_subagents", tasks: [{ name: "a", prompt: "b", resume: "kept-1" }] },
			{ agent: "scout", task: "long", sessionId: "kept-1" },
			read("get_subagent_output", "kept-1"),
			{ agent: "scout", task: "x", sessionId: "../../etc" },
		],
		{
			"a new session": [success("one\ntwo")],
			cannot: [finalize({ status: "ERROR", error: "no way", result: "a part" })],
			breaks: [status(400)],
			long: [success(long)],
		},
	);
	const detailsOf = (outcome: ToolOutcome | undefined) => (outcome?.details ?? {}) as Record<string, unknown>;
	const [fresh, cannot, breaks, output, transcript, nothing, resume, cut, whole, traversal] = results;
	const { sessionId, finalized } = detailsOf(fresh);
	assert.match(String(sessionId), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
	assert.deepEqual(finalized, { status: "SUCCESS", result: "one\ntwo" });
	assert.equal(fresh?.text, `**Status:** SUCCESS\n**Session ID:** \`${sessionId}\`\n\n---\n\none\ntwo`);
	assert.match(JSON.stringify(fresh?.usage), /"input":100,/);

	assert.equal(cannot?.isError, false, "C12: ERROR is an answer");
	assert.equal(
		cannot?.text,
		"**Status:** ERROR\n**Session ID:** `kept-1`\n**Session:** new\n\n---\n\nno way\n\na part",
	);
	assert.deepEqual(detailsOf(cannot).finalized, {
		status: "ERROR",
		error: "no way",
		result: "a part",
	});
	assert.equal(breaks?.isError, true);
	assert.match(
		breaks?.text ?? "",
		/^Error: 400: .*\n\*\*Session ID:\*\* `kept-2` \(call the agent again with it to go on\)\n\*\*Session:\*\* new$/,
	);
	assert.equal(detailsOf(breaks).sessionId, "kept-2");

	assert.equal(output?.text, "no way\n\na part");
	assert.equal(detailsOf(output).status, "completed");
	assert.match(transcript?.text ?? "", /^cannot\n→ subagent_finalize: .*\n\[tool result\]: Done\.$/);
	assert.equal(detailsOf(nothing).status, "error");
	assert.equal(resume?.isError, true);
	assert.match(resume?.text ?? "", /^Cannot resume: session "kept-1" not found\./);

	assert.ok((cut?.text.length ?? 0) < 52_000);
	assert.match(
		cut?.text ?? "",
		/\[cut after \d+ characters; get_subagent_output with sessionId "kept-1" and offset \d+ reads on\]$/,
	);
	assert.equal(whole?.text, long);
	assert.equal(traversal?.isError, true);
	assert.match(traversal?.text ?? "", /^"\.\.\/\.\.\/etc" is not a session id: /);
});

test("After a restart of the parent, what an agent's session says can be read, and the session goes on (X8, X9)", async (t) => {
	const { define, home, server } = await createSetup(t);
	define("prompts/scout.md", ["name: scout", "description: finds"], "SCOUT BODY");
	const parent = async (...calls: ScriptedCall[]) => {
		const { results, stderr } = await startDelegation(home, server, {
			extension: EXTENSION,
			isParent,
			rounds: calls.map((each) => [each]),
			child: ({ lastUser }) =>
				lastUser === "cannot"
					? finalize({ status: "ERROR", error: "no way", result: "a part" })
					: success(`did ${lastUser}`),
			pi: { args: ["--session", join(home.root, "session.jsonl")], timeoutMs: 100_000 },
		}).done;
		assert.deepEqual([stderr, server.scriptErrors], ["", []]);
		return results;
	};
	const ask = (task: string, sessionId: string) => ({ name: "subagent", args: { agent: "scout", task, sessionId } });
	const read = (tool: string, sessionId: string) => ({ name: tool, args: { sessionId } });
	const reading = ["kept-1", "kept-2"].flatMap((id) => [
		read("get_subagent_output", id),
		read("get_subagent_session", id),
	]);
	const before = await parent(ask("first", "kept-1"), ask("second", "kept-1"), ask("cannot", "kept-2"), ...reading);
	const after = await parent(...reading, ask("third", "kept-1"), read("get_subagent_output", "kept-1"));
	assert.deepEqual(
		after.slice(0, 4).map(({ text: said, isError, details }) => ({ said, isError, details })),
		before.slice(3).map(({ text: said, isError, details }) => ({ said, isError, details })),
	);
	const [output, transcript, refusal, refused] = after.map(({ text: said }) => said);
	assert.equal(output, "did second");
	assert.match(
		transcript ?? "",
		/^=== Run 1\/2 \(completed\) ===\nfirst\n[\s\S]*=== Run 2\/2 \(completed\) ===\nsecond\n/,
	);
	assert.equal(refusal, "no way\n\na part");
	assert.match(refused ?? "", /^cannot\n→ subagent_finalize: /);
	assert.equal(after.at(-1)?.text, "did third");
	const [third] = server.requests.filter(({ lastUser, tools }) => lastUser === "third" && !tools.includes("subagent"));
	assert.deepEqual(
		third?.messages.filter(({ role }) => role === "user").map(({ text: said }) => said),
		["first", "second", "third"],
	);
});

test("An agent ends with a question, and its answer goes on in the same session; mayAsk: false refuses the question", async (t) => {
	const { define, call, requestsOf } = await createSetup(t);
	define("prompts/asker.md", ["name: asker", "description: d"], "You ask.");
	define("prompts/silent.md", ["name: silent", "description: d", "mayAsk: false"], "You answer.");
	const sessionId = "question-1";
	const question = finalize({ status: "QUESTION", question: "Which of the two?" });
	const [asked, answered, refused] = await call(
		[
			{ agent: "asker", task: "choose", sessionId },
			{ agent: "asker", task: "the second", sessionId },
			{ agent: "silent", task: "choose too" },
		],
		{ choose: [question], "the second": [success("took the second")], "choose too": [question, success("took one")] },
	);
	assert.equal(
		asked?.text,
		`**Status:** QUESTION\n**Session ID:** \`${sessionId}\`\n**Session:** new\n\n---\n\nWhich of the two?\n\nTo answer, make the same call with sessionId "${sessionId}" and your answer as task.`,
	);
	assert.equal(asked?.isError, false);
	assert.deepEqual((asked?.details as { finalized: unknown } | undefined)?.finalized, {
		status: "QUESTION",
		question: "Which of the two?",
	});
	assert.match(answered?.text ?? "", /took the second$/);
	assert.match(refused?.text ?? "", /took one$/);
	assert.equal(requestsOf("choose").length, 1);
	const silent = requestsOf("choose too");
	assert.match(silent[1]?.messages.at(-1)?.text ?? "", /nobody answers questions here/);
	assert.ok(!JSON.stringify(silent[0]?.body.tools).includes("QUESTION"));
});
