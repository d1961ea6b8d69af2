import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { RunState } from "../../src/domain/state.ts";
import { createSetup, endOf, resultIn, type Setup, startRun } from "../rig/fake-run.ts";
import { isAlive, processesWithEnv, waitGone } from "../rig/processes.ts";

const ABORTED = { kind: "failed", failure: { kind: "stopped", cause: { kind: "aborted", by: "caller" } } };
const limits = { timeoutMs: 60_000, idleGraceMs: 0, repeatedCalls: 5 };

/** The pid that a `spawn` step of the fake has reported. */
function grandchildOf(state: RunState): number {
	const entry = state.entries.find((each) => each.kind === "message" && each.message.role === "toolResult");
	assert.ok(entry?.kind === "message" && Array.isArray(entry.message.content));
	return Number((entry.message.content[0] as { text: string }).text);
}

const left = (runId: string) => processesWithEnv("PI_SUBAGENTS_RUN_ID", runId);

describe("how a run is stopped", { concurrency: 4 }, () => {
	let setup: Setup;
	before(() => {
		setup = createSetup();
	});
	after(() => setup.dispose());

	test("A child that takes too long is stopped, and the configured time is named (A60)", async () => {
		const run = setup.start([{ delta: "thinking" }, { hang: true }], { limits: { ...limits, timeoutMs: 2_500 } });
		const result = endOf(await run.done);
		assert.deepEqual(result.outcome, {
			kind: "failed",
			failure: { kind: "stopped", cause: { kind: "timeout", afterMs: 2_500 } },
		});
		assert.equal(result.text, "thinking");
		assert.deepEqual(left(run.runId), []);
	});

	test("Tool calls put the end off for as long as they keep coming (A62, F22)", async () => {
		const busy = setup.start(
			[
				{
					repeat: 13,
					steps: [{ tool: "read", args: { path: "a" } }, { sleep: 150 }, { tool: "ls", args: {} }, { sleep: 150 }],
				},
				{ say: "made it" },
			],
			{ limits: { ...limits, timeoutMs: 500, idleGraceMs: 2_500 } },
		);
		const idle = setup.start([{ tool: "read", args: { path: "a" } }, { hang: true }], {
			limits: { ...limits, timeoutMs: 200, idleGraceMs: 600 },
		});
		assert.equal(endOf(await busy.done).outcome.kind, "completed");
		const late = endOf(await idle.done);
		assert.deepEqual(late.outcome, {
			kind: "failed",
			failure: { kind: "stopped", cause: { kind: "timeout", afterMs: 200 } },
		});
		assert.ok(late.endedAt - late.startedAt >= 700, `stopped after ${late.endedAt - late.startedAt} ms`);
	});

	test("The fifth identical call in a row is a loop; A68, W6: different edits of one file are none (A66, A69)", async () => {
		const edit = (text: string) => ({
			tool: "edit",
			args: { path: "a.ts", edits: [{ oldText: text, newText: `${text}!` }] },
		});
		const loop = setup.start([{ repeat: 5, steps: [edit("same")] }, { say: "never said" }, { hang: true }]);
		const work = setup.start([...[..."abcdefgh"].map(edit), { say: "edited" }]);
		const broken = setup.start([
			{ repeat: 4, steps: [edit("same")] },
			edit("other"),
			{ repeat: 4, steps: [edit("same")] },
			{ say: "no loop" },
		]);
		assert.deepEqual(endOf(await loop.done).outcome, {
			kind: "failed",
			failure: { kind: "stopped", cause: { kind: "loop", tool: "edit" } },
		});
		assert.equal(endOf(await work.done).outcome.kind, "completed");
		assert.equal(endOf(await broken.done).outcome.kind, "completed");
	});

	test("An abort before the start starts nothing (F20)", async () => {
		const prepared = setup.prepare([{ hang: true }]);
		const state = await startRun(prepared, AbortSignal.abort()).done;
		assert.deepEqual(endOf(state).outcome, ABORTED);
		assert.ok(!existsSync(join(prepared.directory, "events.jsonl")));
	});

	test("An abort while the supervisor starts is an abort, and pi is never started (F20)", async () => {
		const run = setup.start([{ hang: true }]);
		setImmediate(run.abort);
		const result = endOf(await run.done);
		assert.deepEqual(result.outcome, ABORTED);
		assert.deepEqual(resultIn(run.directory).outcome, ABORTED);
		assert.ok(!run.states.some(({ phase }) => phase.kind === "running"));
	});

	test("An abort while it works keeps what was said (A61)", async () => {
		const run = setup.start([{ say: "first" }, { delta: "second, but" }, { hang: true }]);
		await run.until(({ partial }) => partial === "second, but");
		run.abort();
		const result = endOf(await run.done);
		assert.deepEqual(result.outcome, ABORTED);
		assert.equal(result.text, "second, but");
		assert.deepEqual(result.exit, { kind: "code", code: 143 });
		assert.deepEqual(left(run.runId), []);
	});

	test("An abort after the answer does not undo it (F19)", async () => {
		const run = setup.start([{ say: "there you are" }, { linger: 60_000 }]);
		await run.until(({ settled }) => settled);
		run.abort();
		const result = endOf(await run.done);
		assert.deepEqual(result.outcome, { kind: "completed", text: "there you are", end: "natural" });
		run.abort();
		assert.deepEqual(left(run.runId), []);
	});

	test("A child that ignores SIGTERM is killed after 5 s, and is no leftover of itself (A59, W4, F15)", async () => {
		const run = setup.start([{ deaf: true }, { say: "la la la" }, { hang: true }]);
		await run.until(({ entries }) => entries.length === 2);
		const at = performance.now();
		run.abort();
		const result = endOf(await run.done);
		const took = performance.now() - at;
		assert.ok(took > 4_500 && took < 9_000, `took ${took} ms`);
		assert.deepEqual(result.outcome, ABORTED);
		assert.deepEqual(result.exit, { kind: "signal", signal: "SIGKILL" });
		assert.deepEqual(result.leftovers, []);
		assert.deepEqual(left(run.runId), []);
	});

	test("A child that is stopped (SIGSTOP) is killed as well, with what it had started (F16)", async () => {
		const run = setup.start([{ spawn: ["sleep", "67"], detached: true }, { delta: "here" }, { hang: true }]);
		await run.until(({ partial }) => partial !== "");
		process.kill((await run.pids()).pi, "SIGSTOP");
		run.abort();
		assert.deepEqual(endOf(await run.done).outcome, ABORTED);
		assert.deepEqual(left(run.runId), []);
	});

	test("Whenever an abort comes, there is one end, the same for all, and nothing is left (F19)", async () => {
		const delays = Array.from({ length: 12 }, () => Math.floor(Math.random() * 500));
		const ends = delays.map(async (delay) => {
			const run = setup.start([{ say: "quick" }]);
			setTimeout(run.abort, delay);
			const result = endOf(await run.done);
			const words = `aborted after ${delay} ms: ${JSON.stringify(result)}`;
			if (result.outcome.kind === "failed") assert.deepEqual(result.outcome, ABORTED, words);
			else assert.equal(result.text, "quick", words);
			assert.deepEqual(resultIn(run.directory).outcome, result.outcome, words);
			assert.deepEqual(left(run.runId), [], words);
			assert.equal(run.states.filter(({ phase }) => phase.kind === "done").length, 1, words);
		});
		await Promise.all(ends);
	});

	test("A child that stays after its answer is helped out: completed, exit code 0 (F26)", async () => {
		const run = setup.start([{ say: "answer" }, { linger: 60_000 }]);
		const deaf = setup.start([{ say: "deaf answer" }, { deaf: true }, { linger: 60_000 }]);
		const answered = deaf.until(({ settled }) => settled).then(() => performance.now());
		const result = endOf(await run.done);
		assert.deepEqual(result.outcome, { kind: "completed", text: "answer", end: "natural" });
		assert.deepEqual(result.exit, { kind: "code", code: 0 });
		assert.equal(endOf(await deaf.done).outcome.kind, "completed");
		const took = performance.now() - (await answered);
		assert.ok(took < 5_500, `the answer was held up for ${took} ms`);
		assert.deepEqual(left(run.runId), []);
		assert.deepEqual(left(deaf.runId), []);
	});

	test("A grandchild that holds stdout holds up nothing, whether it can be found or not (F27)", async () => {
		const sleeper = { spawn: ["sleep", "60"], detached: true, holdStdout: true };
		const marked = setup.start([sleeper, { say: "answer" }]);
		const hidden = setup.start([{ ...sleeper, environment: { PI_SUBAGENTS_RUN_ID: "" } }, { say: "answer" }]);
		assert.equal(endOf(await marked.done).outcome.kind, "completed");
		const state = await hidden.done;
		const result = endOf(state);
		assert.equal(result.outcome.kind, "completed");
		assert.ok(result.endedAt - result.startedAt < 10_000);
		process.kill(grandchildOf(state), "SIGKILL");
	});

	test("What a child leaves behind is ended and named, or kept and named (F12)", async () => {
		const steps = [{ spawn: ["sleep", "61"], detached: true }, { say: "started a server" }];
		const ended = setup.start(steps);
		const kept = setup.start(steps, { leftovers: "keep" });
		const first = await ended.done;
		assert.deepEqual(endOf(first).leftovers, [{ pid: grandchildOf(first), command: "sleep 61" }]);
		assert.ok(!isAlive(grandchildOf(first)));
		const second = await kept.done;
		const pid = grandchildOf(second);
		assert.deepEqual(endOf(second).leftovers, [{ pid, command: "sleep 61" }]);
		assert.ok(isAlive(pid));
		process.kill(pid, "SIGKILL");
		await waitGone(pid);
	});

	test("Kept processes outlive a child that has to be helped out, too (F12)", async () => {
		const steps = [{ spawn: ["sleep", "62"], detached: true }, { say: "started" }, { linger: 60_000 }];
		const state = await setup.start(steps, { leftovers: "keep" }).done;
		const pid = grandchildOf(state);
		assert.ok(isAlive(pid));
		assert.deepEqual(endOf(state).leftovers, [{ pid, command: "sleep 62" }]);
		process.kill(pid, "SIGKILL");
		await waitGone(pid);
	});

	test("Kept processes outlive a child that broke off; nothing is told of the run after its end (F12)", async () => {
		const steps = [{ spawn: ["sleep", "65"], detached: true }, { exit: 3 }];
		for (let round = 0; round < 4; round++) {
			const run = setup.start(steps, { leftovers: "keep" });
			const state = await run.done;
			const pid = grandchildOf(state);
			const kept = isAlive(pid);
			if (kept) process.kill(pid, "SIGKILL");
			assert.ok(kept);
			assert.ok(!readFileSync(join(run.directory, "events.jsonl"), "utf8").includes('"stopping"'));
		}
	});

	test("Nothing is kept of a run that was aborted (F12)", async () => {
		const steps = [{ spawn: ["sleep", "63"], detached: true }, { hang: true as const }];
		const run = setup.start(steps, { leftovers: "keep" });
		const working = await run.until(({ entries }) => entries.length === 3);
		run.abort();
		const result = endOf(await run.done);
		assert.ok(!isAlive(grandchildOf(working)));
		assert.deepEqual(result.leftovers, [{ pid: grandchildOf(working), command: "sleep 63" }]);
	});

	test("A process that keeps starting others does not outrun the sweep (F14)", async () => {
		// Bounded, so that a sweep that fails does not fill the machine.
		const script = "n=0; while [ $n -lt 300 ]; do n=$((n+1)); (exec sleep 9) & (exec sleep 0.01); done";
		const run = setup.start([{ spawn: ["sh", "-c", script], detached: true }, { sleep: 200 }, { say: "answer" }]);
		assert.ok(endOf(await run.done).leftovers.length > 1);
		assert.deepEqual(left(run.runId), []);
	});

	test("No socket of a run that has ended is left", async () => {
		const run = setup.start([{ say: "x" }]);
		await run.done;
		const [directory = ""] = readdirSync(setup.temporary).filter((name) => name.startsWith("pi-subagents-"));
		assert.ok(!readdirSync(join(setup.temporary, directory)).includes(run.runId));
	});
});
