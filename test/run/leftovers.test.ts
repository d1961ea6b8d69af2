import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { dirname } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { ensureSocketDirectory, RUN_MARKER, socketPathOf } from "../../src/child/protocol.ts";
import { createRunId } from "../../src/plan/ids.ts";
import { endLeftovers, findLeftovers } from "../../src/run/leftovers.ts";
import { createSetup, type Setup } from "../rig/fake-run.ts";
import { isAlive, waitGone } from "../rig/processes.ts";

const SKIP = process.platform === "linux" ? false : "there is no /proc here";

describe("processes of a run without a supervisor", { skip: SKIP }, () => {
	let setup: Setup;
	const home = process.env.HOME;
	before(() => {
		setup = createSetup();
		process.env.HOME = setup.project; // other tests leave processes of their own
	});
	after(() => {
		process.env.HOME = home;
		setup.dispose();
	});
	async function leaveBehind(t: TestContext, runId: string, seconds = "600"): Promise<number> {
		const env = { ...process.env, [RUN_MARKER]: runId };
		const child = spawn("sleep", [seconds], { env, stdio: "ignore" });
		t.after(() => child.kill("SIGKILL"));
		await once(child, "spawn");
		return child.pid ?? 0;
	}

	test("Are found, and ended when the person agrees", async (t) => {
		const runId = createRunId(new Date());
		const pid = await leaveBehind(t, runId);
		const found = await findLeftovers();
		assert.deepEqual(found, [{ runId, processes: [{ pid, command: "sleep 600" }] }]);
		assert.equal(await endLeftovers(found), 1);
		await waitGone(pid);
	});

	test("Are left alone when a supervisor answers for their run by the time the person agrees", async (t) => {
		const runId = createRunId(new Date());
		const pid = await leaveBehind(t, runId);
		const found = await findLeftovers();
		assert.equal(found.length, 1);
		ensureSocketDirectory(dirname(socketPathOf(runId)));
		const supervisor = createServer((client) => client.resume()).listen(socketPathOf(runId));
		await once(supervisor, "listening");
		t.after(() => supervisor.close());
		assert.equal(await endLeftovers(found), 0);
		assert.ok(isAlive(pid));
	});

	test("Are not reported when they exit by themselves a moment later", async (t) => {
		await leaveBehind(t, createRunId(new Date()), "0.5");
		assert.deepEqual(await findLeftovers(), []);
	});
});
