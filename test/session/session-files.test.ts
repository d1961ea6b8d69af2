import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { identityOf } from "../../src/files/process-identity.ts";
import { ENTRY_TYPE, encodeRun, RUN_ENTRY } from "../../src/records/session-entries.ts";
import { closeSession, runsInSessions } from "../../src/session/session-files.ts";
import { backgroundRun, keptRun } from "../rig/records.ts";

const LONG_AGO = new Date(0);
const SINCE = 1_000;

function places(t: TestContext) {
	const root = mkdtempSync(join(tmpdir(), "pi-session-files-"));
	t.after(() => rmSync(root, { recursive: true, force: true }));
	const runs = join(root, "runs");
	const sessions = join(root, "sessions");
	for (const directory of [runs, sessions]) mkdirSync(directory);
	/** A session file that names a run. */
	const write = (name: string, runId: string, customType = ENTRY_TYPE) => {
		const run = customType === ENTRY_TYPE ? keptRun({ runId }) : backgroundRun({ runId });
		const lines = [
			{ type: "session", version: 3, id: name },
			{ type: "message", message: { role: "user", content: "about pi-subagents" } },
			{ type: "custom", customType, data: encodeRun(run) },
		];
		const path = join(sessions, `${name}.jsonl`);
		writeFileSync(path, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n{"customType":"pi-subagents`);
		return path;
	};
	return { runs, sessions, write };
}

test("Runs that a session of the project names are spared if its file was changed lately", async (t) => {
	const { runs, sessions, write } = places(t);
	const [one, two, three] = ["20260101-000000-00000001", "20260101-000000-00000002", "20260101-000000-00000003"];
	write("a", one);
	write("b", two, RUN_ENTRY);
	utimesSync(write("old", three), LONG_AGO, LONG_AGO);
	assert.deepEqual(await runsInSessions(runs, { directory: sessions }, SINCE), new Set([one, two]));
	assert.deepEqual(
		await runsInSessions(runs, {}, SINCE),
		new Set([one, two]),
		"another project's start knows them too",
	);
});

test("A session file is read once per change", async (t) => {
	const { runs, sessions, write } = places(t);
	const path = write("a", "20260101-000000-00000001");
	const [before, later] = [new Date(5_000), new Date(6_000)];
	utimesSync(path, before, before);
	const named = await runsInSessions(runs, { directory: sessions }, SINCE);
	assert.equal(named.size, 1);
	writeFileSync(path, "x".repeat(statSync(path).size));
	utimesSync(path, before, before);
	assert.deepEqual(await runsInSessions(runs, { directory: sessions }, SINCE), named, "it looks unchanged");
	utimesSync(path, later, later);
	assert.equal((await runsInSessions(runs, { directory: sessions }, SINCE)).size, 0, "it has changed");
});

test("A session that is open in a living process is spared, however old its file is, and no longer once it is closed", async (t) => {
	const { runs, write } = places(t);
	const runId = "20260101-000000-00000001";
	const open = write("idle", runId);
	utimesSync(open, LONG_AGO, LONG_AGO);
	assert.deepEqual(await runsInSessions(runs, { open }, SINCE), new Set([runId]));
	await closeSession(runs);
	assert.deepEqual(await runsInSessions(runs, {}, SINCE), new Set());
	const other = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
	t.after(() => other.kill("SIGKILL"));
	const pid = other.pid ?? 0;
	mkdirSync(join(runs, ".sessions"), { recursive: true });
	const mark = join(runs, ".sessions", `open-${pid}`);
	writeFileSync(mark, JSON.stringify({ process: identityOf(pid), path: open }));
	assert.deepEqual(await runsInSessions(runs, {}, SINCE), new Set([runId]));
	const gone = new Promise((resolve) => other.once("exit", resolve));
	other.kill("SIGKILL");
	await gone;
	assert.deepEqual(await runsInSessions(runs, {}, SINCE), new Set());
	assert.equal(existsSync(mark), false);
});

test("What is remembered of session files that are gone is removed, and nothing is made where there are no runs", async (t) => {
	const { runs, sessions, write } = places(t);
	const path = write("a", "20260101-000000-00000001");
	await runsInSessions(runs, { directory: sessions }, SINCE);
	rmSync(path);
	assert.deepEqual(await runsInSessions(runs, {}, SINCE), new Set());
	assert.deepEqual(readdirSync(runs), []);
	assert.deepEqual(await runsInSessions(join(runs, "none"), { directory: sessions }, SINCE), new Set());
	assert.equal(existsSync(join(runs, "none")), false);
});
