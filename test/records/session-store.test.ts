import assert from "node:assert/strict";
import { test } from "node:test";
import { createSessionStore } from "../../src/records/session-store.ts";
import { ended, recordWith } from "../rig/records.ts";

const session = (n: number, progress = ended() as ReturnType<typeof recordWith>["progress"]) =>
	recordWith({ sessionId: `s${n}`, runId: `r${n}`, startedAt: n, progress });

test("A84: of 33 sessions the one that started first is dropped", () => {
	const store = createSessionStore();
	for (let n = 33; n >= 1; n--) store.put(session(n));
	assert.equal(store.runsOf("s1").length, 1, "the newest to be put is never the one that goes");
	assert.equal(store.runsOf("s2").length, 0);
	assert.equal(store.records.length, 32);
});

test("W19: a session that runs is never dropped", () => {
	const store = createSessionStore();
	store.put(session(0, { kind: "running" }));
	for (let n = 1; n <= 40; n++) store.put(session(n));
	assert.equal(store.runsOf("s0").length, 1);
	assert.equal(store.records.length, 32);
});

test("A46, A84: a session that is held is never dropped, and a later one goes in its place", () => {
	const store = createSessionStore();
	for (let n = 1; n <= 32; n++) store.put(session(n));
	const release = store.hold(["s1"]);
	store.put(session(33));
	assert.deepEqual([store.runsOf("s1").length, store.runsOf("s2").length, store.records.length], [1, 0, 32]);
	release();
	store.put(session(34));
	assert.deepEqual([store.runsOf("s1").length, store.records.length], [0, 32]);
});

test("what was read of a session does not change with it", () => {
	const store = createSessionStore();
	store.put(recordWith({ runId: "a" }));
	const [runs, found] = [store.runsOf("00112233445566aa"), store.find("00112233445566aa")];
	store.put(recordWith({ runId: "b" }));
	assert.deepEqual([runs.length, found.length], [1, 1]);
});

test("A86: of eleven runs of a session the oldest is dropped", () => {
	const store = createSessionStore();
	for (let n = 1; n <= 11; n++) store.put(recordWith({ runId: `r${n}` }));
	const runs = store.runsOf("00112233445566aa").map(({ runId }) => runId);
	assert.deepEqual([runs.length, runs[0], runs.at(-1)], [10, "r2", "r11"]);
});

test("what is known of a run is replaced when it ends, in its place", () => {
	const store = createSessionStore();
	store.put(recordWith({ runId: "a", progress: { kind: "running" } }));
	store.put(recordWith({ runId: "b" }));
	store.put(recordWith({ runId: "a" }));
	assert.deepEqual(
		store.runsOf("00112233445566aa").map(({ runId, progress }) => [runId, progress.kind]),
		[
			["a", "ended"],
			["b", "ended"],
		],
	);
});
