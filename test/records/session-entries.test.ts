import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatMessage } from "../../src/domain/event.ts";
import { decodeRecord, encodeRecord } from "../../src/records/session-entries.ts";
import { ended, recordWith } from "../rig/records.ts";

const said = (text: string): ChatMessage => ({ role: "user", content: [{ type: "text", text }], timestamp: 1 });
const throughJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test("A88: an entry carries what a run was asked, how it ended, and when", () => {
	const entry = encodeRecord(
		recordWith({
			cwd: "/somewhere",
			profileName: "scout",
			progress: ended({ status: "error", exitCode: 3, errorMessage: "it broke", messages: [said("hello")] }),
		}),
	);
	assert.deepEqual(
		Object.fromEntries(
			["sessionId", "taskName", "prompt", "status", "exitCode", "startedAt", "cwd", "profileName"].map((key) => [
				key,
				entry[key],
			]),
		),
		{
			sessionId: "00112233445566aa",
			taskName: "a task",
			prompt: "do it",
			status: "error",
			exitCode: 3,
			startedAt: 1_000,
			cwd: "/somewhere",
			profileName: "scout",
		},
	);
	assert.deepEqual(entry.messages, [said("hello")]);
	assert.deepEqual([entry.model, entry.stopReason, entry.errorMessage], ["mock/mock-1", "stop", "it broke"]);
});

test("a record survives the session file, while it runs and after", () => {
	const running = recordWith({ progress: { kind: "running" }, directory: "/runs/20260102-030405-0a1b2c3d" });
	const done = recordWith({ progress: ended({ messages: [said("hello")] }) });
	assert.deepEqual(decodeRecord(throughJson(encodeRecord(running))), running);
	assert.deepEqual(decodeRecord(throughJson(encodeRecord(done))), done);
});

test("W19: a run with 5 MB of output adds a bounded entry, and its newest messages are the ones that stay", () => {
	const long = "x".repeat(5_000_000);
	const entry = encodeRecord(
		recordWith({ prompt: long, progress: ended({ text: long, messages: [said(long), said("the last")] }) }),
	);
	assert.ok(JSON.stringify(entry).length < 60_000);
	assert.deepEqual(entry.messages, [said("the last")]);
});

test("A95, X9: what is cut says so", () => {
	const long = "x".repeat(20_000);
	const entry = encodeRecord(recordWith({ prompt: long, progress: ended({ text: long }) }));
	assert.match(String(entry.text), /^x{16000}\n\[4000 more characters were not kept in the session\]$/);
	assert.match(String(entry.prompt), /^x{8000}\n\[12000 more characters were not kept in the session\]$/);
});

test("A88, A91: an entry without a text has that of its messages", () => {
	const answer = { role: "assistant", content: [{ type: "text", text: "The old answer." }], stopReason: "stop" };
	const { text: _text, ...entry } = encodeRecord(recordWith({ progress: ended() }));
	const decoded = decodeRecord(throughJson({ ...entry, messages: [said("ask"), answer] }));
	assert.equal(decoded?.progress.kind === "ended" && decoded.progress.text, "The old answer.");
});

test("A90: what is not an entry of ours is no record", () => {
	for (const data of [
		undefined,
		null,
		"running",
		[],
		{},
		{ sessionId: "a" },
		{ sessionId: 1, taskName: "t", startedAt: 1, status: "completed" },
		{ sessionId: "a", taskName: "t", startedAt: Number.NaN, status: "completed" },
		{ sessionId: "a", taskName: "t", startedAt: 1, status: "paused" },
	]) {
		assert.equal(decodeRecord(data), undefined, JSON.stringify(data));
	}
});

test("A88: an entry with the fewest fields is still read, and nonsense among its messages is left out", () => {
	const record = decodeRecord({
		sessionId: "a",
		taskName: "t",
		startedAt: 5,
		status: "completed",
		messages: [null, { role: "system", content: "x" }, { role: "assistant" }, said("kept")],
	});
	assert.equal(record?.progress.kind === "ended" && record.progress.messages.length, 1);
	assert.equal(record?.prompt, "");
});

test("S21: a directory that is not named after its run is not believed", () => {
	for (const directory of ["/etc", "runs/20260102-030405-0a1b2c3d", "/runs/20260102-030405-0a1b2c3d/.."]) {
		const entry = { ...encodeRecord(recordWith()), directory };
		assert.equal(decodeRecord(entry)?.directory, undefined, directory);
	}
});
