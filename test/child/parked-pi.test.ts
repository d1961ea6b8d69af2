import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { parkPi } from "../../src/child/parked-pi.ts";
import { createSetup, type Setup, specFor } from "../rig/fake-run.ts";
import { processesWithEnv, waitNoneWithEnv } from "../rig/processes.ts";
import { until } from "../rig/until.ts";

const MARKER = "PI_SUBAGENTS_RUN_ID";

describe("a pi that was started before its task", () => {
	let setup: Setup;
	before(() => {
		setup = createSetup();
	});
	after(() => setup.dispose());

	test("Is taken once, by a run that starts the same way", async () => {
		const spec = specFor(setup.project);
		const held = parkPi(spec, "early", setup.temporary);
		const pi = await held.take(spec);
		assert.equal(pi?.isAlive(), true);
		assert.equal(await held.take(spec), undefined);
		await pi?.end();
		await waitNoneWithEnv(MARKER, spec.runId);
	});

	test("Is ended when it is too old: what it has read may be out of date", async () => {
		const spec = specFor(setup.project);
		const held = parkPi(spec, "early", setup.temporary, 3_000);
		await until(() => processesWithEnv(MARKER, spec.runId).length === 1, "a pi that waits");
		await waitNoneWithEnv(MARKER, spec.runId);
		assert.equal(await held.take(spec), undefined);
	});
});
