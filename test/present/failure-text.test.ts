import assert from "node:assert/strict";
import { test } from "node:test";
import type { Failure } from "../../src/domain/run-result.ts";
import { describeFailure } from "../../src/present/text.ts";

test("Only who can be resumed, with another timeout, is told to be (A60, X8, X15)", () => {
	const failure: Failure = { kind: "stopped", cause: { kind: "timeout", afterMs: 77_000 } };
	assert.equal(describeFailure(failure, "delegate"), "Timed out after 77s. Consider resuming with a longer timeout.");
	for (const family of ["preset", "agent", undefined] as const) {
		assert.equal(describeFailure(failure, family), "Timed out after 77s.");
	}
});
