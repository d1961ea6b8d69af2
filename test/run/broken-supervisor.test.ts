import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { endStatusOf } from "../../src/domain/kept-run.ts";
import { describeFailure } from "../../src/present/text.ts";
import { createSetup, endOf, resultIn } from "../rig/fake-run.ts";
import { waitNoneWithEnv } from "../rig/processes.ts";

/** Loaded into supervisors: one that is sent this signal has a bug. */
const BUG = 'if (process.argv[2] === "supervise") process.on("SIGUSR2", () => { throw new Error("a bug"); });';

test("A supervisor that fails stops its run, which has failed for that reason and was not aborted (X13, X16)", async (t) => {
	const setup = createSetup();
	const before = process.env.NODE_OPTIONS;
	t.after(() => {
		if (before === undefined) delete process.env.NODE_OPTIONS;
		else process.env.NODE_OPTIONS = before;
		setup.dispose();
	});
	process.env.NODE_OPTIONS = `${before ?? ""} --import=data:text/javascript,${encodeURIComponent(BUG)}`;
	const run = setup.start([{ delta: "so far" }, { hang: true }]);
	await run.until(({ partial }) => partial !== "");
	process.kill((await run.pids()).supervisor, "SIGUSR2");
	const { outcome, text } = endOf(await run.done);
	assert.deepEqual([text, endStatusOf(outcome)], ["so far", "failed"]);
	assert.ok(outcome.kind === "failed");
	assert.equal(describeFailure(outcome.failure), "Sub-agent was stopped because its supervisor failed: a bug");
	assert.deepEqual(resultIn(run.directory).outcome, outcome);
	assert.match(readFileSync(join(run.directory, "stderr.log"), "utf8"), /^supervisor: Error: a bug\n/);
	await waitNoneWithEnv("PI_SUBAGENTS_RUN_ID", run.runId);
});
