import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";

const FIXTURE = fileURLToPath(new URL("./fixtures/quick-exit.ts", import.meta.url));

async function run(t: TestContext, flags: readonly string[], supervisor: "reads" | "is gone") {
	const directory = mkdtempSync(join(tmpdir(), "quick-exit-"));
	t.after(() => rmSync(directory, { recursive: true, force: true }));
	const env = { ...process.env, CACHE: join(directory, "cache"), EXITED: join(directory, "exited") };
	const args = ["--disable-warning=ExperimentalWarning", ...flags, FIXTURE];
	const child = spawn(process.execPath, args, { cwd: directory, env, stdio: ["ignore", "ignore", "inherit", "pipe"] });
	const lifeline = child.stdio[3] as NodeJS.ReadableStream & { destroy(): void };
	const told = supervisor === "reads" ? text(lifeline) : Promise.resolve(lifeline.destroy()).then(() => "");
	const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
	const files = readdirSync(directory, { recursive: true, encoding: "utf8" });
	assert.equal(readFileSync(env.EXITED, "utf8"), "listened", "listeners for its exit have run");
	return { code, signal, told: await told, files };
}

test("A process that is done tells how it exits and kills itself, with Node's compile cache on disk", async (t) => {
	const { signal, told, files } = await run(t, [], "reads");
	assert.equal(signal, "SIGKILL");
	assert.deepEqual(JSON.parse(told), { exit: 5 });
	assert.ok(files.some((name) => /^cache\/.+\/.+/.test(name)));
});

test("A process that is to write a profile when it exits, or has nobody to tell, exits by itself", async (t) => {
	const profiled = await run(t, ["--cpu-prof"], "reads");
	assert.deepEqual([profiled.code, profiled.told], [5, ""]);
	assert.ok(profiled.files.some((name) => name.endsWith(".cpuprofile")));
	assert.equal((await run(t, [], "is gone")).code, 5);
});
