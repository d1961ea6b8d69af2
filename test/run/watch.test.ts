import assert from "node:assert/strict";
import { cpSync, existsSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { presenceAt } from "../../src/child/presence.ts";
import { resultWithout } from "../../src/domain/conclude.ts";
import { initialState } from "../../src/domain/state.ts";
import { type ControlClient, connectControl } from "../../src/run/control-client.ts";
import { endUnwatched, type Found, findRun, watch } from "../../src/run/watch.ts";
import { leaveResult } from "../../src/run-directory/result.ts";
import { createSetup, endOf, resultIn, type Setup } from "../rig/fake-run.ts";
import { isAlive } from "../rig/processes.ts";

describe("looking for a run again", () => {
	let setup: Setup;
	before(() => {
		setup = createSetup();
	});
	after(() => setup.dispose());
	/** What both ways to ask say of a socket. */
	const presencesAt = async (path: string) => {
		const control = await connectControl(path);
		return [await presenceAt(path), control.ok ? "there" : control.error.presence];
	};

	test("Nobody there, or a file that nobody listens to, proves that a supervisor is gone (F49)", async () => {
		assert.deepEqual(await presencesAt(join(setup.temporary, "nobody")), ["absent", "absent"]);
		const stale = join(setup.temporary, "stale");
		writeFileSync(stale, "");
		assert.deepEqual(await presencesAt(stale), ["absent", "absent"]);
		assert.deepEqual(await presencesAt(join(stale, "below")), ["absent", "absent"]);
	});

	test("A run without a supervisor is lost, for all who look for it, and the first who does leaves the result (B47)", async () => {
		const run = setup.start([{ delta: "half" }, { hang: true }]);
		await run.until(({ partial }) => partial !== "");
		const { spec, directory } = setup.prepare("never started");
		cpSync(join(run.directory, "events.jsonl"), join(directory, "events.jsonl"));
		const socket = join(setup.temporary, "nobody", spec.runId);
		const lost = { runId: spec.runId, directory, socket, distrusted: false };
		const found = await Promise.all([findRun(lost), findRun(lost), findRun(lost)]);
		assert.deepEqual([...new Set(found.map(({ kind }) => kind))], ["unwatched"]);
		assert.equal(existsSync(join(directory, "result.json")), false, "looking changes nothing");
		const end = async (each: Found) => (each.kind === "unwatched" ? await endUnwatched(lost, each.state) : undefined);
		const results = await Promise.all(found.map(end));
		const result = resultIn(directory);
		assert.deepEqual([result.outcome, result.text], [{ kind: "failed", failure: { kind: "lost" } }, "half"]);
		for (const each of results) assert.deepEqual(JSON.parse(JSON.stringify(each)), result);
		assert.equal((await findRun(lost)).kind, "over");
		run.abort();
		await run.done;
	});

	test("What a supervisor has written stays, and is what everybody sees (B47)", async () => {
		const run = setup.start([{ say: "the answer" }]);
		const result = endOf(await run.done);
		const lost = resultWithout(run.runId, initialState, { kind: "lost" }, 1);
		assert.deepEqual(await leaveResult(run.directory, lost), JSON.parse(JSON.stringify(result)));
		assert.deepEqual(resultIn(run.directory).outcome, { kind: "completed", text: "the answer", end: "natural" });
	});

	test("Whoever was detached from a run is not told of its end, also where that comes at the same moment", async () => {
		const run = setup.start([{ say: "the answer" }]);
		await run.done;
		const detach = new AbortController();
		const next = async () => {
			detach.abort();
			return undefined;
		};
		const control = { next, close() {} } as unknown as ControlClient;
		const started = { runId: run.runId, directory: run.directory, socket: join(setup.temporary, "nobody") };
		const state = await watch(started, control, () => {}, detach.signal);
		assert.equal(state.phase.kind, "running");
		assert.equal(state.messageCount, 2, "what it had done before is known");
	});

	test("A run that cannot be reached for another reason is not touched, and not lost", async () => {
		const run = setup.start([{ delta: "here" }, { hang: true }]);
		await run.until(({ partial }) => partial !== "");
		symlinkSync("itself", join(setup.temporary, "itself"));
		const socket = join(setup.temporary, "itself", run.runId);
		assert.deepEqual(await presencesAt(socket), ["unknown", "unknown"]);
		assert.deepEqual(await findRun({ runId: run.runId, directory: run.directory, socket, distrusted: false }), {
			kind: "unknown",
		});
		assert.equal(isAlive((await run.pids()).pi), true);
		run.abort();
		await run.done;
	});
});
