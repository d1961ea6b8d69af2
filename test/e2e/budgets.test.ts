import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { RunResult } from "../../src/domain/run-result.ts";
import { toolOutcomes } from "../rig/delegation.ts";
import { type Reply, type ScriptedCall, text, toolCall, toolCalls } from "../rig/model-server.ts";
import { runPi } from "../rig/pi.ts";
import { until } from "../rig/until.ts";
import { createSetup, finalize, isReminder, type Setup, success } from "./agent-setup.ts";
import { background, EXTENSION, isParent, MESSAGE, runIdIn, setUp, status, UPDATE } from "./background-setup.ts";

const usage = (input: number, output: number) => ({ usage: { input, output } });
const touch = (name: string, more: object = usage(1_000, 10)): Reply =>
	toolCall("bash", { command: `touch ${name}` }, more);
const CUT = "cut short by its budget";

const resultOf = (setup: Setup, task: string): RunResult =>
	JSON.parse(readFileSync(join(setup.runs().get(task)?.directory ?? "", "result.json"), "utf8")) as RunResult;
const hasRun = ({ home }: Setup, name: string) => existsSync(join(home.project, name));
const lastToolResult = (setup: Setup, task: string) =>
	setup
		.requestsOf(task)
		.at(-1)
		?.messages.findLast(({ role }) => role === "tool")?.text ?? "";

test("A preset's budget refuses the tools of the message that used it up, and the next message is the answer (R6, B1, B2, X37)", async (t) => {
	const setup = await createSetup(t);
	const preset = (name: string, limit: string) =>
		setup.define(`subagents/${name}.md`, [`name: ${name}`, "description: works", "model: mock/mock-1", limit]);
	preset("tokens", "maxTokens: 2500");
	preset("turns", "maxTurns: 2");
	preset("enough", "maxTokens: 2020");
	const plays = {
		tokens: [touch("t1"), touch("t2", usage(2_000, 10)), text("half is done", usage(2_100, 30))],
		turns: [touch("u1"), touch("u2"), text("two turns", usage(5, 5))],
		// The last message reaches the limit and calls no tool: it is an answer like any other.
		enough: [touch("e1"), text("all is done", usage(1_000, 10))],
	};
	const results = await setup.call(
		Object.keys(plays).map((task) => ({ preset: task, task })),
		plays,
	);
	const [tokens, turns, enough] = results;
	assert.deepEqual(
		tokens?.content,
		[
			{ type: "text", text: "half is done" },
			{ type: "text", text: `[${CUT} (3,020 of 2,500 tokens)]` },
		],
		"the answer stays as it is (X41)",
	);
	assert.equal(turns?.text, `two turns[${CUT} (2 of 2 turns)]`);
	assert.equal(enough?.text, "all is done");
	assert.deepEqual(
		results.map(({ isError }) => isError),
		[false, false, false],
	);
	for (const [task, replies] of Object.entries(plays))
		assert.equal(setup.requestsOf(task).length, replies.length, task);
	assert.deepEqual(
		["t1", "t2", "u1", "u2", "e1"].map((name) => hasRun(setup, name)),
		[true, false, true, false, true],
	);
	assert.match(
		lastToolResult(setup, "tokens"),
		/budget is used up \(3,020 of 2,500 tokens\)\. Answer now with what you have/,
	);
	const tools = setup.requestsOf("tokens").map(({ body }) => JSON.stringify(body.tools));
	assert.equal(new Set(tools).size, 1, "the tools stay declared");
	const { outcome, cutShort, usage: used } = resultOf(setup, "tokens");
	assert.deepEqual([outcome.kind, used.totalTokens], ["completed", 5_150], "right to the token");
	assert.deepEqual(cutShort, { kind: "budget", unit: "tokens", used: 3_020, limit: 2_500, of: "run" });
	assert.equal(resultOf(setup, "enough").cutShort, undefined);
});

test("A model that goes on calling tools after its budget is stopped without another request (R7, B4)", async (t) => {
	const setup = await createSetup(t);
	setup.define("subagents/small.md", ["name: small", "description: works", "model: mock/mock-1", "maxTurns: 1"]);
	const plays = {
		"with words": [touch("a1"), toolCalls([{ name: "bash", args: { command: "touch a2" } }], { text: "so far: a" })],
		wordless: [touch("b1", { text: "first I look" }), touch("b2")],
		// pi refuses this call itself, without asking the extension.
		unknown: [
			toolCall("no_such_tool", {}),
			toolCalls(
				[
					{ name: "no_such_tool", args: {} },
					{ name: "bash", args: { command: "touch c2" } },
				],
				{ text: "so far: c" },
			),
		],
	};
	const tasks = Object.keys(plays).map((task) => ({ preset: "small", task }));
	const [result] = await setup.call([{ tasks }], plays);
	assert.equal(
		result?.text,
		[
			`[1/3] small: completed\n[${CUT} (1 of 1 turns)]\nso far: a`,
			`[2/3] small: failed\nError: Sub-agent was ${CUT} (1 of 1 turns) and gave no answer (run: ${setup.runs().get("wordless")?.spec.runId})\n\nWhat it had written:\n\nfirst I look`,
			`[3/3] small: completed\n[${CUT} (1 of 1 turns)]\nso far: c`,
		].join("\n\n"),
	);
	for (const task of Object.keys(plays)) assert.equal(setup.requestsOf(task).length, 2, task);
	for (const name of ["a1", "a2", "b1", "b2", "c2"]) assert.equal(hasRun(setup, name), false, name);
	assert.match(lastToolResult(setup, "unknown"), /Answer now with what you have/, "pi's own refusal says it too");
});

test("An agent hands over after its budget, and is reminded once at most (B3, B7)", async (t) => {
	const setup = await createSetup(t);
	setup.define("prompts/small.md", ["name: small", "description: works", "maxTurns: 1"]);
	const plays = {
		"hands over": [touch("a1"), success("half of it")],
		"needs a reminder": [touch("b1"), text("half of it"), success("half of it")],
		never: [touch("c1"), text("one"), text("two")],
		"never valid": [touch("d1"), finalize({ status: "SUCCESS" }), finalize({ status: "SUCCESS" })],
		"goes on": [touch("e1"), touch("e2", { text: "still at it" })],
		"at once": [success("all of it")],
		"only talks": [text("one"), text("two")],
		beside: [
			touch("f1"),
			toolCalls([
				{ name: "bash", args: { command: "touch f2" } },
				{ name: "subagent_finalize", args: { status: "SUCCESS", result: "both" } },
			]),
		],
	};
	const tasks = Object.keys(plays).map((task) => ({ agent: "small", task }));
	const [result] = await setup.call([{ tasks }], plays);
	const blocks = (result?.text ?? "")
		.split(/\n\n(?=\[\d\/8\] )/)
		.map((block) => block.replace(/^\[\d\/8\] small: /, "").replaceAll(/`[0-9a-f-]{36}`/g, "<id>"));
	const note = `\n**Note:** ${CUT} (1 of 1 turns)`;
	const answer = (said: string, more = note) =>
		`SUCCESS\n**Status:** SUCCESS\n**Session ID:** <id>${more}\n\n---\n\n${said}`;
	const failed = (error: string, more: string, written: string) =>
		`FAILED\nError: ${error}\n**Session ID:** <id> (call the agent again with it to go on)${more}${written && `\n\nWhat it had written:\n\n${written}`}`;
	const unfinalized = (count: number) =>
		`Sub-agent ended without a valid subagent_finalize call (${count} corrections)`;
	assert.deepEqual(blocks, [
		answer("half of it"),
		answer("half of it"),
		failed(unfinalized(1), note, "two"),
		failed(unfinalized(1), note, ""),
		failed(`Sub-agent was ${CUT} (1 of 1 turns) and gave no answer`, "", "still at it"),
		answer("all of it", ""),
		failed(unfinalized(1), "", "two"),
		answer("both"),
	]);
	for (const [task, replies] of Object.entries(plays))
		assert.equal(setup.requestsOf(task).length, replies.length, task);
	const reminders = (task: string) => setup.requestsOf(task).at(-1)?.messages.filter(isReminder).length;
	assert.deepEqual(["needs a reminder", "never", "only talks", "goes on"].map(reminders), [1, 1, 1, 0]);
	for (const name of ["a1", "e1", "e2", "f1", "f2"]) assert.equal(hasRun(setup, name), false, name);
	assert.match(lastToolResult(setup, "hands over"), /Answer now with what you have, by calling subagent_finalize/);
});

test("Every text about a run that its budget cut short says so, also after a restart (B2, X14, X34, X41)", async (t) => {
	const { home, server, session, entries } = await setUp(t, {
		settings: { subagents: { maxCost: 0.01 } },
		model: { cost: { input: 1_000, output: 0, cacheRead: 0, cacheWrite: 0 } },
	});
	home.write(join(home.agentDir, "agent-profiles", "scout.md"), "---\nname: scout\nmaxTurns: 50\n---\n");
	let calls: ScriptedCall[] = [];
	server.use((request) => {
		if (isParent(request)) {
			const call = calls.shift();
			return call ? toolCalls([call]) : text("the parent is done");
		}
		return request.turn === 0 ? touch("never", usage(12, 0)) : text(`half of ${request.lastUser}`, usage(3, 0));
	});
	const ask = async (...asked: ScriptedCall[]) => {
		calls = asked;
		const args = ["--session", session];
		const { events, stderr } = await runPi(home, { prompt: "go on", extension: EXTENSION, args, timeoutMs: 60_000 })
			.done;
		assert.equal(stderr, "");
		return toolOutcomes(events);
	};
	const cut = `${CUT} ($0.012 of $0.01)`;
	const [delegated, started] = await ask(
		{ name: "delegate_to_subagents", args: { tasks: [{ name: "map", prompt: "map it", profile: "scout" }] } },
		background("look"),
	);
	assert.match(delegated?.text ?? "", new RegExp(`^✓ map: completed \\(session: [0-9a-f]+\\).*\n  ${escaped(cut)}$`));
	assert.deepEqual((delegated?.details as { windows: { remarks?: string[] }[] } | undefined)?.windows[0]?.remarks, [
		cut,
	]);
	const runId = runIdIn(started);
	await until(() => existsSync(join(home.project, ".pi", "subagents", "runs", runId, "result.json")), "its result");
	const sessionId = /session: ([0-9a-f]+)/.exec(delegated?.text ?? "")?.[1];
	const [row, output, transcript, ofBackground] = await ask(
		status({ runId }),
		{ name: "get_subagent_output", args: { sessionId } },
		{ name: "get_subagent_session", args: { sessionId } },
		{ name: "get_subagent_output", args: { sessionId: runId } },
		{ name: "delegate_to_subagents", args: { tasks: [{ name: "map", prompt: "go on", resume: sessionId }] } },
	);
	assert.match(row?.text ?? "", new RegExp(`scout: completed, ${escaped(cut)}, `));
	assert.match(row?.text ?? "", /half of look/);
	assert.equal((row?.usage as { cost: { total: number } } | undefined)?.cost.total, 0.015, "X14: to the cent");
	assert.equal(output?.text, `half of map it[${cut}]`);
	assert.match(transcript?.text ?? "", new RegExp(`\n\\[${escaped(cut)}\\]$`));
	assert.equal(ofBackground?.text, `half of look[${cut}]`);
	const resumed = server.requests.find(({ lastUser }) => lastUser.startsWith("Previously:"));
	assert.match(resumed?.lastUser ?? "", new RegExp(`--- Run 1 \\(completed, \\d+ messages, ${escaped(cut)}\\) ---`));
	const [announced] = entries(MESSAGE);
	assert.equal(announced?.runId, runId);
	const [update] = entries(UPDATE);
	assert.deepEqual(update?.remarks, [cut]);
	assert.equal(existsSync(join(home.project, "never")), false);
});

const escaped = (words: string) => words.replaceAll(/[$().]/g, "\\$&");
