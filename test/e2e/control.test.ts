import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { toolOutcomes } from "../rig/delegation.ts";
import type { ScriptedCall } from "../rig/model-server.ts";
import { runPi } from "../rig/pi.ts";
import { until } from "../rig/until.ts";
import { background, EXTENSION, MESSAGE, runIdIn, setUp } from "./background-setup.ts";

const control = (args: object): ScriptedCall => ({ name: "subagent_control", args });
const usageOf = ({ usage }: { readonly usage: unknown }) => (usage as { input: number } | undefined)?.input;

describe("control of background agents by the model", { concurrency: 2 }, () => {
	test("Wait returns when all have ended, with their answers and what they cost; nothing is announced then", async (t) => {
		const { script, person, release, entries } = await setUp(t);
		const { ask, pi, leave, shown } = person();
		script(background("one"), background("two"));
		const started = await ask("start them");
		const ids = started.map(runIdIn);
		script(control({ ids, action: "wait" }));
		const asked = ask("wait for them");
		await pi.waitForEvent(({ type, toolName }) => type === "tool_execution_start" && toolName === "subagent_control");
		release("one");
		release("two");
		const [waited] = await asked;
		assert.match(waited?.text ?? "", /answer of one[\s\S]*answer of two/);
		assert.equal(waited && usageOf(waited), 22);
		assert.deepEqual(entries(MESSAGE), []);
		assert.deepEqual(
			shown("notify").filter((text) => text.includes("Background agent")),
			[],
		);
		await leave();
		const later = person();
		script({ name: "background_agent_status", args: { runId: ids[0] } });
		const [again] = await later.ask("and?");
		assert.match(again?.text ?? "", /answer of one/);
		assert.equal(again?.usage, undefined);
		assert.deepEqual(entries(MESSAGE), []);
		await later.leave();
	});

	test("A wait whose time is over, or that Esc stops, leaves the agents running and their ends announced", async (t) => {
		const { script, person, release, entries } = await setUp(t);
		const { ask, tell, pi, leave } = person();
		script(background("slow"));
		const [started] = await ask("start it");
		const ids = [runIdIn(started)];
		script(control({ ids, action: "wait", timeout: 0.2 }));
		const [late] = await ask("wait a moment");
		assert.match(late?.text ?? "", /slow/);
		assert.match(late?.text ?? "", /running/);
		script(control({ ids, action: "wait" }));
		const before = toolOutcomes(pi.events).length;
		await tell({ type: "prompt", message: "wait" });
		const calls = () => pi.events.filter(({ type }) => type === "tool_execution_start").length;
		await until(() => calls() === 3, "the wait");
		await tell({ type: "abort" });
		await until(() => toolOutcomes(pi.events).length > before, "the end of the wait");
		assert.match(toolOutcomes(pi.events).at(-1)?.text ?? "", /go on/);
		release("slow");
		await until(() => entries(MESSAGE).length === 1, "its end to be announced");
		await leave();
	});

	test("Message reaches the agent as the parent's, stop ends it, and bad input is refused with the running ids", async (t) => {
		const { script, person, release, directoryOf, ended } = await setUp(t);
		const { ask, leave } = person();
		script(background("one"), background("two"));
		const [one, two] = (await ask("start them")).map(runIdIn);
		script(
			control({ ids: [one], action: "message", message: "be quick" }),
			control({ ids: [two], action: "stop" }),
			control({ ids: [], action: "wait" }),
			control({ ids: ["nobody"], action: "stop" }),
			control({ ids: [one], action: "message", message: " " }),
		);
		const [told, stopped, nothing, unknown, empty] = await ask("steer them");
		assert.match(told?.text ?? "", new RegExp(`^Queued for ${one}`));
		assert.match(stopped?.text ?? "", new RegExp(`^Stopping ${two}`));
		for (const refused of [nothing, unknown, empty]) {
			assert.equal(refused?.isError, true);
			assert.match(refused?.text ?? "", new RegExp(`Running: .*${one}`));
		}
		await ended(two ?? "");
		release("one");
		release("be quick");
		await ended(one ?? "");
		const { readFileSync } = await import("node:fs");
		const transcript = readFileSync(join(directoryOf(one ?? ""), "transcript.log"), "utf8");
		assert.match(transcript, /^\[message from the parent's model\]: be quick$/m);
		script(control({ ids: [one], action: "message", message: "hello?" }));
		const [late] = await ask("once more");
		assert.match(late?.text ?? "", /has ended/);
		await leave();
	});
});

describe("pi -p with background agents", { concurrency: 2 }, () => {
	const waiting = { settings: { subagents: { waitInPrintMode: true } } };

	test("Stays until they have ended, and each end gives the model its turn", async (t) => {
		const { script, release, server, home, session } = await setUp(t, waiting);
		script(background("one"), background("two"));
		const pi = runPi(home, { prompt: "go on", extension: EXTENSION, args: ["--session", session], timeoutMs: 60_000 });
		const parents = () => server.requests.filter(({ tools }) => tools.includes("get_subagent_output"));
		await until(() => parents().length === 3, "the parent's first answer");
		release("one");
		await until(() => parents().length === 4, "its turn for the first end");
		release("two");
		const { code } = await pi.done;
		assert.equal(code, 0);
		assert.equal(parents().length, 5);
		assert.match(JSON.stringify(parents()[3]?.messages.at(-1)), /Background agent scout .* completed/);
		assert.match(JSON.stringify(parents()[4]?.messages.at(-1)), /Background agent scout .* completed/);
	});

	test("Stays no longer than printModeTimeout: then pi exits, and the agent goes on", async (t) => {
		const { script, release, home, session, runs, directoryOf, ended } = await setUp(t, {
			settings: { subagents: { waitInPrintMode: true, printModeTimeout: 2 } },
		});
		script(background("slow"));
		const { code } = await runPi(home, {
			...{ prompt: "go on", extension: EXTENSION, args: ["--session", session], timeoutMs: 60_000 },
		}).done;
		assert.equal(code, 0);
		const [run = ""] = runs();
		assert.ok(!existsSync(join(directoryOf(run), "result.json")));
		release("slow");
		await ended(run);
	});

	for (const signal of ["SIGTERM", "SIGINT"] as const)
		test(`${signal} lets go at once, and the agents go on`, async (t) => {
			const { script, release, server, home, session, runs, directoryOf, ended } = await setUp(t, waiting);
			script(background("one"));
			const pi = runPi(home, {
				prompt: "go on",
				extension: EXTENSION,
				args: ["--session", session],
				timeoutMs: 60_000,
			});
			const parents = () => server.requests.filter(({ tools }) => tools.includes("get_subagent_output"));
			await until(() => parents().length === 2, "the parent's answer");
			const at = performance.now();
			pi.kill(signal);
			await pi.done;
			assert.ok(performance.now() - at < 10_000, "at once");
			const [run = ""] = runs();
			assert.ok(!existsSync(join(directoryOf(run), "result.json")));
			release("one");
			await ended(run);
		});
});

test("Announce: turn gives an idle agent one turn for the ends that come together", async (t) => {
	const { script, person, release, server } = await setUp(t, { settings: { subagents: { announce: "turn" } } });
	const { ask, pi, leave } = person();
	script(background("one"), background("two"));
	await ask("start them");
	const settled = () => pi.events.filter(({ type }) => type === "agent_settled").length;
	const before = settled();
	release("one");
	release("two");
	await until(() => settled() > before, "the turn");
	const last = server.requests.filter(({ tools }) => tools.includes("get_subagent_output")).at(-1);
	assert.match(JSON.stringify(last?.messages), /Background agent scout .* completed/);
	await leave();
});
