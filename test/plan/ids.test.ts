import assert from "node:assert/strict";
import { test } from "node:test";
import { createRunId, createSessionId } from "../../src/plan/ids.ts";

test("A session id is 16 lowercase hex digits (A20, X8)", () => {
	const ids = Array.from({ length: 1_000 }, createSessionId);
	for (const id of ids) assert.match(id, /^[0-9a-f]{16}$/);
	assert.equal(new Set(ids).size, ids.length);
});

test("A run id is the time and 8 hex digits, so ids sort by time (X8)", () => {
	assert.match(createRunId(new Date("2031-02-03T04:05:06.789Z")), /^20310203-040506-[0-9a-f]{8}$/);
	const ids = ["2031-01-01T00:00:01Z", "2031-01-01T00:00:02Z", "2031-12-01T00:00:00Z"].map((at) =>
		createRunId(new Date(at)),
	);
	assert.deepEqual(ids.toSorted(), ids);
	const at = new Date();
	assert.equal(new Set(Array.from({ length: 1_000 }, () => createRunId(at))).size, 1_000);
});
