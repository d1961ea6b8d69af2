import assert from "node:assert/strict";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { connectControl, provesAbsence } from "../../src/run/control-client.ts";
import { findRun } from "../../src/run/watch.ts";
import { createYard, type Yard } from "../rig/fake-run.ts";
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

	test("a run that cannot be reached for another reason is not touched, and not lost", async () => {
		const run = yard.start([{ delta: "here" }, { hang: true }]);
		await run.until(({ partial }) => partial !== "");
		symlinkSync("itself", join(yard.temporary, "itself"));
		const socket = join(yard.temporary, "itself", run.runId);
		assert.equal(provesAbsence(await errorAt(socket)), false, await errorAt(socket));
		assert.deepEqual(await findRun({ runId: run.runId, directory: run.directory, socket }), { kind: "unknown" });
		assert.equal(isAlive((await run.pids()).pi), true);
		run.abort();
		await run.done;
	});
});
