import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { toolOutcomes } from "../rig/delegation.ts";
import type { ScriptedCall } from "../rig/model-server.ts";
import { runPi } from "../rig/pi.ts";
import { EXTENSION, isParent, setUp } from "./background-setup.ts";

const subagent = (args: object): ScriptedCall => ({ name: "subagent", args });

test("Presets in the foreground, one and several, with the real pi (B1–B6, B10, B11, B16, B19, B21, B22, X1, X2, X8)", async (t) => {
	const { home, server, session, release, script, runs, directoryOf } = await setUp(t);
	home.write(
		join(home.project, ".pi", "subagents", "plain.md"),
		"---\nname: plain\ndescription: does as it is told\n---\n",
	);
	for (const task of ["one", "two", "three"]) release(task);
	const forms = /Valid forms: \{preset, task, model\?, cwd\?\}/;
	script(
		subagent({ preset: "scout", task: "one" }),
		subagent({
			tasks: [
				{ preset: "scout", task: "two" },
				{ preset: "plain", task: "three", model: "MOCK-1" },
				{ preset: "planner", task: "never" },
			],
		}),
		subagent({ chain: [{ preset: "scout", task: "never" }] }),
		subagent({ preset: "scout", task: "never", tools: ["bash"] }),
		subagent({ tasks: Array.from({ length: 17 }, () => ({ preset: "scout", task: "never" })) }),
		subagent({ preset: "plain", task: "never" }),
	);
	const pi = runPi(home, { prompt: "go on", extension: EXTENSION, args: ["--session", session] });
	const { events, stderr } = await pi.done;
	assert.equal(stderr, "");
	const [single, parallel, chain, unknown, tooMany, noModel] = toolOutcomes(events);

	assert.deepEqual([single?.text, single?.isError], ["answer of one", false]);
	assert.equal((single?.usage as { input: number } | undefined)?.input, 11);
	assert.ok((single?.updates.length ?? 0) > 0, "it is shown while it runs");
	assert.equal(
		parallel?.text,
		[
			"[1/3] scout: completed\nanswer of two",
			"[2/3] plain: completed\nanswer of three",
			'[3/3] planner: failed\nError: Unknown preset: "planner". Available presets: plain, scout',
		].join("\n\n"),
	);
	assert.equal(parallel?.isError, false);
	for (const refused of [chain, unknown, tooMany]) assert.match(refused?.text ?? "", forms);
	assert.match(noModel?.text ?? "", /^Error: No model is named, in the call or in the preset\. Available models: /);
	assert.deepEqual(
		[chain, unknown, tooMany, noModel].map((outcome) => outcome?.isError),
		[true, true, true, true],
	);

	const children = server.requests.filter((request) => !isParent(request));
	const child = (task: string) => children.find((request) => request.lastUser === task);
	assert.deepEqual(children.map(({ lastUser }) => lastUser).sort(), ["one", "three", "two"]);
	assert.deepEqual([child("one")?.model, child("three")?.model], ["mock-2", "mock-1"]);
	assert.deepEqual(
		[child("one")?.tools, child("three")?.tools],
		[
			["read", "ls"],
			["read", "bash", "edit", "write"],
		],
	);
	assert.match(child("one")?.system ?? "", /^You are[\s\S]*You look around\.$/m, "B21: added to pi's own prompt");
	assert.equal(runs().length, 3);
	for (const runId of runs()) {
		const { mode, size } = statSync(join(directoryOf(runId), "child-session.jsonl"));
		assert.deepEqual([mode & 0o777, size > 0], [0o600, true], "X7");
		const { preset } = JSON.parse(readFileSync(join(directoryOf(runId), "meta.json"), "utf8"));
		assert.equal(existsSync(join(directoryOf(runId), "system-prompt.md")), preset === "scout", "B38");
	}

	const runId = (single?.details as { sessionIds: string[] } | undefined)?.sessionIds[0];
	script({ name: "get_subagent_output", args: { sessionId: runId } });
	const again = await runPi(home, { prompt: "go on", extension: EXTENSION, args: ["--session", session] }).done;
	assert.equal(toolOutcomes(again.events)[0]?.text, "answer of one");
});
