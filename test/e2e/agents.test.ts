import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { raw, status, text, toolCalls } from "../rig/model-server.ts";
import { createSetup, finalize, isCompaction, isParent, isReminder, type Plays, success } from "./agent-setup.ts";

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/;
const ID = "00000000-0000-4000-8000-000000000000";
const SUCCESS = (answer: string) => `**Status:** SUCCESS\n**Session ID:** \`<id>\`\n\n---\n\n${answer}`;
/** Looks at everything that is said to the agent, and takes its time. */
const SLOW_INPUT = `
export default (pi) => pi.on("input", async () => {
	await new Promise((resolve) => setTimeout(resolve, 200));
	return { action: "continue" };
});
`;

test("How an agent may end, and that it ends there (C9, C12, C19–C25, X13, X22)", async (t) => {
	const { define, call, requestsOf, server, home } = await createSetup(t);
	define("prompts/scout.md", ["name: scout", "description: finds"], "SCOUT BODY");
	const touch = (name: string) => ({ name: "bash", args: { command: `touch ${name}` } });
	const done = (result: unknown) => ({ name: "subagent_finalize", args: { status: "SUCCESS", result } });
	const plays: Plays = {
		"at once": [success("here it is")],
		silent: [text("one"), text("two"), text("three"), text("four")],
		late: [text("my answer is 7"), text("really"), success("7")],
		invalid: [
			finalize({ status: "SUCCESS", error: "x" }),
			finalize({ status: "ERROR", error: " \n" }),
			finalize({ status: "DONE", result: "x" }),
			success("valid"),
		],
		"never valid": [
			finalize({ status: "SUCCESS", result: "" }),
			finalize({ status: "ERROR", error: "" }),
			toolCalls([done(" "), touch("between")]),
			finalize({ status: "OK" }),
		],
		beside: [toolCalls([touch("before"), done("beside others"), touch("after")])],
		refused: [toolCalls([{ name: "no_such_tool", args: {} }, done("all the same"), { name: "bash", args: {} }])],
		twice: [toolCalls([done(""), done("the first"), done("the second")])],
		number: [toolCalls([done(42), touch("number")])],
		retried: [status(503), success("after a retry")],
		"error first": [text("hm"), status(503), success("after both")],
		broken: [status(400)],
		"broken later": [text("half"), status(401)],
		"gave up": [finalize({ status: "ERROR", error: "no such file", result: "I looked in src" })],
		"gave up alone": [finalize({ status: "ERROR", error: "no\nidea", result: "" })],
	};
	const tasks = Object.keys(plays).map((task) => ({
		agent: "scout",
		task,
		...(task === "refused" && { sessionId: ID }),
	}));
	const [parallel, goneOn] = await call([{ tasks }, { agent: "scout", task: "go on", sessionId: ID }], {
		...plays,
		"go on": [success("gone on")],
	});
	assert.match(goneOn?.text ?? "", /gone on$/);
	const sessions = join(home.root, ".pi", "subagent-sessions"); // a glob would not enter `.pi`
	const made = readdirSync(sessions, { recursive: true, encoding: "utf8" }).map((name) => join(sessions, name));
	assert.ok(made.filter((path) => path.endsWith(".jsonl")).length >= tasks.length - 1, made.join());
	for (const path of made) {
		const stats = statSync(path);
		assert.equal(stats.mode & 0o777, stats.isDirectory() ? 0o700 : 0o600, `X7: ${path}`);
	}
	assert.deepEqual(
		requestsOf("go on")[0]?.messages.map(({ role }) => role),
		["user", "assistant", "tool", "tool", "tool", "user"],
	);
	const blocks = (parallel?.text ?? "")
		.split(/\n\n(?=\[\d+\/15\] )/)
		.map((block) => block.replaceAll(new RegExp(UUID, "g"), "<id>"));
	const failed = (error: string, written = "") =>
		`Error: ${error}\n**Session ID:** \`<id>\` (call the agent again with it to go on)${written && `\n\nWhat it had written:\n\n${written}`}`;
	assert.deepEqual(
		blocks,
		[
			`SUCCESS\n${SUCCESS("here it is")}`,
			`FAILED\n${failed("Sub-agent ended without a valid subagent_finalize call (3 corrections)", "four")}`,
			`SUCCESS\n${SUCCESS("7")}`,
			`SUCCESS\n${SUCCESS("valid")}`,
			`FAILED\n${failed("Sub-agent ended without a valid subagent_finalize call (3 corrections)")}`,
			`SUCCESS\n${SUCCESS("beside others")}`,
			`SUCCESS\n${SUCCESS("all the same").replace("\n\n---", "\n**Session:** new\n\n---")}`,
			`SUCCESS\n${SUCCESS("the first")}`,
			`SUCCESS\n${SUCCESS("42")}`,
			`SUCCESS\n${SUCCESS("after a retry")}`,
			`SUCCESS\n${SUCCESS("after both")}`,
			`FAILED\n${failed('400: {"message":"scripted status 400","type":"scripted"}')}`,
			`FAILED\n${failed('401: {"message":"scripted status 401","type":"scripted"}', "half")}`,
			`ERROR\n${SUCCESS("no such file\n\nI looked in src").replace("SUCCESS", "ERROR")}`,
			`ERROR\n${SUCCESS("no\nidea").replace("SUCCESS", "ERROR")}`,
		].map((block, index) => `[${index + 1}/15] scout: ${block}`),
	);
	assert.equal(parallel?.isError, false);

	// Every reply was asked for once, and nothing after the one that ends.
	for (const [task, replies] of Object.entries(plays)) assert.equal(requestsOf(task).length, replies.length, task);
	for (const name of ["before", "after", "number"]) assert.ok(!existsSync(join(home.project, name)), name);
	const reminders = (task: string) => requestsOf(task).at(-1)?.messages.filter(isReminder).length;
	assert.deepEqual(
		["at once", "silent", "late", "invalid", "error first", "broken later"].map(reminders),
		[0, 3, 2, 0, 1, 1],
	);
	for (const task of ["silent", "late", "invalid"]) {
		assert.equal(new Set(requestsOf(task).map(({ system }) => system)).size, 1, "C25: one system prompt");
		assert.equal(new Set(requestsOf(task).map(({ body }) => JSON.stringify(body.tools))).size, 1);
	}
	const feedback =
		requestsOf("invalid")
			.at(-1)
			?.messages.filter(({ role }) => role === "tool")
			.map(({ text: said }) => said) ?? [];
	assert.match(feedback[0] ?? "", /SUCCESS needs a result/);
	assert.match(feedback[1] ?? "", /ERROR needs an error/);
	assert.match(feedback[2] ?? "", /status/);
	for (const { tools } of server.requests.filter(isParent)) assert.ok(!tools.includes("subagent_finalize"), "C24");
});

test("A reminder waits for pi's own recovery, and is not sent when that leads to an answer (X22)", async (t) => {
	const { define, call, requestsOf, server, home } = await createSetup(t, {
		settings: { compaction: { enabled: true, keepRecentTokens: 1 } },
	});
	define("prompts/scout.md", ["name: scout", "description: finds"], "SCOUT BODY");
	home.write(`${home.agentDir}/extensions/slow.ts`, SLOW_INPUT);
	const look = toolCalls([{ name: "bash", args: { command: "echo found" } }]);
	const full = { input: 127_000, output: 20 };
	const plays: Plays = {
		// Cut off below the model's own limit: pi compacts and asks again.
		"cut off": [look, text("as far as it", { finish: "length" }), success("whole")],
		// The window is full after the answer: pi compacts, and only then there is a reason to remind.
		"filled up": [look, text("not yet", { usage: full }), success("reminded")],
	};
	const [result] = await call([{ tasks: Object.keys(plays).map((task) => ({ agent: "scout", task })) }], plays);
	assert.match(result?.text ?? "", /---\n\nwhole\n\n\[2\/2\] scout: SUCCESS\n[\s\S]*---\n\nreminded$/);
	assert.equal(server.requests.filter(isCompaction).length, 2);
	assert.deepEqual(
		Object.keys(plays).map((task) => requestsOf(task).map(({ messages }) => messages.filter(isReminder).length)),
		[
			[0, 0, 0],
			[0, 0, 1],
		],
	);
});

const REMINDED = `(event) => event.messages.some(({ role, content }) =>
	role === "user" && JSON.stringify(content).includes("You have not finished"))`;
/** Extensions of the definition that end the child, or keep what it is told from it. */
const ENDINGS = {
	leaver: 'pi.on("agent_end", () => process.exit(0));',
	"late-leaver": `const reminded = ${REMINDED};\npi.on("agent_end", (event) => { if (reminded(event)) process.exit(0); });`,
	keeper:
		'pi.on("input", ({ text }) => text.startsWith("You have not") ? { action: "handled" } : { action: "continue" });',
	crasher: 'pi.on("agent_end", () => process.exit(3));',
	victim: 'pi.on("agent_end", () => { process.kill(process.pid, "SIGKILL"); });',
};

test("An agent whose process ended without an answer goes on with its session, corrected three times in all (C22, C25, X22)", async (t) => {
	const { define, call, requestsOf, home, runs } = await createSetup(t);
	for (const [name, body] of Object.entries(ENDINGS)) {
		const path = home.write(`${name}.ts`, `export default (pi) => {\n${body}\n};\n`);
		define(
			`prompts/${name}.md`,
			[
				`name: ${name}`,
				"description: d",
				`extensions: ${JSON.stringify([path])}`,
				"approved_tools: [read]",
				"model: mock-2",
			],
			`BODY OF ${name}`,
		);
	}
	const never = [text("one"), text("two"), text("three"), text("four")];
	const cases: [agent: keyof typeof ENDINGS, task: string, replies: Plays[string], end: RegExp][] = [
		["leaver", "answers at last", [text("hm"), text("well"), success("7")], /SUCCESS\n[\s\S]*---\n\n7$/],
		["leaver", "never answers", never, /Error: .*\(3 corrections\)\n.*Session ID:[\s\S]*four$/],
		["late-leaver", "reminded in both ways", never, /Error: .*\(3 corrections\)\n.*Session ID:[\s\S]*four$/],
		["keeper", "hears nothing", [text("hm"), success("heard")], /SUCCESS\n[\s\S]*---\n\nheard$/],
		["keeper", "breaks later", [text("hm"), status(400)], /Error: 400: .*\n.*Session ID:[\s\S]*hm$/],
		["crasher", "crashes", [text("hm")], /Error: .*exit.* code 3[\s\S]*Session ID:[\s\S]*hm$/],
		["victim", "is killed", [text("hm")], /Error: .*SIGKILL\n.*Session ID:[\s\S]*hm$/],
	];
	const [result] = await call(
		[{ tasks: cases.map(([agent, task]) => ({ agent, task })) }],
		Object.fromEntries(cases.map(([, task, replies]) => [task, replies])),
	);
	const blocks = (result?.text ?? "").split(/\n\n(?=\[\d\/7\] )/);
	for (const [index, [agent, task, replies, end]] of cases.entries()) {
		assert.match(blocks[index] ?? "", end, task);
		const requests = requestsOf(task);
		assert.equal(requests.length, replies.length, task);
		assert.equal(requests.at(-1)?.messages.filter(isReminder).length, replies.length - 1, task);
		for (const request of requests) {
			assert.deepEqual([request.tools, request.model], [["read", "subagent_finalize"], "mock-2"]);
			assert.ok(request.system.startsWith(`BODY OF ${agent}`));
			assert.equal(request.system, requests[0]?.system, "C25: one system prompt");
		}
		const events = readFileSync(join(runs().get(task)?.directory ?? "", "events.jsonl"), "utf8");
		const starts = { leaver: replies.length, "late-leaver": 3, keeper: replies.length, crasher: 1, victim: 1 };
		assert.equal(events.split('"type":"started"').length - 1, starts[agent], task);
	}
});

test("An answer that the output limit cut in the middle of its call is none, and is corrected (C20, X13, X22)", async (t) => {
	const { define, call, requestsOf } = await createSetup(t);
	define("prompts/scout.md", ["name: scout", "description: finds"], "SCOUT BODY");
	const chunk = (delta: object, finish_reason: string | null) =>
		`data: ${JSON.stringify({ id: "cut", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })}\n`;
	const cutCall = (args: string) => {
		const call = {
			index: 0,
			id: "call_cut",
			type: "function",
			function: { name: "subagent_finalize", arguments: args },
		};
		return raw([chunk({ role: "assistant", tool_calls: [call] }, null), chunk({}, "length"), "data: [DONE]\n"]);
	};
	const half = cutCall('{"status":"SUCCESS","result":"half of the ans');
	const plays: Plays = {
		"cut once": [half, success("all of it")],
		"always cut": [half, half, half, half],
		"cut before it says anything": [cutCall('{"stat'), success("all of it")],
	};
	const [result] = await call([{ tasks: Object.keys(plays).map((task) => ({ agent: "scout", task })) }], plays);
	const [once, always, early] = (result?.text ?? "").split(/\n\n(?=\[\d\/3\] )/);
	assert.match(once ?? "", /SUCCESS\n[\s\S]*---\n\nall of it$/);
	assert.match(always ?? "", /FAILED\nError: .*\(3 corrections\)/);
	assert.match(early ?? "", /SUCCESS\n[\s\S]*---\n\nall of it$/);
	for (const [task, replies] of Object.entries(plays)) assert.equal(requestsOf(task).length, replies.length, task);
});
