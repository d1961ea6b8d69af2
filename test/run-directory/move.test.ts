import assert from "node:assert/strict";
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readlinkSync,
	realpathSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { ensureSocketDirectory } from "../../src/child/protocol.ts";
import { resultWithout } from "../../src/domain/conclude.ts";
import { initialState } from "../../src/domain/state.ts";
import { createRunDirectory } from "../../src/run-directory/create.ts";
import { moveRuns, strayRuns } from "../../src/run-directory/move.ts";
import { homeRunsOf, locateRun, projectRunsOf, type RunPlaces } from "../../src/run-directory/places.ts";
import { writeResult } from "../../src/run-directory/result.ts";
import { specFor } from "../rig/fake-run.ts";

test("Runs of an earlier version are moved out of the project once they are over, and are found by the path they had [X30]", async (t) => {
	const root = realpathSync(mkdtempSync(join(tmpdir(), "pi-move-")));
	t.after(() => rmSync(root, { recursive: true, force: true }));
	const cwd = join(root, "project");
	mkdirSync(cwd);
	const places: RunPlaces = { cwd, agentDirectory: join(root, "agent"), runsIn: "home" };
	const make = () => {
		const made = createRunDirectory(specFor(cwd), { ...places, runsIn: "project" });
		assert.ok(made.ok);
		return made.value;
	};
	const [done, running] = [make(), make()];
	writeResult(done.path, resultWithout(done.spec.runId, initialState, { kind: "lost" }, 1));
	ensureSocketDirectory(dirname(running.spec.socket));
	const supervisor = createServer().listen(running.spec.socket);
	t.after(() => supervisor.close());
	assert.deepEqual([...(await strayRuns(places))].sort(), [done.path, running.path].sort());
	assert.equal(await moveRuns(places), 1);
	assert.deepEqual([existsSync(done.path), existsSync(running.path)], [false, true]);
	assert.equal(locateRun(done.path, places), join(homeRunsOf(places), done.spec.runId));
	writeResult(running.path, resultWithout(running.spec.runId, initialState, { kind: "lost" }, 1));
	assert.equal(await moveRuns(places), 1);
	assert.equal(readlinkSync(projectRunsOf(cwd)), homeRunsOf(places));
	assert.equal(locateRun(running.path, places), join(homeRunsOf(places), running.spec.runId));
	assert.deepEqual(await strayRuns(places), []);
	assert.equal(readdirSync(homeRunsOf(places)).length, 2);
});

test("Nothing is moved through a link, or where runs belong in the project [X30]", async (t) => {
	const root = realpathSync(mkdtempSync(join(tmpdir(), "pi-move-")));
	t.after(() => rmSync(root, { recursive: true, force: true }));
	const places: RunPlaces = { cwd: root, agentDirectory: join(root, "agent"), runsIn: "home" };
	const made = createRunDirectory(specFor(root), places);
	assert.ok(made.ok);
	writeFileSync(join(made.value.path, "kept"), "");
	assert.deepEqual(await strayRuns(places), []);
	const inside: RunPlaces = { ...places, runsIn: "project" };
	assert.deepEqual(await strayRuns(inside), []);
});
