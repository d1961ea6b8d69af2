import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { REMINDER } from "../../src/child/corrections.ts";
import { parkPi } from "../../src/child/parked-pi.ts";
import { createRun } from "../../src/child/supervised-run.ts";
import { openArtifacts } from "../../src/run-directory/artifacts.ts";
import { createSetup, type Setup } from "../rig/fake-run.ts";
import type { FakeStep } from "../rig/fake-steps.ts";
import { isAlive, waitGone } from "../rig/processes.ts";

describe("a supervised run", { concurrency: 4 }, () => {
	let setup: Setup;
	before(() => {
		setup = createSetup();
	});
	after(() => setup.dispose());

	test("Cannot be stopped when it is over: kept processes stay, and no event follows the last", async () => {
		const steps = [{ spawn: ["sleep", "66"], detached: true }, { exit: 3 }];
		const { spec, directory, packet } = setup.prepare(steps, { leftovers: "keep" });
		const run = createRun(spec, openArtifacts(directory), parkPi(spec, "on time", directory));
		const result = await run.carryOut(packet);
		const [job] = result.leftovers;
		assert.equal(job?.command, "sleep 66");
		const events = readFileSync(join(directory, "events.jsonl"), "utf8");
		run.stop({ kind: "aborted", by: "parent-death" });
		await new Promise((resolve) => setImmediate(resolve));
		const alive = isAlive(job?.pid ?? 0);
		process.kill(job?.pid ?? 0, "SIGKILL");
		await waitGone(job?.pid ?? 0);
		assert.ok(alive);
		assert.equal(readFileSync(join(directory, "events.jsonl"), "utf8"), events);
	});

	test("That is stopped before it was given its task never starts pi", async () => {
		const { spec, directory, packet } = setup.prepare([{ say: "never" }]);
		const run = createRun(spec, openArtifacts(directory), parkPi(spec, "on time", directory));
		run.stop({ kind: "aborted", by: "person" });
		const result = await run.carryOut(packet);
		assert.deepEqual(result.outcome, {
			kind: "failed",
			failure: { kind: "stopped", cause: { kind: "aborted", by: "person" } },
		});
		assert.doesNotMatch(readFileSync(join(directory, "events.jsonl"), "utf8"), /"started"/);
	});

	test("That never gets its task has failed to start, and says why", async () => {
		const { spec, directory } = setup.prepare([{ say: "never" }]);
		const result = await createRun(spec, openArtifacts(directory), parkPi(spec, "on time", directory)).carryOut(
			undefined,
		);
		assert.deepEqual(result.outcome, {
			kind: "failed",
			failure: { kind: "spawn", message: "the parent never sent the task" },
		});
	});

	const FINALIZE = { kind: "finalize", attempts: 3 } as const;
	const unfinalized = (attempts: number) => ({ kind: "failed", failure: { kind: "unfinalized", attempts } });
	const refused: FakeStep = { tool: "subagent_finalize", result: "SUCCESS needs a result", isError: true };
	const cases: { name: string; steps: FakeStep[]; processes: number; outcome: unknown }[] = [
		{
			name: "X22: leaves without its answer is started again with a reminder, three times in all",
			steps: [{ say: "done" }],
			processes: 4,
			outcome: unfinalized(3),
		},
		{
			name: "X22: lingers without its answer is ended and started again",
			steps: [{ say: "done" }, { linger: 60_000 }],
			processes: 4,
			outcome: unfinalized(3),
		},
		{
			name: "X22: leaves before it has settled, with nothing more to do, is started again",
			steps: [{ say: "done" }, { exit: 0 }],
			processes: 4,
			outcome: unfinalized(3),
		},
		{
			name: "X22: was corrected in its own process, by reminders and refused calls alike, has so many fewer left",
			steps: [{ say: "done" }, { user: REMINDER }, refused, { say: "done" }],
			processes: 2,
			outcome: unfinalized(3),
		},
		{
			name: "X22: was corrected three times in its own process is not started again",
			steps: [refused, refused, { user: REMINDER }, { say: "done" }],
			processes: 1,
			outcome: unfinalized(3),
		},
		{
			name: "X22: crashed after it had settled is not started again",
			steps: [{ say: "done" }, { settle: true }, { exit: 3 }],
			processes: 1,
			outcome: unfinalized(0),
		},
		{
			name: "X22: crashed is not started again",
			steps: [{ say: "done" }, { signal: "SIGKILL" }],
			processes: 1,
			outcome: { kind: "failed", failure: { kind: "exit", exit: { kind: "signal", signal: "SIGKILL" }, stderr: "" } },
		},
		{
			name: "X22: left in the middle of its work is not started again",
			steps: [{ tool: "ls", unfinished: true }, { exit: 0 }],
			processes: 1,
			outcome: { kind: "failed", failure: { kind: "exit", exit: { kind: "code", code: 0 }, stderr: "" } },
		},
		{
			name: "X22: was let down by its model is not started again",
			steps: [{ say: "half", stopReason: "error", errorMessage: "529" }],
			processes: 1,
			outcome: { kind: "failed", failure: { kind: "model", message: "529" } },
		},
	];
	for (const { name, steps, processes, outcome } of cases) {
		test(`${name.slice(0, 5)}a run under the finalize contract whose child ${name.slice(5)}`, async () => {
			const { spec, directory, packet } = setup.prepare(steps, { contract: FINALIZE });
			const result = await createRun(spec, openArtifacts(directory), parkPi(spec, "on time", directory)).carryOut(
				packet,
			);
			assert.deepEqual(result.outcome, outcome);
			const events = readFileSync(join(directory, "events.jsonl"), "utf8");
			const pids = [...events.matchAll(/"type":"started".*"pid":(\d+)/g)].map(([, pid]) => pid);
			assert.deepEqual([pids.length, new Set(pids).size], [processes, processes]);
			assert.ok(result.startedAt <= result.endedAt);
		});
	}

	test("A child that goes on with its session can be stopped like any other, and the stop is the outcome (X22, C29)", async () => {
		const { spec, directory, packet } = setup.prepare([{ say: "done" }], { contract: FINALIZE });
		const run = createRun(spec, openArtifacts(directory), parkPi(spec, "on time", directory));
		const events = () => readFileSync(join(directory, "events.jsonl"), "utf8");
		run.onGrowth(() => {
			if (events().split('"type":"started"').length === 3) run.stop({ kind: "aborted", by: "person" });
		});
		const result = await run.carryOut(packet);
		assert.deepEqual(result.outcome, {
			kind: "failed",
			failure: { kind: "stopped", cause: { kind: "aborted", by: "person" } },
		});
		assert.equal(events().split('"type":"started"').length, 3);
	});
});
