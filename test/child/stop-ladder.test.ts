import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import type { RunProcess } from "../../src/child/run-processes.ts";
import { sweep } from "../../src/child/stop-ladder.ts";

test("A sweep ends after two empty passes, so a process that one pass overlooked is killed [F14]", async (t) => {
	const child = spawn("sleep", ["600"], { stdio: "ignore" });
	t.after(() => child.kill("SIGKILL"));
	await once(child, "spawn");
	const late: RunProcess = { pid: child.pid ?? 0, command: "sleep 600" };
	const passes: RunProcess[][] = [[], [late], [], []];
	const exited = once(child, "exit");
	assert.deepEqual(await sweep(async () => passes.shift() ?? []), [late]);
	assert.deepEqual(await exited, [null, "SIGKILL"]);
	assert.equal(passes.length, 0, "an empty pass after a full one does not count as the second");
});

test("A pass that could not look says nothing: the sweep goes on until two passes found nothing [F14]", async () => {
	const looks: (() => Promise<RunProcess[]>)[] = [
		async () => [],
		() => Promise.reject(new Error("EMFILE")),
		async () => [],
		async () => [],
	];
	assert.deepEqual(await sweep(() => looks.shift()?.() ?? assert.fail("one pass too many")), []);
	assert.equal(looks.length, 0);
});
