import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createLookout } from "../../src/child/run-processes.ts";

const SKIP = process.platform === "linux" ? false : "there is no /proc here";

test("A process that goes from one program to the next is found at every moment (F14)", { skip: SKIP }, async (t) => {
	const directory = mkdtempSync(join(tmpdir(), "pi-exec-"));
	const restless = join(directory, "restless");
	writeFileSync(restless, '#!/bin/sh\necho on\nexec "$0"\n');
	chmodSync(restless, 0o755);
	const env = { PATH: "/usr/bin:/bin", PI_SUBAGENTS_RUN_ID: `exec-${process.pid}` };
	const child = spawn(restless, { env, stdio: ["ignore", "pipe", "ignore"] });
	t.after(async () => {
		child.kill("SIGKILL");
		await once(child, "exit");
		rmSync(directory, { recursive: true });
	});
	await once(child.stdout, "data");
	child.stdout.resume();
	const find = createLookout(env.PI_SUBAGENTS_RUN_ID);
	for (let look = 0; look < 300; look++) {
		const found = await find();
		assert.deepEqual(
			found.map(({ pid }) => pid),
			[child.pid],
			`look ${look}`,
		);
	}
});

test("A process that is started between two looks is found by the second (F14)", { skip: SKIP }, async (t) => {
	const env = { PI_SUBAGENTS_RUN_ID: `late-${process.pid}` };
	const find = createLookout(env.PI_SUBAGENTS_RUN_ID);
	assert.deepEqual(await find(), []);
	const child = spawn("sleep", ["600"], { env, stdio: "ignore" });
	t.after(() => child.kill("SIGKILL"));
	await once(child, "spawn");
	const found = await find();
	assert.deepEqual(found, [{ pid: child.pid, command: "sleep 600" }]);
});

test("A process without any environment is no riddle: looking at it takes no time", { skip: SKIP }, async (t) => {
	const child = spawn("sleep", ["600"], { env: {}, stdio: "ignore" });
	t.after(() => child.kill("SIGKILL"));
	await once(child, "spawn");
	const from = performance.now();
	for (let look = 0; look < 20; look++) assert.deepEqual(await createLookout("nobody")(), []);
	assert.ok(performance.now() - from < 5_000);
});
