import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { socketPathOf } from "../../src/child/protocol.ts";
import type { PreparedRun } from "../../src/run/execute.ts";
import { readRun } from "../../src/run-directory/read.ts";
import { createSetup, endOf, resultIn, type Setup } from "../rig/fake-run.ts";
import type { FakeStep } from "../rig/fake-steps.ts";
import { processesWithEnv, waitGone, waitNoneWithEnv } from "../rig/processes.ts";

const PARENT = fileURLToPath(new URL("./fixtures/parent.ts", import.meta.url));
const MARKER = "PI_SUBAGENTS_RUN_ID";
const BEING_SAID = "and being sai";
const WITH_ESCAPEE: FakeStep[] = [
	{ say: "said before" },
	{ spawn: ["sleep", "71"], detached: true },
	{ delta: BEING_SAID },
	{ hang: true },
];
/** The same, ignoring the lifeline and SIGTERM as a pi whose event loop is blocked does. */
const DEAF: FakeStep[] = [{ deaf: true }, ...WITH_ESCAPEE];

describe("what happens when a process of a run is killed", { concurrency: 4 }, () => {
	let setup: Setup;
	before(() => {
		setup = createSetup();
	});
	after(() => setup.dispose());

	async function startParent(run: PreparedRun): Promise<ChildProcess> {
		const file = join(setup.temporary, `${run.spec.runId}.json`);
		writeFileSync(file, JSON.stringify(run));
		const flags = ["--disable-warning=ExperimentalWarning", PARENT, file];
		const parent = spawn(process.execPath, flags, { stdio: ["ignore", "pipe", "inherit"] });
		await once(parent.stdout ?? parent, "data");
		return parent;
	}
	const supervisorOf = (directory: string): number =>
		JSON.parse(readFileSync(join(directory, "events.jsonl"), "utf8").split("\n")[0] ?? "").event.supervisorPid;
	const hasSaid = (directory: string, words: string) =>
		waitFor(() => readFileSync(join(directory, "events.jsonl"), "utf8").includes(`"delta":"${words}`));

	test("The parent: the whole tree is gone, and result.json says why and what had been said (F01)", async () => {
		const run = setup.prepare(WITH_ESCAPEE);
		const parent = await startParent(run);
		await hasSaid(run.directory, BEING_SAID);
		const supervisor = supervisorOf(run.directory);
		assert.equal(processesWithEnv(MARKER, run.spec.runId).length, 2);
		parent.kill("SIGKILL");
		await Promise.all([waitNoneWithEnv(MARKER, run.spec.runId), waitGone(supervisor)]);
		const result = resultIn(run.directory);
		assert.deepEqual(result.outcome, {
			kind: "failed",
			failure: { kind: "stopped", cause: { kind: "aborted", by: "parent-death" } },
		});
		assert.equal(result.text, BEING_SAID);
		assert.deepEqual(
			result.leftovers.map(({ command }) => command),
			["sleep 71"],
		);
		assert.ok(!existsSync(socketPathOf(run.spec.runId)));
	});

	test("The parent, with a child that does not listen: gone within 5 s all the same (F01)", async () => {
		const run = setup.prepare(DEAF);
		const parent = await startParent(run);
		await hasSaid(run.directory, BEING_SAID);
		parent.kill("SIGKILL");
		await waitNoneWithEnv(MARKER, run.spec.runId);
		await waitFor(() => existsSync(join(run.directory, "result.json")));
		assert.equal(resultIn(run.directory).text, BEING_SAID);
	});

	test("The parent of a background run: the run goes on and leaves its result (F03)", async () => {
		const run = setup.prepare([{ delta: "wait" }, { sleep: 1_000 }, { say: "alone" }], { lifetime: "background" });
		const parent = await startParent(run);
		await hasSaid(run.directory, "wait");
		const supervisor = supervisorOf(run.directory);
		parent.kill("SIGKILL");
		await once(parent, "exit");
		const alone = Date.now();
		await waitGone(supervisor);
		const result = resultIn(run.directory);
		assert.ok(result.endedAt >= alone);
		assert.deepEqual(result.outcome, { kind: "completed", text: "alone", end: "natural" });
		await waitNoneWithEnv(MARKER, run.spec.runId);
	});

	test("The supervisor: the run is lost, nothing of it lives on, what had been said is known (F04)", async () => {
		const run = setup.start(WITH_ESCAPEE);
		await run.until(({ partial }) => partial === BEING_SAID);
		const { supervisor } = await run.pids();
		process.kill(supervisor, "SIGKILL");
		const result = endOf(await run.done);
		assert.deepEqual(result.outcome, { kind: "failed", failure: { kind: "lost" } });
		assert.equal(result.text, BEING_SAID);
		assert.equal(result.usage.input, 200);
		assert.deepEqual(processesWithEnv(MARKER, run.runId), []);
		assert.deepEqual(resultIn(run.directory), JSON.parse(JSON.stringify(result)), "B47");
		assert.ok(!existsSync(socketPathOf(run.runId)));
		assert.equal((await readRun(run.directory))?.partial, BEING_SAID);
	});

	test("The supervisor, with a child that does not listen: killed by the parent (F06)", async () => {
		const run = setup.start(DEAF);
		await run.until(({ partial }) => partial === BEING_SAID);
		process.kill((await run.pids()).supervisor, "SIGKILL");
		const result = endOf(await run.done);
		assert.deepEqual(result.outcome, { kind: "failed", failure: { kind: "lost" } });
		assert.deepEqual(processesWithEnv(MARKER, run.runId), []);
	});

	test("pi: failed with its signal, what had been said is kept, what it had started is ended (F05)", async () => {
		const run = setup.start(WITH_ESCAPEE);
		await run.until(({ partial }) => partial === BEING_SAID);
		process.kill((await run.pids()).pi, "SIGKILL");
		const result = endOf(await run.done);
		assert.deepEqual(result.outcome, {
			kind: "failed",
			failure: { kind: "exit", exit: { kind: "signal", signal: "SIGKILL" }, stderr: "" },
		});
		assert.equal(result.text, BEING_SAID);
		assert.deepEqual(
			result.leftovers.map(({ command }) => command),
			["sleep 71"],
		);
		assert.deepEqual(processesWithEnv(MARKER, run.runId), []);
	});

	test("A supervisor that is only stopped is waited for; an abort ends it and all that is below it (F55)", async () => {
		const run = setup.start(WITH_ESCAPEE);
		await run.until(({ partial }) => partial === BEING_SAID);
		const { supervisor } = await run.pids();
		process.kill(supervisor, "SIGSTOP");
		await setup.start([{ say: "meanwhile" }]).done;
		assert.notEqual(run.states.at(-1)?.phase.kind, "done");
		run.abort();
		const result = endOf(await run.done);
		assert.deepEqual(result.outcome, {
			kind: "failed",
			failure: { kind: "stopped", cause: { kind: "aborted", by: "caller" } },
		});
		assert.equal(result.text, BEING_SAID);
		assert.deepEqual(processesWithEnv(MARKER, run.runId), []);
	});

	test("SIGTERM to the supervisor stops its run and is told as that; SIGHUP is not heard", async () => {
		const run = setup.start(WITH_ESCAPEE);
		await run.until(({ partial }) => partial === BEING_SAID);
		const { supervisor } = await run.pids();
		process.kill(supervisor, "SIGHUP");
		process.kill(supervisor, "SIGTERM");
		const result = endOf(await run.done);
		assert.deepEqual(result.outcome, {
			kind: "failed",
			failure: { kind: "stopped", cause: { kind: "aborted", by: "signal" } },
		});
		assert.deepEqual(processesWithEnv(MARKER, run.runId), []);
	});
});

async function waitFor(condition: () => boolean): Promise<void> {
	for (const deadline = performance.now() + 10_000; !condition(); await pause(10)) {
		assert.ok(performance.now() < deadline, "It did not happen within 10 s.");
	}
}
