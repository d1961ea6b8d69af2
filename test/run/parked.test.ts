import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Host } from "../../src/call/host.ts";
import { prepareRow } from "../../src/call/row-start.ts";
import type { Packet, RunSpec } from "../../src/domain/spec.ts";
import { initialState } from "../../src/domain/state.ts";
import { type ParkedRun, parkRun } from "../../src/head-start/parked-run.ts";
import type { Parent, PlannedRun } from "../../src/plan/parent.ts";
import type { RunRequest } from "../../src/plan/run.ts";
import { createSetup, endOf, type FakeRun, type Setup, specFor, startRun } from "../rig/fake-run.ts";
import { type FakeStep, promptOf } from "../rig/fake-steps.ts";
import { processesWithCommand, processesWithEnv, waitGone, waitNoneWithEnv } from "../rig/processes.ts";
import { until } from "../rig/until.ts";
import { CONFORMANCE } from "./conformance.ts";

const MARKER = "PI_SUBAGENTS_RUN_ID";
const STILLBORN = fileURLToPath(new URL("./fixtures/stillborn.mjs", import.meta.url));
const START_SERVER = `require("node:child_process").spawn("sleep", ["77"], { detached: true, stdio: ["ignore", 1, 2] })`;
const WITH_SERVER = `${START_SERVER}; process.stdin.resume()`;
const FAILING_SLOWLY = `process.stdin.resume().on("end", () => { ${START_SERVER}; process.exit(9) })`;
const FAILING = `process.stdin.resume().on("end", () => { console.error("no such model"); process.exit(9) })`;

interface Parking {
	readonly parked: ParkedRun;
	readonly directory: string;
	/** Of the pi that waits. */
	pi(): Promise<number>;
	supervisor(): number;
	plan(steps: readonly FakeStep[]): PlannedRun;
	/** The task is there. */
	begin(steps: readonly FakeStep[]): FakeRun;
}

let setup: Setup;

function park(changes: Partial<RunSpec> = {}): Parking {
	const spec = { ...specFor(setup.project), ...changes };
	const packetOf = (prompt: string): Packet => ({
		prompt,
		apiKey: undefined,
		tools: { kind: "has", names: [] },
		contract: spec.contract,
	});
	const runPlaces = { cwd: setup.project, agentDirectory: setup.temporary, runsIn: "project" };
	const parent = { cwd: setup.project, dialect: "openai-completions", runPlaces } as Parent;
	const parked = parkRun(
		{ spec, files: [{ name: "extra.md", text: "x" }], shortfall: undefined, packet: packetOf("") },
		parent,
	);
	assert.ok(parked);
	const directory = join(setup.project, ".pi/subagents/runs", spec.runId);
	const processes = () => processesWithEnv(MARKER, spec.runId);
	return {
		parked,
		directory,
		async pi() {
			await until(() => processes().length > 0, "a pi that waits");
			return processes()[0]?.pid ?? 0;
		},
		supervisor: () => processesWithCommand(`pi-subagents ${spec.runId}`)[0] ?? 0,
		plan: (steps) => ({ spec, files: [], shortfall: undefined, packet: packetOf(promptOf(...steps)) }),
		begin(steps) {
			const run = parked.begin({ spec, files: [], shortfall: undefined, packet: packetOf(promptOf(...steps)) });
			assert.ok(run.ok, "it can begin");
			return startRun(run.value, undefined, parked.launch);
		},
	};
}

describe("a run that is started ahead of its task", { concurrency: 2 }, () => {
	before(() => {
		setup = createSetup();
	});
	after(() => setup.dispose());

	for (const { name, steps, changes, act, outcome } of CONFORMANCE) {
		test(`${name}, as when it is started in time`, async () => {
			const { begin, pi, directory } = park(changes);
			await pi();
			const run = begin(steps);
			await act(run);
			assert.deepEqual(endOf(await run.done).outcome, outcome);
			assert.deepEqual(processesWithEnv(MARKER, run.runId), []);
			assert.equal(existsSync(join(directory, "parked.json")), false);
		});
	}

	test("The pi that waited is the one that works, and its time counts from the task", async () => {
		const { begin, pi, parked } = park();
		const waiting = await pi();
		const run = begin([{ say: "done" }]);
		assert.equal((await run.pids()).pi, waiting);
		const { startedAt, endedAt } = endOf(await run.done);
		assert.ok(startedAt <= endedAt);
		assert.equal(parked.ids.runId, run.runId);
	});

	test("Its task may come at once", async () => {
		const { begin } = park();
		assert.equal(endOf(await begin([{ say: "done" }]).done).outcome.kind, "completed");
	});

	test("A pi that dies while it waits is replaced, and nobody notices", async () => {
		const { begin, pi, directory } = park();
		const first = await pi();
		process.kill(first, "SIGKILL");
		await waitGone(first);
		const run = begin([{ say: "done" }]);
		assert.deepEqual(endOf(await run.done).outcome, { kind: "completed", text: "done", end: "natural" });
		assert.notEqual((await run.pids()).pi, first);
		assert.equal(readFileSync(join(directory, "stderr.log"), "utf8"), "");
	});

	test("A pi that fails when it gets its task, before it has told anything, is replaced, and its complaint with it", async () => {
		const mark = join(setup.temporary, "second-try");
		const { begin, pi, directory } = park({ invocation: { command: process.execPath, args: [STILLBORN, mark] } });
		await pi();
		await until(() => existsSync(mark), "its first try");
		const run = begin([{ stderr: "well\n" }, { say: "done" }]);
		assert.deepEqual(endOf(await run.done).outcome, { kind: "completed", text: "done", end: "natural" });
		assert.equal(readFileSync(join(directory, "stderr.log"), "utf8"), "well\n");
	});

	test("One that fails again fails, with the reason", async () => {
		const { begin, pi } = park({ invocation: { command: process.execPath, args: ["-e", FAILING] } });
		await pi();
		const { outcome } = endOf(await begin([]).done);
		const exit = { kind: "code", code: 9 };
		assert.deepEqual(outcome, { kind: "failed", failure: { kind: "exit", exit, stderr: "no such model" } });
	});

	test("One that is dropped leaves no process and no file", async () => {
		const { parked, pi, directory } = park();
		await pi();
		await parked.drop();
		await waitNoneWithEnv(MARKER, parked.ids.runId);
		await until(() => !existsSync(directory), "its directory is gone");
		assert.equal(parked.isAlive(), false);
	});

	test("One that is dropped before its supervisor is there leaves nothing either", async () => {
		const { parked, directory } = park();
		await parked.drop();
		await until(() => !existsSync(directory), "its directory is gone");
		await waitNoneWithEnv(MARKER, parked.ids.runId);
	});

	test("One whose supervisor is killed says so, and its pi goes", async () => {
		const { parked, pi, supervisor } = park();
		await pi();
		process.kill(supervisor(), "SIGKILL");
		await until(() => !parked.isAlive(), "it is known to be dead");
		await waitNoneWithEnv(MARKER, parked.ids.runId);
	});

	test("One whose directory is taken away does not begin", async () => {
		const { parked, pi, directory } = park();
		await pi();
		rmSync(directory, { recursive: true });
		const begun = parked.begin({
			spec: specFor(setup.project),
			files: [],
			shortfall: undefined,
			packet: { prompt: "", apiKey: undefined, tools: { kind: "has", names: [] }, contract: { kind: "last-text" } },
		});
		assert.equal(begun.ok, false);
		await parked.drop();
		await waitNoneWithEnv(MARKER, parked.ids.runId);
	});

	test("A task that wants another child than the one that waits gets its own", async () => {
		const { parked, pi } = park();
		const waiting = await pi();
		const spec = { ...specFor(setup.project), runId: parked.ids.runId };
		const other = { ...spec, cwd: setup.temporary };
		const packet: Packet = {
			prompt: promptOf({ cwd: true }),
			apiKey: undefined,
			tools: { kind: "has", names: [] },
			contract: spec.contract,
		};
		const begun = parked.begin({ spec: other, files: [], shortfall: undefined, packet });
		assert.ok(begun.ok);
		const run = startRun(begun.value, undefined, parked.launch);
		const { outcome } = endOf(await run.done);
		assert.ok(outcome.kind === "completed");
		assert.equal(outcome.text, setup.temporary);
		assert.notEqual((await run.pids()).pi, waiting);
	});

	test("One that is dropped takes what its extensions started with it", async () => {
		const { parked, pi, directory } = park({ invocation: { command: process.execPath, args: ["-e", WITH_SERVER] } });
		await pi();
		await until(() => processesWithEnv(MARKER, parked.ids.runId).length === 2, "its server");
		await parked.drop();
		await waitNoneWithEnv(MARKER, parked.ids.runId);
		assert.equal(existsSync(directory), false);
	});

	test("One whose supervisor stands still does not answer, and is killed when it is dropped", async () => {
		const { parked, pi, supervisor } = park();
		await pi();
		assert.equal(await parked.answers(), true);
		process.kill(supervisor(), "SIGSTOP");
		assert.equal(await parked.answers(), false);
		await parked.drop();
		await waitNoneWithEnv(MARKER, parked.ids.runId);
	});

	test("One that is stopped before its task comes is no leftover of itself", async () => {
		const { begin, pi, directory } = park();
		await pi();
		const run = begin([{ hang: true }]);
		run.abort();
		const { leftovers } = endOf(await run.done);
		assert.deepEqual(leftovers, []);
		assert.equal(existsSync(join(directory, "parked.json")), false);
	});

	test("A stop while one that failed is being replaced counts: no other is started", async () => {
		const { begin, pi } = park({ invocation: { command: process.execPath, args: ["-e", FAILING_SLOWLY] } });
		await pi();
		const run = begin([]);
		await run.until(({ phase }) => phase.kind === "running");
		await until(() => processesWithEnv(MARKER, run.runId).length === 1, "pi is gone, what it started holds its pipe");
		run.abort();
		const { outcome } = endOf(await run.done);
		assert.deepEqual(outcome, {
			kind: "failed",
			failure: { kind: "stopped", cause: { kind: "aborted", by: "caller" } },
		});
		assert.equal(run.states.filter(({ phase }) => phase.kind === "running").length >= 1, true);
		assert.deepEqual(processesWithEnv(MARKER, run.runId), []);
	});

	test("A stop while it is handed over ends it: it has not begun", async () => {
		const { parked, pi, plan, directory } = park();
		await pi();
		const request = parked.ids as RunRequest;
		const row = {
			request,
			plan: { ok: true as const, value: plan([{ say: "never" }]) },
			parked,
			directory: undefined,
			moved: false,
			state: initialState,
		};
		const stop = new AbortController();
		const preparing = prepareRow(row, { warn() {} } as unknown as Host, { cwd: setup.project } as Parent, stop.signal);
		stop.abort();
		assert.equal((await preparing).ok, false);
		await waitNoneWithEnv(MARKER, parked.ids.runId);
		await until(() => !existsSync(directory), "its directory is gone");
	});
});
