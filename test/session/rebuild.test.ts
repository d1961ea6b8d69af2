import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { RunResult } from "../../src/domain/run-result.ts";
import { noUsage } from "../../src/domain/usage.ts";
import { createRunStore } from "../../src/records/run-store.ts";
import { ENTRY_TYPE, encodeRun } from "../../src/records/session-entries.ts";
import { INTERRUPTED_MESSAGE, interruptedNotice, namedRuns, rebuildForeground } from "../../src/session/rebuild.ts";
import { keptRun } from "../rig/records.ts";

test("Of an agent that finished after its caller had died, the session keeps what it handed over (X8, X9)", async (t) => {
	const root = mkdtempSync(join(tmpdir(), "pi-rebuild-"));
	t.after(() => rmSync(root, { recursive: true, force: true }));
	const runId = "20260102-030405-0a1b2c3d";
	const directory = join(root, runId);
	mkdirSync(directory);
	const result: RunResult = {
		...{ runId, startedAt: 1, endedAt: 2, exit: { kind: "code", code: 0 }, text: "free text", usage: noUsage },
		...{ model: undefined, stopReason: "toolUse", toolCalls: 1, messageCount: 3, leftovers: [], artifactErrors: [] },
		cutShort: undefined,
		changes: undefined,
		failedModels: [],
		outcome: { kind: "completed", text: "handed over", end: "natural" },
		finalized: { status: "SUCCESS", result: "handed over" },
	};
	writeFileSync(join(directory, "result.json"), JSON.stringify(result));
	const running = keptRun({ runId, sessionId: "id", family: "agent", directory, progress: { kind: "running" } });
	const store = createRunStore();
	const entries = [{ type: "custom", customType: ENTRY_TYPE, data: encodeRun(running) }];
	await rebuildForeground(store, { entries: () => entries, places: { cwd: root, agentDirectory: root } });
	const [record] = store.find("id");
	assert.equal(record?.family, "agent");
	assert.deepEqual(record?.progress.kind === "ended" && [record.progress.outcome.kind, record.progress.text], [
		"completed",
		"handed over",
	]);
});

test("Runs that broke off with pi are told to the session once, by name and id (X9)", async () => {
	const store = createRunStore();
	const running = keptRun({ sessionId: "00112233445566aa", label: "slow", progress: { kind: "running" } });
	const entries = [{ type: "custom", customType: ENTRY_TYPE, data: encodeRun(running) }];
	await rebuildForeground(store, { entries: () => entries, places: { cwd: "/nowhere", agentDirectory: "/nowhere" } });
	const notice = interruptedNotice(store, entries);
	assert.match(notice?.text ?? "", /interrupted when pi ended: slow \(session: 00112233445566aa\)\./);
	const told = { type: "custom_message", customType: INTERRUPTED_MESSAGE, details: notice?.details };
	assert.equal(interruptedNotice(store, [...entries, told]), undefined);
});

test("Every run that the session has an entry of is named by it, on whichever branch (X7)", () => {
	const entry = (runId: string) => ({
		type: "custom",
		customType: ENTRY_TYPE,
		data: encodeRun(keptRun({ runId })),
	});
	const many = Array.from({ length: 40 }, (_, index) => entry(`run-${index}`));
	const background = { type: "custom", customType: "pi-subagents:bg-run", data: { runId: "bg" } };
	assert.equal(namedRuns([...many, background, { type: "message" }]).size, 41);
});
