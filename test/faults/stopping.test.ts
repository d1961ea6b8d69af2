import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { toolOutcomes } from "../rig/delegation.ts";
import { createSetup, endOf, resultIn, type Setup } from "../rig/fake-run.ts";
import { text } from "../rig/model-server.ts";
import { processesWithEnv, waitNoneWithEnv } from "../rig/processes.ts";
import { until } from "../rig/until.ts";
import { beginRun, extensionFor, MARKER, setupFor } from "./setup.ts";

/** How many aborts are tried, half of them before the child's end and half after it; more in a soak. */
const RACES = Number(process.env.RACES ?? 24);
const AT_ONCE = 4;
const WORK_MS = 120;

describe("an abort at the moment of the end", () => {
	let setup: Setup;
	before(() => {
		setup = createSetup();
	});
	after(() => setup.dispose());

	test(`${RACES} aborts within a few milliseconds of a child's end: one end each, the same for everybody (F19)`, async (t) => {
		const ends = { completed: 0, failed: 0 };
		const race = async (number: number) => {
			const run = setup.start([{ delta: "almost" }, { sleep: WORK_MS }, { say: "done" }]);
			await run.until(({ partial }) => partial !== "");
			// From 12 ms before the answer is due to 12 ms after.
			setTimeout(run.abort, WORK_MS - 12 + (24 * number) / RACES);
			const result = endOf(await run.done);
			const words = `race ${number}: ${JSON.stringify(result)}`;
			ends[result.outcome.kind]++;
			if (result.outcome.kind === "completed") assert.equal(result.text, "done", words);
			else {
				const cause = { kind: "aborted", by: "caller" };
				assert.deepEqual(result.outcome.failure, { kind: "stopped", cause }, words);
				assert.match(result.text, /^(almost|done)$/, words);
			}
			assert.deepEqual(resultIn(run.directory), JSON.parse(JSON.stringify(result)), words);
			assert.equal(run.states.filter(({ phase }) => phase.kind === "done").length, 1, words);
			assert.deepEqual(processesWithEnv(MARKER, run.runId), [], words);
		};
		for (let from = 0; from < RACES; from += AT_ONCE) {
			await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => race(from + at)));
		}
		t.diagnostic(`${ends.completed} completed, ${ends.failed} aborted`);
	});
});

describe("with the real pi and an extension that stands still", { concurrency: 2 }, () => {
	const stall = "const end = Date.now() + 60000; while (Date.now() < end);";

	test("After the answer: the answer counts, and nobody waits for the extension (F18)", async (t) => {
		const place = await setupFor(t);
		const source = extensionFor("child", `pi.on("session_shutdown", () => { ${stall} });`);
		place.home.write(join(place.home.agentDir, "extensions", "stall.js"), source);
		const { delegation, run } = await beginRun(t, () => text("the answer"), place);
		const { events } = await delegation.done;
		assert.match(toolOutcomes(events)[0]?.text ?? "", /^✓ t: completed/);
		const { outcome, exit, startedAt, endedAt } = run.result();
		assert.deepEqual(outcome, { kind: "completed", text: "the answer", end: "natural" });
		assert.deepEqual(exit, { kind: "code", code: 0 });
		assert.ok(endedAt - startedAt < 40_000, `it took ${endedAt - startedAt} ms`);
		await waitNoneWithEnv(MARKER, run.runId);
	});

	test("Before the answer: an abort ends it all the same (F18)", async (t) => {
		const place = await setupFor(t);
		const source = `pi.on("before_provider_request", () => { process.stderr.write("standing still\\n"); ${stall} });`;
		place.home.write(join(place.home.agentDir, "extensions", "stall.js"), extensionFor("child", source));
		const { delegation, run } = await beginRun(t, () => text("never"), place, { pi: { mode: "rpc" } });
		const { parent } = delegation;
		const log = join(run.directory, "stderr.log");
		await until(() => readFileSync(log, "utf8").includes("standing still"), "the extension to stand still");
		parent.send({ type: "abort" });
		await parent.waitForEvent((event) => event.type === "agent_settled");
		assert.match(toolOutcomes(parent.events)[0]?.text ?? "", /^✗ t: error — Sub-agent was aborted/);
		assert.deepEqual(run.result().outcome, {
			kind: "failed",
			failure: { kind: "stopped", cause: { kind: "aborted", by: "caller" } },
		});
		await waitNoneWithEnv(MARKER, run.runId);
		parent.end();
		await delegation.done;
	});
});
