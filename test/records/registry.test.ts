import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createRegistry } from "../../src/records/registry.ts";
import { backgroundEnd, backgroundRun } from "../rig/records.ts";

describe("the registry of background runs", () => {
	test("B53, B55: it is keyed by run id, keeps the order of starts, and counts every status", () => {
		const registry = createRegistry();
		const ids = ["20260102-030405-00000001", "20260102-030405-00000002", "20260102-030405-00000003"];
		for (const runId of ids) registry.put(backgroundRun({ runId }));
		assert.deepEqual(registry.counts(), { running: 3, completed: 0, failed: 0, aborted: 0, total: 3 });
		for (const [at, status] of (["completed", "failed", "aborted"] as const).entries()) {
			const runId = ids[at] ?? "";
			registry.put(backgroundRun({ runId, progress: backgroundEnd({ status }) }));
		}
		assert.deepEqual(registry.counts(), { running: 0, completed: 1, failed: 1, aborted: 1, total: 3 });
		assert.deepEqual(
			registry.runs.map(({ runId }) => runId),
			ids,
		);
		assert.equal(registry.get("nobody"), undefined);
		registry.clear();
		assert.deepEqual(registry.counts(), { running: 0, completed: 0, failed: 0, aborted: 0, total: 0 });
	});
});
