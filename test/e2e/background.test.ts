import assert from "node:assert/strict";
import { chmodSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { toolOutcomes } from "../rig/delegation.ts";
import { processesWithEnv, waitNoneWithEnv } from "../rig/processes.ts";
import { until } from "../rig/until.ts";
import { background, HOLD, isParent, MESSAGE, RUN, runIdIn, setUp, status, UPDATE } from "./background-setup.ts";

const MARKER = "PI_SUBAGENTS_RUN_ID";

test("A run outlives `pi -p`, and the next start takes its end in, once (B36–B41, B50–B58, B61, X7, X14, W36)", async (t) => {
	const { home, server, print, release, ended, entries, directoryOf } = await setUp(t, {
		settings: { subagents: { runner: "tmux" } },
	});
	const first = await print(background("look"));
	const runId = runIdIn(first.outcomes[0]);
	assert.equal(first.stderr, "");
	assert.match(first.outcomes[0]?.text ?? "", /1 running, 0 completed, 0 failed, 0 aborted, 1 total$/);
	assert.equal(processesWithEnv(MARKER, runId).length, 1, "its pi goes on without the parent");
	assert.deepEqual(
		entries(RUN).map((entry) => entry.runId),
		[runId],
	);
	release("look");
	await ended(runId);
	await waitNoneWithEnv(MARKER, runId);
	assert.deepEqual([entries(UPDATE), entries(MESSAGE)], [[], []], "nobody was there to be told");

	const files = ["child-session.jsonl", "events.jsonl", "meta.json", "result.json"];
	assert.deepEqual(
		readdirSync(directoryOf(runId)).sort(),
		[...files, "stderr.log", "stdout.log", "system-prompt.md", "transcript.log"],
		"B38",
	);
	const meta = JSON.parse(readFileSync(join(directoryOf(runId), "meta.json"), "utf8"));
	assert.deepEqual(
		[meta.preset, meta.presetSource, meta.tools, meta.systemPrompt, meta.requestedModel, meta.resolvedModel],
		["scout", "global", ["read", "ls"], "You look around.", "mock/mock-2", "mock/mock-2"],
		"B39",
	);
	const child = server.requests.find((request) => !isParent(request));
	assert.deepEqual([child?.tools, child?.model, child?.lastUser], [["read", "ls"], "mock-2", "look"], "B40");
	assert.match(child?.system ?? "", /You look around\.$/m);

	const before = server.requests.length;
	const second = await print(
		status({ runId }),
		status({ runId, includeCompleted: true }),
		status({ includeCompleted: true }),
	);
	assert.match(
		server.requests[before]?.messages.map((message) => message.text).join("\n") ?? "",
		/Background agent scout/,
	);
	for (const { text } of second.outcomes) {
		assert.match(text, /: completed, \d+s, mock\/mock-2: look\n(cwd: .+\n)?answer of look$/s);
	}
	assert.deepEqual(
		second.outcomes.map(({ usage }) => (usage as { input: number } | undefined)?.input),
		[11, undefined, undefined],
	);
	assert.match(second.outcomes[0]?.text ?? "", /\nrequested model: mock\/mock-2\nstarted: \S+Z, ended: \S+Z\n/, "B64");
	const third = await print(status({ runId }), { name: "get_subagent_output", args: { sessionId: runId } });
	assert.deepEqual([third.outcomes[0]?.usage, third.outcomes[1]?.text], [undefined, "answer of look"]);
	assert.equal(third.stderr, "");
	assert.deepEqual([entries(RUN).length, entries(UPDATE).length, entries(MESSAGE).length], [1, 1, 1]);
	await waitNoneWithEnv("HOME", home.root);
});

test("An end while the agent is busy is told at once and starts no turn; a person can stop a run meanwhile (B59–B62, S24, W28)", async (t) => {
	const { server, script, person, release, releaseParent, ended, entries } = await setUp(t);
	const someone = person();
	script(background("quick"), background("slow"));
	const [quick, slow] = (await someone.ask("start both")).map(runIdIn);
	assert.ok(quick !== undefined && slow !== undefined);
	assert.deepEqual(someone.shown("setStatus").slice(-2), [
		"agents: 1 in background · alt+a",
		"agents: 2 in background · alt+a",
	]);

	const busy = someone.ask(HOLD);
	await server.waitForRequest((request) => isParent(request) && request.lastUser === HOLD);
	const requests = server.requests.filter(isParent).length;
	release("quick");
	await ended(quick);
	await someone.pi.waitForEvent(() => someone.shown("notify").length === 1);
	assert.match(
		someone.shown("notify")[0] ?? "",
		new RegExp(`^✓ Background agent scout \\(${quick}\\) completed after`),
	);
	assert.equal(someone.shown("setStatus").at(-1), "agents: 1 in background · alt+a");
	assert.deepEqual(
		entries(UPDATE).map(({ runId }) => runId),
		[quick],
	);

	await someone.tell({ type: "prompt", message: `/subagents stop ${slow}` });
	await ended(slow);
	await someone.pi.waitForEvent(() => someone.shown("setStatus").at(-1) === "undefined");
	assert.equal(server.requests.filter(isParent).length, requests, "all this while the agent was in its turn");
	releaseParent();
	await busy;
	assert.equal(server.requests.filter(isParent).length, requests, "B60, B62: no turn came of it");
	assert.deepEqual(
		entries(MESSAGE).map(({ runId, status: end }) => [runId, end]),
		[
			[quick, "completed"],
			[slow, "aborted"],
		],
	);
	assert.equal(entries(UPDATE).find(({ runId }) => runId === slow)?.errorMessage, "stopped by you");

	await someone.ask("and now?");
	const last = server.requests.filter(isParent).at(-1);
	assert.equal(server.requests.filter(isParent).length, requests + 1);
	assert.match(
		last?.messages.map((message) => message.text).join("\n") ?? "",
		new RegExp(`scout \\(${slow}\\) stopped by you`),
	);
	assert.equal(await someone.leave(), "");
});

test("Reload, new session and clone: a run is told in the session that started it, and only there (B57, B63, B68, F53, X18, W29)", async (t) => {
	const { home, session, script, person, release, ended, entries } = await setUp(t);
	const someone = person();
	script(background("look"));
	const runId = runIdIn((await someone.ask("start"))[0]);
	const running = /^Background agents: 1 running.*\n\n● .* scout: running/;

	await someone.tell({ type: "prompt", message: "/reload-now" });
	script(status());
	assert.match((await someone.ask("after the reload"))[0]?.text ?? "", running);
	await someone.tell({ type: "new_session" });
	assert.notEqual(someone.shown("setStatus").at(-1), "agents: 1 in background · alt+a", "the new session has none");
	script(status({ runId }));
	assert.match((await someone.ask("in the new one"))[0]?.text ?? "", /^Unknown run: ".*"\. Known runs: \(none\)$/);
	await someone.tell({ type: "switch_session", sessionPath: session });
	await someone.tell({ type: "clone" });
	script(status());
	assert.match((await someone.ask("in the clone"))[0]?.text ?? "", running);

	release("look");
	await ended(runId);
	await someone.pi.waitForEvent(() => someone.shown("setStatus").at(-1) === "undefined");
	script(status({ runId }));
	const [inClone] = await someone.ask("in the clone, after its end");
	assert.match(inClone?.text ?? "", /answer of look$/);
	assert.equal(inClone?.usage, undefined, "X14: it is not the clone's to pay");
	assert.deepEqual(someone.shown("notify"), []);
	assert.deepEqual(entries(MESSAGE), []);
	for (const file of readdirSync(home.root, { recursive: true, encoding: "utf8" })) {
		if (file.endsWith(".jsonl") && !file.includes("child-session")) {
			assert.deepEqual(entries(MESSAGE, join(home.root, file)), [], file);
		}
	}

	await someone.tell({ type: "switch_session", sessionPath: session });
	await someone.pi.waitForEvent(() => someone.shown("notify").length === 1);
	script(status({ runId }));
	const [back] = await someone.ask("back in the first");
	assert.equal((back?.usage as { input: number } | undefined)?.input, 11);
	await someone.tell({ type: "prompt", message: "/reload-now" });
	await someone.ask("once more");
	assert.deepEqual([entries(UPDATE).length, entries(MESSAGE).length, someone.shown("notify").length], [1, 1, 1]);
	assert.equal(await someone.leave(), "");
});

test("kill -9 of the parent, while a run goes on and between its end and its message: told once (B48, B61, F03)", async (t) => {
	const { server, script, person, print, release, releaseParent, ended, entries } = await setUp(t);
	const first = person();
	script(background("one"), background("two"));
	const [one, two] = (await first.ask("start")).map(runIdIn);
	assert.ok(one !== undefined && two !== undefined);
	void first.ask(HOLD).catch(() => {});
	await server.waitForRequest((request) => isParent(request) && request.lastUser === HOLD);
	release("one");
	await ended(one);
	await first.pi.waitForEvent(() => first.shown("notify").length === 1);
	first.pi.kill("SIGKILL");
	await first.pi.done;
	assert.deepEqual([entries(UPDATE).length, entries(MESSAGE).length], [1, 0], "pi held the message back");
	assert.equal(processesWithEnv(MARKER, two).length, 1);
	releaseParent();

	const second = person();
	await second.pi.waitForEvent(() => second.shown("notify").length === 1);
	assert.deepEqual(
		entries(MESSAGE).map(({ runId }) => runId),
		[one],
	);
	second.pi.kill("SIGKILL");
	await second.pi.done;
	release("two");
	await ended(two);
	for (let starts = 0; starts < 2; starts++) await print(status({ includeCompleted: true }));
	assert.deepEqual(
		entries(MESSAGE).map(({ runId }) => runId),
		[one, two],
	);
	assert.deepEqual(
		entries(UPDATE).map(({ runId }) => runId),
		[one, two],
	);
});

test("Runs whose directories are no longer private stay known, and each is told once (B57, B58, B61, B68)", async (t) => {
	const { print, release, ended, entries, directoryOf } = await setUp(t);
	const { outcomes } = await print(background("one"), background("two"), background("three"));
	const [one = "", two = "", three = ""] = outcomes.map(runIdIn);
	for (const [task, runId] of [
		["one", one],
		["two", two],
	] as const) {
		release(task);
		await ended(runId);
		await waitNoneWithEnv(MARKER, runId);
	}
	chmodSync(directoryOf(one), 0o755);
	for (const runId of [two, three]) chmodSync(directoryOf(runId), 0o777);
	const next = await print(status({ includeCompleted: true }), status({ runId: two }));
	const [all = "", failed = ""] = next.outcomes.map(({ text }) => text);
	assert.match(all, /^Background agents: 1 running, 1 completed, 1 failed, 0 aborted, 3 total\n/);
	assert.ok(all.includes("\nanswer of one\n"), all);
	const reason = `failed — Its directory is not private to you any more, so nothing is read from it: ${directoryOf(two)}`;
	assert.ok(failed.includes(reason), failed);
	assert.doesNotMatch(failed, /answer of two/);
	release("three");
	await ended(three);
	await waitNoneWithEnv(MARKER, three);
	const last = await print(status({ runId: one }), { name: "get_subagent_output", args: { sessionId: one } });
	assert.match(
		last.outcomes[0]?.text ?? "",
		/^Background agents: 0 running, 1 completed, 2 failed, 0 aborted, 3 total/,
	);
	assert.equal(last.outcomes[1]?.text, "answer of one");
	assert.deepEqual(Object.fromEntries(entries(MESSAGE).map(({ runId, status: end }) => [runId, end])), {
		[one]: "completed",
		[two]: "failed",
		[three]: "failed",
	});
	assert.deepEqual([entries(UPDATE).length, entries(MESSAGE).length], [3, 3]);
});

test("kill -9 of the parent in the middle of a launch leaves no run that nobody knows of (F03)", async (t) => {
	const { script, person, print, runs, directoryOf, entries } = await setUp(t);
	const someone = person();
	script(background("look"));
	void someone.ask("start").catch(() => {});
	await until(() => runs().some((id) => existsSync(join(directoryOf(id), "events.jsonl"))), "a supervisor");
	someone.pi.kill("SIGKILL");
	await someone.pi.done;
	const [runId = ""] = runs();
	// Its supervisor waits five seconds for somebody to tell it what to do.
	await until(() => existsSync(join(directoryOf(runId), "result.json")) || entries(RUN).length > 0, "either");
	if (entries(RUN).length === 0) {
		await waitNoneWithEnv(MARKER, runId);
		const { outcome } = JSON.parse(readFileSync(join(directoryOf(runId), "result.json"), "utf8"));
		assert.equal(outcome.kind, "failed");
		assert.doesNotMatch(readFileSync(join(directoryOf(runId), "events.jsonl"), "utf8"), /"type":"started"/);
	} else {
		const { outcomes } = await print(status({ runId }));
		assert.match(outcomes[0]?.text ?? "", /1 total/);
	}
});

test("A supervisor that is killed with its parent is lost at the next start, with what its agent had said (B48, W27)", async (t) => {
	const { server, script, person, print, entries, directoryOf } = await setUp(t);
	const someone = person();
	script(background("look"));
	const runId = runIdIn((await someone.ask("start"))[0]);
	await server.waitForRequest((request) => !isParent(request));
	const events = readFileSync(join(directoryOf(runId), "events.jsonl"), "utf8");
	const { supervisorPid } = JSON.parse(events.split("\n").find((line) => line.includes('"started"')) ?? "").event;
	someone.pi.kill("SIGKILL");
	process.kill(supervisorPid, "SIGKILL");
	await someone.pi.done;
	await waitNoneWithEnv(MARKER, runId);
	const { outcomes } = await print(status({ runId }));
	assert.match(
		outcomes[0]?.text ?? "",
		/0 running, 0 completed, 1 failed.*\n\n✗ .* scout: failed — Sub-agent was lost/,
	);
	assert.deepEqual([entries(UPDATE).length, entries(MESSAGE).length], [1, 1]);
	assert.equal(toolOutcomes(someone.pi.events).length, 1);
});
