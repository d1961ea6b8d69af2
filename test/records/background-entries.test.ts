import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
	BILLED_ENTRY,
	COMPLETION_MESSAGE,
	encodeBilled,
	encodeRun,
	encodeUpdate,
	RUN_ENTRY,
	readBackground,
	type SessionEntry,
	UPDATE_ENTRY,
} from "../../src/records/background-entries.ts";
import { backgroundEnd, backgroundRun } from "../rig/records.ts";

const run = backgroundRun();
const end = backgroundEnd();
const custom = (customType: string, data: unknown): SessionEntry => ({
	type: "custom",
	customType,
	data: data === undefined ? undefined : JSON.parse(JSON.stringify(data)),
});
const started = custom(RUN_ENTRY, encodeRun(run));
const updated = custom(UPDATE_ENTRY, encodeUpdate(run.runId, end));
const message: SessionEntry = {
	type: "custom_message",
	customType: COMPLETION_MESSAGE,
	details: { runId: run.runId },
};

describe("the entries of background runs", () => {
	test("B56, B57: what was written is read back, whole", () => {
		assert.deepEqual(readBackground([started]), { runs: [run], told: new Set() });
		assert.deepEqual(readBackground([started, updated, message]), {
			runs: [{ ...run, progress: end }],
			told: new Set([run.runId]),
		});
	});

	test("X14: a bill stands in an entry of its own, and is read back", () => {
		const { runs } = readBackground([started, updated, custom(BILLED_ENTRY, encodeBilled(run.runId))]);
		assert.deepEqual(runs, [{ ...run, progress: { ...end, billing: "billed" } }]);
	});

	test("an answer that is cut in the session says how much of it is missing", () => {
		const text = "x".repeat(20_000);
		const entries = [
			{ type: "custom", customType: RUN_ENTRY, data: encodeRun(backgroundRun()) },
			{ type: "custom", customType: UPDATE_ENTRY, data: encodeUpdate(backgroundRun().runId, backgroundEnd({ text })) },
		];
		const [run] = readBackground(JSON.parse(JSON.stringify(entries))).runs;
		assert.ok(run?.progress.kind === "ended");
		assert.equal(run.progress.text, `${"x".repeat(16_000)}\n[4000 more characters were not kept in the session]`);
	});

	test("entries are bounded, and cut no character in half", () => {
		const long = "😀".repeat(20_000);
		const entry = { ...encodeRun({ ...run, task: long }), ...encodeUpdate(run.runId, { ...end, text: long }) };
		assert.equal(JSON.stringify(entry).isWellFormed(), true);
		assert.ok(JSON.stringify(entry).length < 30_000);
	});

	test("the first start and the first end of a run count; nothing brings it back", () => {
		const again = custom(RUN_ENTRY, { ...encodeRun(run), directory: `/elsewhere/${run.runId}` });
		const other = custom(UPDATE_ENTRY, encodeUpdate(run.runId, backgroundEnd({ status: "failed" })));
		assert.deepEqual(readBackground([started, updated, again, other]).runs, [{ ...run, progress: end }]);
	});

	test("what is not an entry of ours, or not a whole one, is passed over", () => {
		const whole = encodeRun(run);
		const wrong: unknown[] = [
			undefined,
			null,
			7,
			"text",
			[],
			{},
			{ ...whole, runId: "../../etc" },
			{ ...whole, runId: 7 },
			{ ...whole, directory: "relative" },
			{ ...whole, directory: "/somewhere/else" },
			{ ...whole, startedAt: "yesterday" },
			...["preset", "task", "cwd", "socket", "owner"].map((field) => ({ ...whole, [field]: undefined })),
		];
		for (const data of wrong) {
			assert.deepEqual(readBackground([custom(RUN_ENTRY, data)]).runs, [], JSON.stringify(data));
		}
		const updates = [
			undefined,
			{},
			{ runId: run.runId },
			{ runId: run.runId, status: "splendid" },
			{ status: "failed" },
		];
		for (const data of updates) {
			assert.deepEqual(readBackground([started, custom(UPDATE_ENTRY, data)]).runs, [run], JSON.stringify(data));
		}
		const strangers = [
			custom("constructor", {}),
			custom("__defineGetter__", {}),
			custom(BILLED_ENTRY, { runId: "nobody" }),
			{ type: "message" },
			{ ...started, type: "custom_message" },
			{ ...message, details: undefined },
		];
		assert.deepEqual(readBackground(strangers), { runs: [], told: new Set() });
	});
});
