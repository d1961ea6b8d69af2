import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { openArtifacts } from "../../src/child/artifacts.ts";
import { createRun } from "../../src/child/supervised-run.ts";
import { createYard, type Yard } from "../rig/fake-run.ts";
import { isAlive, waitGone } from "../rig/processes.ts";

describe("a supervised run", { concurrency: 3 }, () => {
	let yard: Yard;
	before(() => {
		yard = createYard();
	});
	after(() => yard.dispose());

	test("cannot be stopped when it is over: kept processes stay, and no event follows the last", async () => {
		const steps = [{ spawn: ["sleep", "66"], detached: true }, { exit: 3 }];
		const { spec, directory, packet } = yard.prepare(steps, { leftovers: "keep" });
		const run = createRun(spec, openArtifacts(directory));
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

	test("that is stopped before it was given its task never starts pi", async () => {
		const { spec, directory, packet } = yard.prepare([{ say: "never" }]);
		const run = createRun(spec, openArtifacts(directory));
		run.stop({ kind: "aborted", by: "person" });
		const result = await run.carryOut(packet);
		assert.deepEqual(result.outcome, {
			kind: "failed",
			failure: { kind: "stopped", cause: { kind: "aborted", by: "person" } },
		});
		assert.doesNotMatch(readFileSync(join(directory, "events.jsonl"), "utf8"), /"started"/);
	});

	test("that never gets its task has failed to start, and says why", async () => {
		const { spec, directory } = yard.prepare([{ say: "never" }]);
		const result = await createRun(spec, openArtifacts(directory)).carryOut(undefined);
		assert.deepEqual(result.outcome, {
			kind: "failed",
			failure: { kind: "spawn", message: "the parent never sent the task" },
		});
	});
});
