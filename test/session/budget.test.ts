import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ENTRY_TYPE, encodeRun } from "../../src/records/session-entries.ts";
import { createBudget } from "../../src/session/budget.ts";
import { startedRuns } from "../../src/session/rebuild.ts";
import { createSetup, type Setup } from "../rig/fake-run.ts";
import { createRecordedHost } from "../rig/recorded-host.ts";
import { keptRun } from "../rig/records.ts";

let setup: Setup;
before(() => {
	setup = createSetup();
});
after(() => setup.dispose());

const REFUSED = /has started 100 sub-agents and may start 100 in all \(setting subagents\.maxRunsPerSession\)/;

test("The 101st run of a session is refused, and so is a call that would go beyond (R2, X19)", () => {
	const budget = createBudget();
	assert.equal(budget.claim(90, 100), undefined);
	assert.match(budget.claim(11, 100) ?? "", /has started 90 sub-agents/);
	assert.equal(budget.claim(10, 100), undefined);
	assert.match(budget.claim(1, 100) ?? "", REFUSED);
});

test("A call beyond the budget starts nothing (R2)", async () => {
	const recorded = createRecordedHost({ cwd: setup.project });
	recorded.host.budget.reset(100);
	await assert.rejects(recorded.delegate({ tasks: [{ name: "t", prompt: "hello" }] }), REFUSED);
	assert.deepEqual(recorded.kept, []);
});

test("Runs from before a restart count (R2)", () => {
	const start = {
		type: "custom",
		customType: ENTRY_TYPE,
		data: encodeRun(keptRun({ progress: { kind: "running" } })),
	};
	const end = { type: "custom", customType: ENTRY_TYPE, data: encodeRun(keptRun()) };
	const background = { type: "custom", customType: "pi-subagents:bg-run", data: {} };
	assert.equal(startedRuns([start, end, background, { type: "message" }]), 2);
});
