import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { RunResult } from "../../src/domain/run-result.ts";
import { toolOutcomes } from "../rig/delegation.ts";
import { type ModelRequest, type Reply, type ScriptedCall, text, toolCall, toolCalls } from "../rig/model-server.ts";
import { runPi } from "../rig/pi.ts";
import { until } from "../rig/until.ts";
import { background, EXTENSION, isParent, runIdIn, type Setup, setUp } from "./background-setup.ts";

const TURN = 110;
const usage = { usage: { input: 100, output: 10 } };
/** Goes on calling tools until it is refused, then answers. */
function work({ messages }: ModelRequest): Reply {
	const isTold = messages.some(({ role, text: said }) => role === "tool" && said.includes("Answer now"));
	return isTold ? text("what I have", usage) : toolCall("bash", { command: `echo ${messages.length}` }, usage);
}

/** A parent that makes these calls, one per request. */
function play(place: Setup, child: (request: ModelRequest) => Reply | Promise<Reply> = work) {
	let calls: ScriptedCall[] = [];
	place.server.use((request) => {
		if (!isParent(request)) return child(request);
		const call = calls.shift();
		return call ? toolCalls([call]) : text("the parent is done");
	});
	const start = (asked: ScriptedCall[], args: string[]) => {
		calls = asked;
		return runPi(place.home, { prompt: "go on", extension: EXTENSION, args, timeoutMs: 100_000 }).done;
	};
	return {
		/** The same over RPC, with a parent that then leaves. */
		async askAndLeave(...asked: ScriptedCall[]) {
			calls = asked;
			const person = place.person();
			const outcomes = await person.ask("go on");
			await person.leave();
			return outcomes;
		},
		async ask(...asked: ScriptedCall[]) {
			return toolOutcomes((await start(asked, ["--session", place.session])).events);
		},
		async fork(...asked: ScriptedCall[]) {
			return toolOutcomes((await start(asked, ["--fork", place.session])).events);
		},
	};
}

const tokensOf = (outcome: { usage: unknown } | undefined) =>
	(outcome?.usage as { totalTokens: number } | undefined)?.totalTokens ?? 0;
const delegate = (count: number): ScriptedCall => ({
	name: "delegate_to_subagents",
	args: { tasks: Array.from({ length: count }, (_, index) => ({ name: `t${index}`, prompt: `task ${index}` })) },
});

test("Sixteen children stop at the session's budget: queued ones are refused, running ones answer, and the sum holds (R9, B5)", async (t) => {
	const limit = 3_000;
	const place = await setUp(t, { settings: { subagents: { maxSessionTokens: limit, looping_tool_count: 0 } } });
	const { ask, fork } = play(place);
	const [first, second] = await ask(delegate(16), background("more"));
	const lines = (first?.text ?? "").split("\n");
	const ran = lines.filter((line) => /: completed /.test(line)).length;
	const refused = lines.filter((line) =>
		line.includes("Not started: the session's budget for sub-agents is used up"),
	).length;
	assert.equal(ran + refused, 16, first?.text);
	assert.ok(ran >= 4 && refused >= 1, `${ran} ran, ${refused} were refused`);
	assert.equal(
		lines.filter((line) => /^ {2}cut short by the session's budget \(3,\d\d\d of 3,000 tokens\)$/.test(line)).length,
		ran,
	);
	const used = tokensOf(first);
	// Four run at a time: the turn that each has in flight, and one answer each.
	assert.ok(used >= limit && used <= limit + 4 * 2 * TURN, `${used} tokens`);
	assert.equal(used, place.server.requests.filter((request) => !isParent(request)).length * TURN, "to the token");
	assert.match(
		second?.text ?? "",
		/Not started: the session's budget for sub-agents is used up \(3,\d\d\d of 3,000 tokens\)/,
	);

	const before = place.server.requests.length;
	const [again] = await ask(delegate(1));
	assert.match(again?.text ?? "", /^✗ t0: error — Not started: the session's budget/, "also after a restart");
	assert.equal(place.server.requests.slice(before).filter((request) => !isParent(request)).length, 0);

	const [forked] = await fork(delegate(1));
	assert.match(
		forked?.text ?? "",
		/^✓ t0: completed .*\n {2}cut short by the session's budget/,
		"a fork starts at zero",
	);
	assert.ok(tokensOf(forked) >= limit, "and has the whole budget");
});

test("When the parent leaves, each background run gets an equal share of what is left (B5)", async (t) => {
	const place = await setUp(t, { settings: { subagents: { maxSessionTokens: 2_200, looping_tool_count: 0 } } });
	const gone = Promise.withResolvers<void>();
	const { ask, askAndLeave } = play(place, async (request) => {
		await gone.promise;
		return work(request);
	});
	const outcomes = await askAndLeave(background("one"), background("two"));
	gone.resolve();
	const runIds = outcomes.map(runIdIn);
	const resultOf = (runId: string) =>
		JSON.parse(readFileSync(join(place.directoryOf(runId), "result.json"), "utf8")) as RunResult;
	for (const runId of runIds) {
		await until(() => existsSync(join(place.directoryOf(runId), "result.json")), `the result of ${runId}`, 60_000);
		const { outcome, cutShort, usage: used } = resultOf(runId);
		assert.equal(outcome.kind, "completed");
		assert.deepEqual(cutShort, { kind: "budget", unit: "tokens", used: 1_100, limit: 1_100, of: "session" });
		assert.equal(used.totalTokens, 1_100 + TURN);
	}
	const [refused] = await ask(background("three"));
	assert.match(refused?.text ?? "", /Not started: .* \(2,420 of 2,200 tokens\)/);
});
