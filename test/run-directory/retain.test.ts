import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	rmSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { ensureSocketDirectory, socketPathOf } from "../../src/child/protocol.ts";
import { homeRunsOf } from "../../src/run-directory/places.ts";
import { pruneProjects, pruneRuns } from "../../src/run-directory/retain.ts";

const NOW = Date.UTC(2026, 5, 30);
const DAY_MS = 24 * 60 * 60 * 1_000;
const RULES = { maxAgeMs: 14 * DAY_MS, maxRuns: 200, named: new Set<string>(), now: NOW };
const PROJECT_RULES = { ...RULES, named: async () => new Set<string>() };

function runsDirectory(t: TestContext): string {
	const directory = mkdtempSync(join(tmpdir(), "pi-subagents-runs-"));
	t.after(() => rmSync(directory, { recursive: true, force: true }));
	return directory;
}

const runsIn = (runs: string) => readdirSync(runs).filter((name) => !name.startsWith("."));

/** A finished run of the given day of June 2026. */
function addRun(runs: string, day: number, number = 0, finished = true): string {
	const id = `202606${String(day).padStart(2, "0")}-120000-${number.toString(16).padStart(8, "0")}`;
	mkdirSync(join(runs, id));
	writeFileSync(join(runs, id, "events.jsonl"), "");
	if (finished) writeFileSync(join(runs, id, "result.json"), "{}");
	return id;
}

test("Runs older than the retention time go, younger ones stay (X19)", async (t) => {
	const runs = runsDirectory(t);
	addRun(runs, 1);
	const young = addRun(runs, 20);
	assert.equal(await pruneRuns(runs, RULES), 1);
	assert.deepEqual(runsIn(runs), [young]);
});

test("Beyond the number of runs that are kept the oldest go (X19)", async (t) => {
	const runs = runsDirectory(t);
	const ids = [20, 21, 22, 23].map((day) => addRun(runs, day));
	await pruneRuns(runs, { ...RULES, maxRuns: 2 });
	assert.deepEqual(runsIn(runs), ids.slice(2));
});

test("The number of runs that are kept counts only those that no session names", async (t) => {
	const runs = runsDirectory(t);
	const ids = [20, 21, 22, 23].map((day) => addRun(runs, day));
	await pruneRuns(runs, { ...RULES, maxRuns: 1, named: new Set(ids.slice(0, 2)) });
	assert.deepEqual(runsIn(runs), [ids[0], ids[1], ids[3]]);
});

test("A run that the session names stays, however old it is (X7)", async (t) => {
	const runs = runsDirectory(t);
	const named = addRun(runs, 1);
	assert.equal(await pruneRuns(runs, { ...RULES, named: new Set([named]) }), 0);
	assert.deepEqual(runsIn(runs), [named]);
});

test("A run without a result stays while its supervisor answers, and goes when nobody does (X7)", async (t) => {
	const runs = runsDirectory(t);
	const alive = addRun(runs, 1, process.pid, false);
	addRun(runs, 2, 1, false);
	ensureSocketDirectory(dirname(socketPathOf(alive)));
	writeFileSync(join(runs, alive, "meta.json"), JSON.stringify({ socket: socketPathOf(alive) }));
	const supervisor = createServer().listen(socketPathOf(alive));
	t.after(() => supervisor.close());
	await pruneRuns(runs, RULES);
	assert.deepEqual(runsIn(runs), [alive]);
});

test("A run without a result whose supervisor was killed is removed, though its socket is still there [X7]", async (t) => {
	const runs = runsDirectory(t);
	const killed = addRun(runs, 1, process.pid + 1, false);
	const socket = socketPathOf(killed);
	ensureSocketDirectory(dirname(socket));
	writeFileSync(join(runs, killed, "meta.json"), JSON.stringify({ socket }));
	const script = `require("node:net").createServer().listen(${JSON.stringify(socket)}, () => console.log("listens"))`;
	const supervisor = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
	t.after(() => supervisor.kill("SIGKILL"));
	t.after(() => rmSync(socket, { force: true }));
	await once(supervisor.stdout, "data");
	assert.equal(await pruneRuns(runs, RULES), 0, "while it answers the run stays");
	supervisor.kill("SIGKILL");
	await once(supervisor, "exit");
	assert.ok(existsSync(socket));
	assert.equal(await pruneRuns(runs, RULES), 1);
	assert.deepEqual(runsIn(runs), []);
});

test("A run whose supervisor cannot be asked stays: a doubt deletes nothing", async (t) => {
	const runs = runsDirectory(t);
	const id = addRun(runs, 1, 7, false);
	const sockets = join(runsDirectory(t), basename(dirname(socketPathOf(id))));
	symlinkSync(sockets, sockets);
	writeFileSync(join(runs, id, "meta.json"), JSON.stringify({ socket: join(sockets, id) }));
	assert.equal(await pruneRuns(runs, RULES), 0);
	rmSync(sockets);
	assert.equal(await pruneRuns(runs, RULES), 1);
});

test("What is not a run directory is left alone, and a link is not followed", async (t) => {
	const runs = runsDirectory(t);
	const elsewhere = runsDirectory(t);
	const victim = addRun(elsewhere, 1);
	writeFileSync(join(runs, ".gitignore"), "*\n");
	mkdirSync(join(runs, "notes"));
	symlinkSync(join(elsewhere, victim), join(runs, "20260601-120000-000000ff"));
	assert.equal(await pruneRuns(runs, RULES), 0);
	assert.deepEqual(readdirSync(join(elsewhere, victim)).sort(), ["events.jsonl", "result.json"]);
	assert.equal(await pruneRuns(join(runs, "no such directory"), RULES), 0);
});

test("Each start also removes old runs of one other project, another one each time, and a project without runs [X30]", async (t) => {
	const agentDirectory = runsDirectory(t);
	const cwd = runsDirectory(t);
	const home = join(agentDirectory, "subagents", "runs");
	const own = homeRunsOf({ cwd, agentDirectory });
	const others = ["a-11111111", "b-22222222"].map((name) => join(home, name));
	for (const runs of [own, ...others]) {
		mkdirSync(runs, { recursive: true });
		addRun(runs, 1);
	}
	const young = addRun(others[0] ?? "", 29);
	for (const runs of others) utimesSync(runs, new Date(0), new Date(0));
	await pruneProjects({ cwd, agentDirectory, runsIn: "home" }, PROJECT_RULES);
	assert.deepEqual(runsIn(own), []);
	assert.equal(others.filter((runs) => existsSync(join(runs, "20260601-120000-00000000"))).length, 1);
	await pruneProjects({ cwd, agentDirectory, runsIn: "home" }, PROJECT_RULES);
	assert.deepEqual(runsIn(others[1] ?? ""), []);
	for (const runs of others) {
		utimesSync(join(runs, ".deleted"), new Date(0), new Date(0)); // nobody asks for its runs any more
		utimesSync(runs, new Date(0), new Date(0));
	}
	for (const _ of others) await pruneProjects({ cwd, agentDirectory, runsIn: "home" }, PROJECT_RULES);
	assert.deepEqual(readdirSync(home).sort(), [basename(own), basename(others[0] ?? "")].sort());
	assert.deepEqual(runsIn(others[0] ?? ""), [young]);
});

test("Pruning does not follow the link in the project [X30]", async (t) => {
	const cwd = runsDirectory(t);
	const elsewhere = runsDirectory(t);
	const victim = addRun(elsewhere, 1);
	mkdirSync(join(cwd, ".pi", "subagents"), { recursive: true });
	symlinkSync(elsewhere, join(cwd, ".pi", "subagents", "runs"));
	await pruneProjects({ cwd, agentDirectory: join(cwd, "agent"), runsIn: "home" }, PROJECT_RULES);
	assert.deepEqual(runsIn(elsewhere), [victim]);
});
