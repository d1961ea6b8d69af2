import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type ToolOutcome, toolOutcomes } from "../rig/delegation.ts";
import { createHome, type Home } from "../rig/home.ts";
import {
	hang,
	type ModelRequest,
	type ModelServer,
	type ScriptedCall,
	startModelServer,
	text,
	toolCall,
	toolCalls,
} from "../rig/model-server.ts";
import { runPi } from "../rig/pi.ts";
import { waitNoneWithEnv } from "../rig/processes.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));
const INTERRUPTED = "Session was interrupted (main agent session ended unexpectedly)";
const isParent = (request: ModelRequest) => request.tools.includes("delegate_to_subagents");

interface Setup {
	readonly home: Home;
	readonly server: ModelServer;
	/** Starts pi with the same session file each time; the parent's model makes these calls, one round after the other. */
	start(
		rounds: readonly (readonly ScriptedCall[])[],
		child: (request: ModelRequest) => ReturnType<typeof text>,
	): Started;
	/** The same, to the end: what each call returned. */
	call(rounds: readonly (readonly ScriptedCall[])[], child?: Child): Promise<ToolOutcome[]>;
}
type Child = Parameters<Setup["start"]>[1];
type Started = ReturnType<typeof runPi>;

async function setUp(t: TestContext): Promise<Setup> {
	const server = await startModelServer();
	const home = createHome(server);
	t.after(async () => {
		await server.close();
		home.dispose();
	});
	const start: Setup["start"] = (rounds, child) => {
		let round = 0;
		server.use((request) => {
			if (!isParent(request)) return child(request);
			const calls = rounds[round++];
			return calls ? toolCalls([...calls]) : text("the parent is done");
		});
		return runPi(home, {
			prompt: "go on",
			extension: EXTENSION,
			args: ["--session", join(home.root, "session.jsonl")],
		});
	};
	return {
		home,
		server,
		start,
		call: async (rounds, child = () => text("unexpected")) => toolOutcomes((await start(rounds, child).done).events),
	};
}

const delegation = (...tasks: Record<string, unknown>[]): ScriptedCall => ({
	name: "delegate_to_subagents",
	args: { tasks },
});
const output = (sessionId: string): ScriptedCall => ({ name: "get_subagent_output", args: { sessionId } });
const transcript = (sessionId: string): ScriptedCall => ({ name: "get_subagent_session", args: { sessionId } });
const idIn = (line: string | undefined) => /\(session: ([0-9a-f]{16})\)/.exec(line ?? "")?.[1] ?? "no id";

test("What a run had said is found, and gone on with, after kill -9 of the parent and a new start (A91, A92, X9)", async (t) => {
	const { home, server, start, call } = await setUp(t);

	const first = start(
		[[delegation({ name: "quick", prompt: "be quick" }, { name: "slow", prompt: "be slow" })]],
		(request) => (request.lastUser === "be quick" ? text("quick answer") : (hang({ text: "half an ans" }) as never)),
	);
	const update = await first.waitForEvent(
		(event) => event.type === "tool_execution_update" && JSON.stringify(event).includes("half an ans"),
		20_000,
	);
	const { sessionIds } = (update.partialResult as { details: { sessionIds: string[] } }).details;
	const [quick = "", slow = ""] = sessionIds;
	await first.waitForEvent((event) => JSON.stringify(event).includes("1 running, 1 done"));
	first.kill("SIGKILL");
	await first.done;

	const second = await call([[output(quick), output(slow), transcript(slow)]]);
	assert.deepEqual(
		second.map(({ text: said, details }) => [said, (details as { status: string }).status]),
		[
			["quick answer", "completed"],
			["half an ans", "error"],
			[`be slow\nhalf an ans\n[Error: ${INTERRUPTED}]`, "error"],
		],
	);

	const named = server.requests
		.filter(isParent)
		.at(-1)
		?.messages.filter(({ text: words }) => words.includes("were interrupted"));
	assert.equal(named?.length, 1, "told once");
	assert.match(named?.[0]?.text ?? "", new RegExp(`slow \\(session: ${slow}\\)`));

	const before = server.requests.length;
	const third = await call([[delegation({ name: "slow", prompt: "finish it", resume: slow })], [output(slow)]], () =>
		text("the whole answer"),
	);
	assert.deepEqual(
		third.map((result) => result.text),
		[`✓ slow: completed (session: ${slow})`, "the whole answer"],
	);
	const resumed = server.requests.slice(before).find((request) => !isParent(request));
	assert.equal(
		resumed?.lastUser,
		[
			"Previously:",
			"",
			"--- Run 1 (error, 1 messages) ---",
			"User: be slow",
			"Assistant: half an ans",
			`Error: ${INTERRUPTED}`,
			"",
			"Instructions:",
			"",
			"finish it",
		].join("\n"),
	);

	const [whole] = await call([[transcript(slow)]]);
	assert.match(
		whole?.text ?? "",
		/^=== Run 1\/2 \(error\) ===\nbe slow\nhalf an ans\n\[Error: .*\]\n---\n=== Run 2\/2 \(completed\) ===\n/,
	);
	assert.match(JSON.stringify(whole?.details), /"runCount":2/);
	await waitNoneWithEnv("HOME", home.root);
});

test("A resume is checked before anything starts, tells every run once, and puts files first (A40–A49, X9)", async (t) => {
	const { home, server, call } = await setUp(t);
	home.write("notes.txt", "a note\n");
	const child: Child = (request) =>
		(request.turn === 0 ? toolCall("bash", { command: "echo $0" }) : text(`answer ${request.turn}`)) as never;

	const [one] = await call([[delegation({ name: "a", prompt: "first", files: ["notes.txt"] })]], child);
	const id = idIn(one?.text);
	const refused = await call([
		[delegation({ name: "a", prompt: "x", resume: id }, { name: "b", prompt: "y", resume: "feedfeedfeedfeed" })],
		[delegation({ name: "a", prompt: "x", resume: id }, { name: "b", prompt: "y", resume: id })],
		[output("nothing")],
	]);
	assert.deepEqual(
		refused.map((result) => [result.isError, result.text]),
		[
			[
				true,
				'Cannot resume: session "feedfeedfeedfeed" not found. The session may have expired or the ID is incorrect.',
			],
			[
				true,
				`Cannot resume: session "${id}" is resumed by two tasks of this call. Resume it in one of them, or in two calls after each other.`,
			],
			[true, 'Session "nothing" not found. The session may have expired or the ID is incorrect.'],
		],
	);

	await call([[delegation({ name: "a", prompt: "second", resume: id, files: ["notes.txt"] })]], child);
	const before = server.requests.length;
	await call([[delegation({ name: "a", prompt: "third", resume: id, files: ["notes.txt"] })]], child);
	const prompt = server.requests.slice(before).find((request) => !isParent(request))?.lastUser ?? "";
	assert.equal(
		prompt.replaceAll(/Tool Result: .*/g, "Tool Result: …"),
		[
			"=== notes.txt ===",
			"a note",
			"",
			"Previously:",
			"",
			...["first", "second"].flatMap((asked, run) => [
				`--- Run ${run + 1} (completed, 4 messages) ---`,
				`User: ${asked}`,
				'Tool Call: bash({"command":"echo $0"})',
				"Tool Result: …",
				"",
				"Assistant: answer 1",
				"",
			]),
			"Instructions:",
			"",
			"third",
		].join("\n"),
	);
});
