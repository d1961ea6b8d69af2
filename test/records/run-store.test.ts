import assert from "node:assert/strict";
import { test } from "node:test";
import { createRunStore } from "../../src/records/run-store.ts";
import { backgroundEnd, backgroundRun, ended, failed, keptRun } from "../rig/records.ts";

const session = (n: number, progress = ended() as ReturnType<typeof keptRun>["progress"]) =>
	keptRun({ sessionId: `s${n}`, runId: `r${n}`, startedAt: n, progress });

test("Of 33 sessions the one that started first is dropped (A84)", () => {
	const store = createRunStore();
	for (let n = 33; n >= 1; n--) store.put(session(n));
	assert.equal(store.find("s1").length, 1, "the newest to be put is never the one that goes");
	assert.equal(store.find("s2").length, 0);
	assert.equal(store.runs.length, 32);
});

test("A session that runs is never dropped (W19)", () => {
	const store = createRunStore();
	store.put(session(0, { kind: "running" }));
	for (let n = 1; n <= 40; n++) store.put(session(n));
	assert.equal(store.find("s0").length, 1);
	assert.equal(store.runs.length, 32);
});

test("What was read of a session does not change with it", () => {
	const store = createRunStore();
	store.put(keptRun({ runId: "a" }));
	const [runs, found] = [store.runs, store.find("00112233445566aa")];
	store.put(keptRun({ runId: "b" }));
	assert.deepEqual([runs.length, found.length], [1, 1]);
});

test("Of eleven runs of a session the oldest is dropped (A86)", () => {
	const store = createRunStore();
	for (let n = 1; n <= 11; n++) store.put(keptRun({ runId: `r${n}` }));
	const runs = store.find("00112233445566aa").map(({ runId }) => runId);
	assert.deepEqual([runs.length, runs[0], runs.at(-1)], [10, "r2", "r11"]);
});

test("What is known of a run is replaced when it ends, in its place", () => {
	const store = createRunStore();
	store.put(keptRun({ runId: "a", progress: { kind: "running" } }));
	store.put(keptRun({ runId: "b" }));
	store.put(keptRun({ runId: "a" }));
	assert.deepEqual(
		store.find("00112233445566aa").map(({ runId, progress }) => [runId, progress.kind]),
		[
			["a", "ended"],
			["b", "ended"],
		],
	);
});

test("Background runs keep the order of their starts, and every status is counted (B53, B55)", () => {
	const store = createRunStore();
	const ids = ["20260102-030405-00000001", "20260102-030405-00000002", "20260102-030405-00000003"];
	for (const runId of ids) store.put(backgroundRun({ runId }));
	store.put(keptRun());
	assert.deepEqual(store.counts(), { running: 3, completed: 0, failed: 0, aborted: 0, total: 3 });
	const outcomes = [{ kind: "completed" } as const, failed("broke"), failed("stopped", "aborted")];
	for (const [at, outcome] of outcomes.entries()) {
		store.put(backgroundRun({ runId: ids[at] ?? "", progress: backgroundEnd({ outcome }) }));
	}
	assert.deepEqual(store.counts(), { running: 0, completed: 1, failed: 1, aborted: 1, total: 3 });
	assert.deepEqual(
		store.background.map(({ runId }) => runId),
		ids,
	);
	assert.equal(store.get("nobody"), undefined);
	store.clear("foreground");
	assert.equal(store.runs.length, 3);
	store.clear();
	assert.deepEqual(store.counts(), { running: 0, completed: 0, failed: 0, aborted: 0, total: 0 });
});

test("Background runs are never dropped to make room", () => {
	const store = createRunStore();
	store.put(backgroundRun());
	for (let n = 1; n <= 40; n++) store.put(session(n));
	assert.deepEqual([store.background.length, store.runs.length], [1, 33]);
});
