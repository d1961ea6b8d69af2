import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { hang, type ModelRequest, text, toolCall } from "../rig/model-server.ts";
import { PI_IS_1 } from "../rig/pi.ts";
import { waitGone, waitNoneWithEnv } from "../rig/processes.ts";
import { createSetup, isParent, isReminder, type Plays, type Setup, success, taskOf } from "./agent-setup.ts";

const ROUNDS = 20;
const scout = (setup: Setup, ...fields: string[]) =>
	setup.define("prompts/scout.md", ["name: scout", "description: finds", ...fields], "SCOUT BODY");
const sessionFile = ({ home }: Setup, cwd: string, name: string) => {
	const hash = createHash("sha256").update(cwd).digest("hex").slice(0, 16);
	return join(home.root, ".pi", "subagent-sessions", hash, name);
};

test("Twenty calls go on with one session and pay for what is new; any other identity is fresh (C11, C14, C15, X9, X23)", async (t) => {
	const setup = await createSetup(t);
	const { home, define, call, requestsOf } = setup;
	scout(setup, "approved_tools: [read]", "model: mock-2", "thinkingLevel: high");
	define("prompts/other.md", ["name: other", "description: d"], "OTHER BODY");
	const elsewhere = join(home.root, "elsewhere");
	mkdirSync(elsewhere);
	symlinkSync(home.project, join(home.root, "link"));
	const tasks = Array.from({ length: ROUNDS }, (_, round) => `round ${round}`);
	const plays: Record<string, Plays[string]> = Object.fromEntries(
		tasks.map((task, round) => [task, round === 3 ? [text("hm"), success("late")] : [success(`answer of ${task}`)]]),
	);
	const fresh = ["another agent", "another cwd", "another id", "the same through a link"];
	for (const task of fresh) plays[task] = [success(task)];
	await call(
		[
			...tasks.map((task) => ({ agent: "scout", task, sessionId: "same" })),
			{
				tasks: [
					{ agent: "other", task: "another agent", sessionId: "same" },
					{ agent: "scout", task: "another cwd", sessionId: "same", cwd: elsewhere },
					{ agent: "scout", task: "another id", sessionId: "same2" },
				],
			},
			{ agent: "scout", task: "the same through a link", sessionId: "same", cwd: join(home.root, "link") },
		],
		plays,
	);

	const requests = [...tasks, "the same through a link"].flatMap(requestsOf);
	assert.equal(requests.length, ROUNDS + 2);
	for (const [index, request] of requests.entries()) {
		const { messages, system, tools, model, reasoningEffort } = request;
		const before: ModelRequest | undefined = requests[index - 1];
		assert.deepEqual([tools, model, reasoningEffort], [["read", "subagent_finalize"], "mock-2", "high"]);
		assert.equal(system, requests[0]?.system);
		if (!before) continue;
		const grown = messages.slice(before.messages.length);
		assert.deepEqual(messages.slice(0, before.messages.length), before.messages, `request ${index} says what was said`);
		const reminded = grown.some(isReminder);
		assert.deepEqual(
			grown.map(({ role }) => role),
			reminded ? ["assistant", "user"] : ["assistant", "tool", "user"],
		);
	}
	assert.equal(requests.at(-1)?.messages.filter(isReminder).length, 1);
	const asked = requests.at(-1)?.messages.filter((message) => message.role === "user" && !isReminder(message));
	assert.deepEqual(
		asked?.map((message) => message.text),
		[...tasks, "the same through a link"],
	);
	for (const task of fresh.slice(0, 3)) {
		assert.deepEqual(
			requestsOf(task).map(({ messages }) => messages.length),
			[1],
			task,
		);
	}

	const directory = join(home.root, ".pi", "subagent-sessions");
	const files = readdirSync(directory).flatMap((name) =>
		readdirSync(join(directory, name)).map((file) => `${name}/${file}`),
	);
	const relative = (cwd: string, name: string) => sessionFile(setup, cwd, name).slice(directory.length + 1);
	assert.deepEqual(
		files.sort(),
		[
			relative(home.project, "scout_same.jsonl"),
			relative(home.project, "scout_same2.jsonl"),
			relative(home.project, "other_same.jsonl"),
			relative(elsewhere, "scout_same.jsonl"),
		].sort(),
		"and no lock is left",
	);
});

/** The processes of the latest run of a task. */
async function pidsOf(setup: Setup, task: string): Promise<{ supervisor: number; pi: number; runId: string }> {
	await setup.server.waitForRequest((request) => !isParent(request) && taskOf(request) === task);
	const run = setup.runs().get(task);
	assert.ok(run);
	const started = readFileSync(join(run.directory, "events.jsonl"), "utf8")
		.split("\n")
		.find((line) => line.includes('"started"'));
	const { supervisorPid: supervisor, pid: pi } = JSON.parse(started ?? "").event;
	return { supervisor, pi, runId: run.spec.runId };
}

test("One writer at a time, whoever is killed in whatever phase, and the session goes on (C17, C23, C29, X23, W32, F54)", async (t) => {
	const setup = await createSetup(t);
	const { call, start, requestsOf, server } = setup;
	scout(setup);
	const on = (task: string) => ({ agent: "scout", task, sessionId: "one" });

	// The parent is killed before the model has said anything: pi 0.87 has written nothing by then.
	const first = start([on("first")], { first: [hang()] });
	const killed = await pidsOf(setup, "first");
	const [refused] = await call([on("meanwhile")], {});
	assert.equal(refused?.text, `Error: The session is in use by run ${killed.runId}`);
	assert.equal(refused?.isError, true);
	assert.equal(requestsOf("meanwhile").length, 0);
	first.parent.kill("SIGKILL");
	await waitNoneWithEnv("PI_SUBAGENTS_RUN_ID", killed.runId);
	await waitGone(killed.supervisor);

	// Then, with one parent that lives on: pi while it streams, the supervisor during a tool call.
	const bash = toolCall("bash", { command: "sleep 300" }, { text: "I wait." });
	const rounds = start([on("second"), on("third"), on("fourth"), on("fifth")], {
		second: [success("from the start")],
		third: [hang({ text: "half an ans" })],
		fourth: [bash],
		fifth: [success("the end")],
	});
	const streaming = await pidsOf(setup, "third");
	await rounds.parent.waitForEvent((event) => JSON.stringify(event).includes("half an ans"));
	process.kill(streaming.pi, "SIGKILL");
	const calling = await pidsOf(setup, "fourth");
	await rounds.parent.waitForEvent(
		(event) => event.type === "tool_execution_update" && JSON.stringify(event).includes("sleep 300"),
		20_000,
	);
	process.kill(calling.supervisor, "SIGKILL");
	const results = (await rounds.done).results.map(({ text: said, isError }) => [isError, said.split("\n")[0]]);
	assert.deepEqual(server.scriptErrors, []);
	assert.deepEqual(results, [
		[false, "**Status:** SUCCESS"],
		[true, "Error: Sub-agent process was killed by SIGKILL"],
		[true, "Error: Sub-agent was lost: the process that watched over it ended unexpectedly"],
		[false, "**Status:** SUCCESS"],
	]);
	const users = ({ messages }: ModelRequest) =>
		messages.filter(({ role }) => role === "user").map((message) => message.text);
	const [last] = requestsOf("fifth");
	assert.ok(last);
	// pi 1.x writes what was asked before the model has said anything.
	const asked = [...(PI_IS_1 ? ["first"] : []), "second", "third", "fourth", "fifth"];
	assert.deepEqual(users(last), asked);
	const call4 = last.messages.findIndex(({ toolCalls }) => toolCalls.some(({ name }) => name === "bash"));
	assert.equal(last.messages[call4 + 1]?.role, "tool", "the call that was cut off has a result");

	// A line that was cut off in the middle of a write.
	const file = sessionFile(setup, setup.home.project, "scout_one.jsonl");
	appendFileSync(file, '{"type":"message","id":"dead');
	const [torn] = await call([on("sixth")], { sixth: [success("whole again")] });
	assert.match(torn?.text ?? "", /whole again$/);
	assert.deepEqual(users(requestsOf("sixth")[0] as ModelRequest), [...asked, "sixth"]);

	// Parent and supervisor at once.
	const both = start([on("both")], { both: [hang({ text: "so far" })] });
	const { supervisor } = await pidsOf(setup, "both");
	both.parent.kill("SIGKILL");
	process.kill(supervisor, "SIGKILL");
	const [afterBoth] = await call([on("after both")], { "after both": [success("still here")] });
	assert.match(afterBoth?.text ?? "", /still here$/);

	// A session that says that it belongs to a directory that is gone.
	const [header = "", ...entries] = readFileSync(file, "utf8").split("\n");
	writeFileSync(file, [JSON.stringify({ ...JSON.parse(header), cwd: "/no/such/directory" }), ...entries].join("\n"));
	const [gone] = await call([on("seventh")], {});
	assert.equal(gone?.isError, true);
	assert.match(gone?.text ?? "", /^Error: .*Stored session working directory does not exist: \/no\/such\/directory/s);
	assert.match(gone?.text ?? "", /\*\*Session ID:\*\* `one`/);
	assert.ok(!readdirSync(join(file, "..")).some((name) => name.includes("lock")) && existsSync(file));
});

test("A call with a session id says whether the session goes on, or is new and whose the id was [C11, C15, X38]", async (t) => {
	const setup = await createSetup(t);
	const { home, define, call } = setup;
	scout(setup);
	define("prompts/other.md", ["name: other", "description: d"], "OTHER BODY");
	const elsewhere = join(home.root, "elsewhere");
	mkdirSync(elsewhere);
	const sessionLine = (outcome: { text: string } | undefined) =>
		/^\*\*Session:\*\* .*$/m.exec(outcome?.text ?? "")?.[0];
	const results = await call(
		[
			{ agent: "scout", task: "one", sessionId: "mine" },
			{ agent: "scout", task: "two", sessionId: "mine" },
			{ agent: "other", task: "three", sessionId: "mine" },
			{ agent: "scout", task: "four", sessionId: "mine", cwd: elsewhere },
			{ agent: "scout", task: "five" },
			{ tasks: [{ agent: "scout", task: "six", sessionId: "mine" }] },
		],
		Object.fromEntries(["one", "two", "three", "four", "five", "six"].map((task) => [task, [success(task)]])),
	);
	assert.match(
		results[0]?.text ?? "",
		/^\*\*Status:\*\* SUCCESS\n\*\*Session ID:\*\* `mine`\n\*\*Session:\*\* new\n\n---\n\none$/,
	);
	assert.deepEqual(results.map(sessionLine), [
		"**Session:** new",
		"**Session:** continued, 3 messages",
		'**Session:** new (the id is also a session of agent "scout")',
		`**Session:** new (the id is also a session of ${['agent "other" in', 'agent "scout" in'].map((agent) => `${agent} ${home.project}`).join(", ")})`,
		undefined,
		"**Session:** continued, 6 messages",
	]);
});
