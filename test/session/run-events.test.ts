import assert from "node:assert/strict";
import { test } from "node:test";
import { resultWithout } from "../../src/domain/conclude.ts";
import { endOf, type KeptRun } from "../../src/domain/kept-run.ts";
import { initialState } from "../../src/domain/state.ts";
import { createRunEvents, RUN_EVENT, type RunNotice } from "../../src/session/run-events.ts";

const RUN: KeptRun = {
	...{ runId: "r1", sessionId: "s1", family: "delegate", label: "scout", task: "Look.", cwd: "/p", directory: "/r/r1" },
	...{ definition: undefined, scope: undefined, requestedModel: undefined, resolvedModel: "mock/m" },
	...{ distrusted: false, startedAt: 1, lifetime: { kind: "foreground" }, progress: { kind: "running" } },
};

test("A task that moves to the background starts once and ends once for other extensions", () => {
	const notices: RunNotice[] = [];
	const publish = createRunEvents((channel, notice) => {
		assert.equal(channel, RUN_EVENT);
		notices.push(notice);
	});
	const moved: KeptRun = { ...RUN, lifetime: { kind: "background", socket: "/s", owner: "me" } };
	const failure = { kind: "stopped", cause: { kind: "aborted", by: "person" } } as const;
	const ended: KeptRun = {
		...moved,
		progress: endOf(resultWithout("r1", initialState, failure, 2), { remarks: [], receipt: [] }, "open"),
	};
	for (const run of [RUN, moved, ended, ended]) publish(run);
	assert.deepEqual(
		notices.map(({ type, run: { runId, background } }) => [type, runId, background]),
		[
			["started", "r1", false],
			["ended", "r1", true],
		],
	);
	const [, end] = notices;
	assert.ok(end?.type === "ended");
	assert.deepEqual([end.run.status, end.run.name, end.run.model], ["aborted", "scout", "mock/m"]);
});
