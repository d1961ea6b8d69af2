import assert from "node:assert/strict";
import { cpSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { initialState, resultWithout } from "../../src/domain/state.ts";
import { connectControl, provesAbsence } from "../../src/run/control-client.ts";
import { leaveResult } from "../../src/run/fallback-result.ts";
import { findRun } from "../../src/run/watch.ts";
import { createYard, endOf, resultIn, type Yard } from "../rig/fake-run.ts";
import { isAlive } from "../rig/processes.ts";

describe("looking for a run again", () => {
	let yard: Yard;
	before(() => {
		yard = createYard();
	});
	after(() => yard.dispose());
	const errorAt = async (path: string) => {
		const control = await connectControl(path);
		return control.ok ? "connected" : control.error;
	};

	test("F49: nobody there, or a file that nobody listens to, proves that a supervisor is gone", async () => {
		assert.equal(provesAbsence(await errorAt(join(yard.temporary, "nobody"))), true);
		const stale = join(yard.temporary, "stale");
		writeFileSync(stale, "");
		assert.equal(provesAbsence(await errorAt(stale)), true);
	});

	test("B47: a run without a supervisor is lost, for all who look for it, and the first who does leaves the result", async () => {
		const run = yard.start([{ delta: "half" }, { hang: true }]);
		await run.until(({ partial }) => partial !== "");
		const { spec, directory } = yard.prepare("never started");
		cpSync(join(run.directory, "events.jsonl"), join(directory, "events.jsonl"));
		const socket = join(yard.temporary, "nobody", spec.runId);
		const find = () => findRun({ runId: spec.runId, directory, socket, distrusted: false });
		const found = await Promise.all([find(), find(), find()]);
		const result = resultIn(directory);
		assert.deepEqual([result.outcome, result.text], [{ kind: "failed", failure: { kind: "lost" } }, "half"]);
		for (const each of found) assert.deepEqual(JSON.parse(JSON.stringify(each)), { kind: "over", result });
		run.abort();
		await run.done;
	});

	test("B47: what a supervisor has written stays, and is what everybody sees", async () => {
		const run = yard.start([{ say: "the answer" }]);
		const result = endOf(await run.done);
		const lost = resultWithout(run.runId, initialState, { kind: "lost" }, 1);
		assert.deepEqual(await leaveResult(run.directory, lost), JSON.parse(JSON.stringify(result)));
		assert.deepEqual(resultIn(run.directory).outcome, { kind: "completed", text: "the answer", end: "natural" });
	});

	test("a run that cannot be reached for another reason is not touched, and not lost", async () => {
		const run = yard.start([{ delta: "here" }, { hang: true }]);
		await run.until(({ partial }) => partial !== "");
		symlinkSync("itself", join(yard.temporary, "itself"));
		const socket = join(yard.temporary, "itself", run.runId);
		assert.equal(provesAbsence(await errorAt(socket)), false, await errorAt(socket));
		assert.deepEqual(await findRun({ runId: run.runId, directory: run.directory, socket, distrusted: false }), {
			kind: "unknown",
		});
		assert.equal(isAlive((await run.pids()).pi), true);
		run.abort();
		await run.done;
	});
});
