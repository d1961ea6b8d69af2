import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { socketPathOf } from "../../src/child/protocol.ts";
import { stopOrphans } from "../../src/child/stop-ladder.ts";
import type { BackgroundRun } from "../../src/domain/kept-run.ts";
import { createRunStore } from "../../src/records/run-store.ts";
import { COMPLETION_MESSAGE, RUN_ENTRY, UPDATE_ENTRY } from "../../src/records/session-entries.ts";
import type { PreparedRun } from "../../src/run/execute.ts";
import { start } from "../../src/run/execute.ts";
import { findRun } from "../../src/run/watch.ts";
import { createBackground } from "../../src/session/background.ts";
import { createSetup, endOf, type Setup } from "../rig/fake-run.ts";
import type { FakeStep } from "../rig/fake-steps.ts";
import { isAlive, isStopped, processesWithEnv, waitGone, waitNoneWithEnv } from "../rig/processes.ts";
import { createRecordedSession, type RecordedSession } from "../rig/recorded-session.ts";
import { startingRun } from "../rig/records.ts";
import { until } from "../rig/until.ts";

const PARENT = fileURLToPath(new URL("../run/fixtures/parent.ts", import.meta.url));
const CLOCK_BACK = fileURLToPath(new URL("./fixtures/clock-back.ts", import.meta.url));
const LAST_PID = "/proc/sys/kernel/ns_last_pid";
const TALKS: FakeStep[] = [{ delta: "what it had said" }, { hang: true }];

let setup: Setup;
const bystanders: ChildProcess[] = [];
before(() => {
	setup = createSetup();
});
afterEach(() => {
	for (const each of bystanders.splice(0)) each.kill("SIGKILL");
});
after(() => setup.dispose());

const eventsIn = (directory: string) => readFileSync(join(directory, "events.jsonl"), "utf8");
const pidsIn = (directory: string): { supervisorPid: number; pid: number } =>
	JSON.parse(
		eventsIn(directory)
			.split("\n")
			.find((line) => line.includes('"started"')) ?? "",
	).event;

/** Somebody else's process. */
async function bystander(): Promise<ChildProcess> {
	const child = spawn("sleep", ["300"], { stdio: "ignore", env: { PATH: process.env.PATH } });
	await once(child, "spawn");
	bystanders.push(child);
	return child;
}

/** Somebody else's process with this pid, or why there can be none. */
async function bystanderWithPid(pid: number): Promise<ChildProcess | string> {
	for (let attempt = 0; attempt < 1_000; attempt++) {
		try {
			writeFileSync(LAST_PID, String(pid - 1));
		} catch (error) {
			return `the next pid cannot be chosen here: ${error instanceof Error ? error.message : error}`;
		}
		const child = await bystander();
		if (child.pid === pid) return child;
		child.kill("SIGKILL"); // another process of this machine was faster
		await once(child, "exit");
	}
	return "other processes of this machine were faster 1000 times";
}

describe("a pid that was given to somebody else", () => {
	test("A parent that loses its run does not signal whoever has its child's pid now (F49)", async (t) => {
		const run: PreparedRun = setup.prepare(TALKS);
		const file = join(setup.temporary, "reused.json");
		writeFileSync(file, JSON.stringify(run));
		const parent = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", PARENT, file], {
			stdio: ["ignore", "pipe", "inherit"],
		});
		await once(parent.stdout ?? parent, "data");
		const { supervisorPid, pid } = pidsIn(run.directory);
		parent.kill("SIGSTOP"); // it is to notice only when the pid is somebody else's
		await until(() => isStopped(parent.pid ?? 0), "the parent to stand still");
		for (const each of [supervisorPid, pid]) process.kill(each, "SIGKILL");
		await Promise.all([supervisorPid, pid].map((each) => waitGone(each)));
		const other = await bystanderWithPid(pid);
		parent.kill("SIGCONT");
		const [code] = await once(parent, "exit");
		assert.equal(code, 0);
		if (typeof other === "string") return t.skip(other);
		assert.ok(isAlive(pid) && other.exitCode === null && other.signalCode === null);
	});

	test("Nor does whoever is told a pid that never was the run's (F49)", async () => {
		const other = await bystander();
		assert.deepEqual(await stopOrphans("20260102-030405-0a1b2c3d", other.pid, 100), []);
		assert.ok(isAlive(other.pid ?? 0));
	});
});

/** A start of pi with this session. */
function open(session: RecordedSession) {
	const store = createRunStore();
	return { store, background: createBackground(store, session.port) };
}

async function begin(
	steps: readonly FakeStep[],
	{ background }: ReturnType<typeof open>,
	owner: string,
): Promise<BackgroundRun> {
	const prepared = setup.prepare(steps, { lifetime: "background", family: "preset" });
	const run = startingRun(prepared, owner);
	const started = await start(prepared, (control) => background.add(run, control, "token"));
	assert.ok(started.ok, JSON.stringify(started));
	return run;
}

describe("after the machine was started anew", () => {
	for (const [what, hasSocketFile] of [
		["with a temporary directory that was emptied", false],
		["with the dead socket still there", true],
	] as const) {
		test(`A run is lost, ${what}, and nobody who has its pids now is signalled (F50)`, async () => {
			const session = createRecordedSession();
			const first = open(session);
			const run = await begin(TALKS, first, "recorded");
			await until(() => eventsIn(run.directory).includes('"delta":"what it'), "its words");
			const { supervisorPid, pid } = pidsIn(run.directory);
			first.background.detach();
			for (const each of [supervisorPid, pid]) process.kill(each, "SIGKILL");
			await waitNoneWithEnv("PI_SUBAGENTS_RUN_ID", run.runId);
			await waitGone(supervisorPid);
			if (!hasSocketFile) rmSync(socketPathOf(run.runId), { force: true });
			assert.equal(existsSync(socketPathOf(run.runId)), hasSocketFile);
			// The same numbers belong to others after a start of the machine.
			const others = [await bystander(), await bystander()];
			const events = eventsIn(run.directory)
				.replaceAll(`"supervisorPid":${supervisorPid}`, `"supervisorPid":${others[0]?.pid}`)
				.replaceAll(`"pid":${pid}`, `"pid":${others[1]?.pid}`);
			writeFileSync(join(run.directory, "events.jsonl"), events);

			const next = open(session);
			await next.background.rebuild([...session.entries]);
			await session.until(() => session.of(UPDATE_ENTRY).length === 1);
			const [update] = session.of(UPDATE_ENTRY);
			assert.deepEqual([update?.status, update?.text], ["failed", "what it had said"]);
			assert.match(String(update?.errorMessage), /lost/);
			assert.equal(session.of(COMPLETION_MESSAGE).length, 1);
			for (const other of others) assert.ok(isAlive(other.pid ?? 0));
		});
	}
});

describe("two of them", () => {
	test("Two sessions in one project, both watching: each is told of its own run, once (F51)", async () => {
		const sessions = [createRecordedSession("one"), createRecordedSession("two")];
		const opened = sessions.map(open);
		const runs = await Promise.all(
			opened.map((each, at) => begin([{ sleep: 100 }, { say: `answer ${at}` }], each, at === 0 ? "one" : "two")),
		);
		for (const [at, session] of sessions.entries()) {
			await session.until(() => session.of(COMPLETION_MESSAGE).length > 0);
			const again = open(session);
			await again.background.rebuild([...session.entries]);
			await session.until(() => again.store.counts().running === 0);
			for (const type of [RUN_ENTRY, UPDATE_ENTRY, COMPLETION_MESSAGE]) {
				assert.deepEqual(
					session.of(type).map(({ runId }) => runId),
					[runs[at]?.runId],
					type,
				);
			}
			assert.equal(session.notifications.length, 1);
		}
	});
});

describe("time", () => {
	test("A supervisor that stood still for longer than its run may take goes on, and its run has not timed out (F55)", async () => {
		const limits = { timeoutMs: 4_000, idleGraceMs: 0, repeatedCalls: 5 };
		const run = setup.start([{ delta: "here" }, { sleep: 5_500 }, { say: "done" }], { limits });
		await run.until(({ partial }) => partial !== "");
		const { supervisor, pi } = await run.pids();
		process.kill(supervisor, "SIGSTOP");
		try {
			await waitGone(pi); // its work took longer than the timeout
			assert.deepEqual(
				run.states.filter(({ phase }) => phase.kind === "done"),
				[],
				"it is not declared dead",
			);
			const found = await findRun({
				runId: run.runId,
				directory: run.directory,
				socket: socketPathOf(run.runId),
				distrusted: false,
			});
			assert.equal(found.kind, "alive");
			if (found.kind === "alive") found.control.close();
		} finally {
			process.kill(supervisor, "SIGCONT");
		}
		const result = endOf(await run.done);
		assert.deepEqual(result.outcome, { kind: "completed", text: "done", end: "natural" });
		assert.deepEqual(processesWithEnv("PI_SUBAGENTS_RUN_ID", run.runId), []);
	});

	/** Sets the clock of supervisors back as soon as the file is there. */
	function clockOf(t: TestContext): string {
		const before = process.env.NODE_OPTIONS;
		const file = join(setup.temporary, `back-${t.name.length}-${process.hrtime.bigint()}`);
		t.after(() => {
			delete process.env.CLOCK_BACK;
			if (before === undefined) delete process.env.NODE_OPTIONS;
			else process.env.NODE_OPTIONS = before;
		});
		process.env.NODE_OPTIONS = `--disable-warning=ExperimentalWarning --import=${CLOCK_BACK}`;
		process.env.CLOCK_BACK = file;
		return file;
	}

	test("A clock that is set back an hour ends no run early, and none before its beginning (F56)", async (t) => {
		const clock = clockOf(t);
		const limits = { timeoutMs: 30_000, idleGraceMs: 0, repeatedCalls: 5 };
		const run = setup.start([{ delta: "here" }, { sleep: 500 }, { say: "done" }], { limits });
		await run.until(({ partial }) => partial !== "");
		writeFileSync(clock, "");
		const result = endOf(await run.done);
		assert.deepEqual(result.outcome, { kind: "completed", text: "done", end: "natural" });
		assert.ok(result.startedAt > 0 && result.endedAt >= result.startedAt, `${result.startedAt}–${result.endedAt}`);
	});

	test("And a timeout still comes, after the time that was asked for (F56)", async (t) => {
		const clock = clockOf(t);
		const limits = { timeoutMs: 1_500, idleGraceMs: 0, repeatedCalls: 5 };
		const since = performance.now();
		const run = setup.start(TALKS, { limits });
		await run.until(({ phase }) => phase.kind === "running");
		writeFileSync(clock, "");
		const result = endOf(await run.done);
		const cause = { kind: "timeout", afterMs: 1_500 };
		assert.deepEqual(result.outcome, { kind: "failed", failure: { kind: "stopped", cause } });
		assert.ok(result.endedAt >= result.startedAt);
		assert.ok(performance.now() - since >= 1_500);
	});

	test("Nor does a parent whose clock was set back tell an end before the beginning (F56)", async (t) => {
		const run = setup.start(TALKS);
		await run.until(({ partial }) => partial !== "");
		const real = Date.now.bind(Date);
		t.mock.method(Date, "now", () => real() - 60 * 60 * 1_000);
		process.kill((await run.pids()).supervisor, "SIGKILL");
		const result = endOf(await run.done);
		assert.deepEqual(result.outcome, { kind: "failed", failure: { kind: "lost" } });
		assert.ok(result.endedAt >= result.startedAt, `${result.startedAt}–${result.endedAt}`);
	});
});
