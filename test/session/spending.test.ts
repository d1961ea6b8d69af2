import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createSessionSpending } from "../../src/child/session-spending.ts";
import type { RunSpec } from "../../src/domain/spec.ts";
import { readSpent, totalOf } from "../../src/files/spending-ledger.ts";
import { sessionBudgetOf, spentRefusal } from "../../src/session/spending.ts";
import { specFor } from "../rig/fake-run.ts";

const used = (tokens: number, cost = 0) => ({ tokens, cost, turns: 0 });

function place(t: TestContext, limits = { maxSessionTokens: 1_000, maxSessionCost: undefined as number | undefined }) {
	const directory = mkdtempSync(join(tmpdir(), "pi-spending-"));
	t.after(() => rmSync(directory, { recursive: true, force: true }));
	const budget = sessionBudgetOf(limits, "a session", directory);
	const run = (runId: string, lifetime: RunSpec["lifetime"] = "foreground") =>
		createSessionSpending({ ...specFor(directory), runId, lifetime, sessionBudget: budget });
	return { budget, run, ledger: budget?.ledger ?? "" };
}

test("A session without limits has no ledger, and two sessions have one each", () => {
	const none = { maxSessionTokens: undefined, maxSessionCost: undefined };
	assert.equal(sessionBudgetOf(none, "s", "/tmp"), undefined);
	const ledgers = ["s", "t"].map((id) => sessionBudgetOf({ ...none, maxSessionCost: 1 }, id, "/tmp")?.ledger);
	assert.notEqual(ledgers[0], ledgers[1]);
	assert.equal(spentRefusal(undefined), undefined);
});

test("Whichever run notes its use last sees the sum of all, and what has ended stays counted", (t) => {
	const { budget, run } = place(t);
	const [one, two] = [run("one"), run("two")];
	assert.equal(one.spend(used(600)), undefined);
	assert.equal(spentRefusal(budget), undefined);
	one.end(used(650));
	assert.deepEqual(two.spend(used(350)), { unit: "tokens", used: 1_000, limit: 1_000, of: "session" });
	assert.match(spentRefusal(budget) ?? "", /used up \(1,000 of 1,000 tokens\)$/);
});

test("Equal shares of what is left are reserved when the parent leaves, and free again when a run ends with less", (t) => {
	const { budget, run, ledger } = place(t);
	const foreground = run("f");
	const [one, two] = [run("one", "background"), run("two", "background")];
	foreground.spend(used(200));
	one.spend(used(100));
	one.parentLeft();
	two.parentLeft();
	// 700 are left: 350 for each, on top of what it has used.
	assert.equal(one.spend(used(449)), undefined);
	assert.deepEqual(one.spend(used(450)), { unit: "tokens", used: 450, limit: 450, of: "session" });
	assert.equal(two.spend(used(349)), undefined);
	assert.match(spentRefusal(budget) ?? "", /1,000 of 1,000/, "a new run cannot use what is reserved");
	two.end(used(349));
	assert.equal(totalOf(readSpent(ledger)).tokens, 999);
});

test("A share of nothing is no licence, and a file that is no run's stops nobody", (t) => {
	const { run, ledger } = place(t, { maxSessionTokens: 1_000, maxSessionCost: 0.5 });
	const one = run("one", "background");
	one.spend(used(1_000, 0.5));
	one.parentLeft();
	assert.ok(one.spend(used(1_001, 0.51)));
	writeFileSync(join(ledger, "torn"), "{");
	assert.equal(readSpent(ledger).size, 1);
});
