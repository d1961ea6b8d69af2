import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ChatMessage } from "../../src/domain/event.ts";
import type { KeptRun } from "../../src/domain/kept-run.ts";
import {
	BILLED_ENTRY,
	COMPLETION_MESSAGE,
	ENTRY_TYPE,
	encodeBilled,
	encodeRun,
	RUN_ENTRY,
	readRuns,
	type SessionEntry,
	UPDATE_ENTRY,
} from "../../src/records/session-entries.ts";
import { backgroundEnd, backgroundRun, ended, failed, keptRun } from "../rig/records.ts";

const said = (text: string): ChatMessage => ({ role: "user", content: [{ type: "text", text }], timestamp: 1 });
const custom = (customType: string, data: unknown): SessionEntry => ({
	type: "custom",
	customType,
	data: data === undefined ? undefined : JSON.parse(JSON.stringify(data)),
});
const decode = (data: unknown): KeptRun | undefined => readRuns([custom(ENTRY_TYPE, data)]).runs[0];

describe("the entries of foreground runs", () => {
	test("An entry carries what a run was asked, how it ended, and when [A88]", () => {
		const progress = ended({ outcome: failed("it broke"), exitCode: 3, messages: [said("hello")] });
		const entry = encodeRun(keptRun({ cwd: "/somewhere", definition: "scout", progress }), "it broke");
		const { sessionId, taskName, prompt, status, exitCode, startedAt, cwd, profileName } = entry;
		assert.deepEqual(
			{ sessionId, taskName, prompt, status, exitCode, startedAt, cwd, profileName },
			{
				...{ sessionId: "00112233445566aa", taskName: "a task", prompt: "do it", status: "error", exitCode: 3 },
				...{ startedAt: 1_000, cwd: "/somewhere", profileName: "scout" },
			},
		);
		assert.deepEqual(entry.messages, [said("hello")]);
		assert.deepEqual([entry.model, entry.stopReason, entry.errorMessage], ["mock/mock-1", "stop", "it broke"]);
	});

	test("A run survives the session file, while it runs and after", () => {
		const running = keptRun({ progress: { kind: "running" }, directory: "/runs/20260102-030405-0a1b2c3d" });
		const done = keptRun({ progress: ended({ messages: [said("hello")] }) });
		const timeout = { kind: "stopped", cause: { kind: "timeout", afterMs: 5 } } as const;
		const stopped = keptRun({ progress: ended({ outcome: { kind: "failed", failure: timeout } }) });
		for (const run of [running, done, stopped]) assert.deepEqual(decode(encodeRun(run)), run);
	});

	test("A run with 5 MB of output adds a bounded entry, and its newest messages are the ones that stay [W19]", () => {
		const long = "x".repeat(5_000_000);
		const progress = ended({ text: long, messages: [said(long), said("the last")] });
		const entry = encodeRun(keptRun({ task: long, progress }));
		assert.ok(JSON.stringify(entry).length < 60_000);
		assert.deepEqual(entry.messages, [said("the last")]);
	});

	test("What is cut says so [A95, X9]", () => {
		const long = "x".repeat(20_000);
		const entry = encodeRun(keptRun({ task: long, progress: ended({ text: long }) }));
		assert.match(String(entry.text), /^x{16000}\n\[4000 more characters were not kept in the session\]$/);
		assert.match(String(entry.prompt), /^x{8000}\n\[12000 more characters were not kept in the session\]$/);
	});

	test("The newest entry says whether a run has moved to the background, or has stayed after all", () => {
		const runId = "20260102-030405-0a1b2c3d";
		const stays = keptRun({ runId, directory: `/runs/${runId}`, progress: { kind: "running" } });
		const moves = backgroundRun({ runId, directory: `/runs/${runId}` });
		const entries = [custom(ENTRY_TYPE, encodeRun(stays)), custom(RUN_ENTRY, encodeRun(moves))];
		const lifetimes = (...more: SessionEntry[]) =>
			readRuns([...entries, ...more]).runs.map(({ lifetime, progress }) => [lifetime.kind, progress.kind]);
		assert.deepEqual(lifetimes(), [["background", "running"]]);
		assert.deepEqual(lifetimes(custom(ENTRY_TYPE, encodeRun(stays))), [["foreground", "running"]]);
		const end = custom(ENTRY_TYPE, encodeRun({ ...stays, progress: ended() }));
		assert.deepEqual(lifetimes(end), [["foreground", "ended"]]);
	});

	test("An entry without a text has that of its messages [A88, A91]", () => {
		const answer = { role: "assistant", content: [{ type: "text", text: "The old answer." }], stopReason: "stop" };
		const { text: _text, ...entry } = encodeRun(keptRun());
		const decoded = decode({ ...entry, messages: [said("ask"), answer] });
		assert.equal(decoded?.progress.kind === "ended" && decoded.progress.text, "The old answer.");
	});

	test("What is not an entry of ours, or is malformed, is no run [A90]", () => {
		const least = { sessionId: "a", taskName: "t", startedAt: 1, status: "completed" };
		assert.ok(decode(least));
		for (const data of [
			undefined,
			null,
			"running",
			[],
			{},
			{ sessionId: "a" },
			{ ...least, sessionId: 1 },
			{ ...least, startedAt: null },
			{ ...least, status: "paused" },
			{ ...least, messages: "hello" },
			{ ...least, messages: { 0: said("hello") } },
			{ ...least, messages: null },
			{ ...least, text: 7 },
		]) {
			assert.equal(decode(data), undefined, JSON.stringify(data));
		}
	});

	test("A malformed entry does not hide what an earlier one said of the run", () => {
		const run = keptRun({ progress: { kind: "running" } });
		const broken = { ...encodeRun({ ...run, progress: ended() }), messages: "x" };
		assert.deepEqual(readRuns([custom(ENTRY_TYPE, encodeRun(run)), custom(ENTRY_TYPE, broken)]).runs, [run]);
	});

	test("An entry with the fewest fields is still read, and nonsense among its messages is left out [A88]", () => {
		const run = decode({
			...{ sessionId: "a", taskName: "t", startedAt: 5, status: "completed" },
			messages: [null, { role: "system", content: "x" }, { role: "assistant" }, said("kept")],
		});
		assert.equal(run?.progress.kind === "ended" && run.progress.messages.length, 1);
		assert.equal(run?.task, "");
	});

	test("A directory that is not named after its run is not believed [S21]", () => {
		for (const directory of ["/etc", "runs/20260102-030405-0a1b2c3d", "/runs/20260102-030405-0a1b2c3d/.."]) {
			assert.equal(decode({ ...encodeRun(keptRun()), directory })?.directory, undefined, directory);
		}
	});
});

const run = backgroundRun();
const end = backgroundEnd();
const started = custom(RUN_ENTRY, encodeRun(run));
const updated = custom(UPDATE_ENTRY, encodeRun({ ...run, progress: end }));
const message: SessionEntry = { type: "custom_message", customType: COMPLETION_MESSAGE, details: { runId: run.runId } };

describe("the entries of background runs", () => {
	test("What was written is read back, whole [B56, B57]", () => {
		assert.deepEqual(readRuns([started]), { runs: [run], told: new Set() });
		assert.deepEqual(readRuns([started, updated, message]), {
			runs: [{ ...run, progress: end }],
			told: new Set([run.runId]),
		});
	});

	test("A bill stands in an entry of its own, and is read back [X14]", () => {
		const { runs } = readRuns([started, updated, custom(BILLED_ENTRY, encodeBilled(run.runId))]);
		assert.deepEqual(runs, [{ ...run, progress: { ...end, billing: "billed" } }]);
	});

	test("An answer that is cut in the session says how much of it is missing", () => {
		const progress = backgroundEnd({ text: "x".repeat(20_000) });
		const [kept] = readRuns([started, custom(UPDATE_ENTRY, encodeRun({ ...run, progress }))]).runs;
		assert.ok(kept?.progress.kind === "ended");
		assert.equal(kept.progress.text, `${"x".repeat(16_000)}\n[4000 more characters were not kept in the session]`);
	});

	test("Entries are bounded, and cut no character in half", () => {
		const long = "😀".repeat(20_000);
		const entry = encodeRun({ ...run, task: long, progress: { ...end, text: long } });
		assert.equal(JSON.stringify(entry).isWellFormed(), true);
		assert.ok(JSON.stringify(entry).length < 30_000);
	});

	test("The first start and the first end of a run count; nothing brings it back", () => {
		const again = custom(RUN_ENTRY, { ...encodeRun(run), directory: `/elsewhere/${run.runId}` });
		const other = custom(UPDATE_ENTRY, encodeRun({ ...run, progress: { ...end, outcome: failed("no") } }));
		assert.deepEqual(readRuns([started, updated, again, other]).runs, [{ ...run, progress: end }]);
	});

	test("What is not an entry of ours, or not a whole one, is passed over", () => {
		const whole = encodeRun(run);
		const wrong: unknown[] = [
			...[undefined, null, 7, "text", [], {}],
			{ ...whole, runId: "../../etc" },
			{ ...whole, runId: 7 },
			{ ...whole, directory: "relative" },
			{ ...whole, directory: "/somewhere/else" },
			{ ...whole, startedAt: "yesterday" },
			...["taskName", "prompt", "cwd", "socket", "owner"].map((field) => ({ ...whole, [field]: undefined })),
		];
		for (const data of wrong) assert.deepEqual(readRuns([custom(RUN_ENTRY, data)]).runs, [], JSON.stringify(data));
		const { runId } = run;
		const updates = [undefined, {}, { runId }, { runId, status: "splendid" }, { status: "failed" }];
		for (const data of [...updates, { ...encodeRun({ ...run, progress: end }), messages: 1 }]) {
			assert.deepEqual(readRuns([started, custom(UPDATE_ENTRY, data)]).runs, [run], JSON.stringify(data));
		}
		const strangers = [
			custom("constructor", {}),
			custom("__defineGetter__", {}),
			custom(BILLED_ENTRY, { runId: "nobody" }),
			{ type: "message" },
			{ ...started, type: "custom_message" },
			{ ...message, details: undefined },
		];
		assert.deepEqual(readRuns(strangers), { runs: [], told: new Set() });
	});
});

describe("entries that version 0.1.0 wrote", () => {
	test("A foreground run is read with its words, and one that was interrupted is known as such", () => {
		const old = {
			...{ runId: run.runId, sessionId: "00112233445566aa", family: "delegate", taskName: "t", prompt: "p" },
			...{ cwd: "/w", profileName: "scout", directory: run.directory, startedAt: 1_000, completedAt: 2_000 },
			...{
				exitCode: 1,
				model: "mock/mock-1",
				stopReason: "error",
				text: "half",
				messages: [said("p")],
				messageCount: 2,
			},
		};
		const broke = decode({ ...old, status: "error", errorMessage: "429" });
		assert.deepEqual(
			[broke?.label, broke?.task, broke?.definition, broke?.directory],
			["t", "p", "scout", run.directory],
		);
		assert.ok(broke?.progress.kind === "ended");
		assert.deepEqual(broke.progress.outcome, failed("429"));
		assert.deepEqual([broke.progress.text, broke.progress.at, broke.progress.messages], ["half", 2_000, [said("p")]]);
		const interrupted = decode({
			...{ ...old, status: "error" },
			errorMessage: "Session was interrupted (main agent session ended unexpectedly)",
		});
		assert.ok(interrupted?.progress.kind === "ended");
		assert.deepEqual(interrupted.progress.outcome, { kind: "failed", failure: { kind: "interrupted" } });
	});

	test("A background run is read with its end", () => {
		const { runId, directory } = run;
		const begun = {
			...{ runId, preset: "scout", presetSource: "project", task: "look around", cwd: "/project", directory },
			...{ requestedModel: "mock-2", resolvedModel: "mock/mock-2", startedAt: 1_000, status: "running" },
			...{ socket: `/tmp/pi-subagents-0/${runId}`, owner: "session-1" },
		};
		assert.deepEqual(readRuns([custom(RUN_ENTRY, begun)]).runs, [run]);
		const over = {
			...{ runId, status: "aborted", at: 2_000, exitCode: null, errorMessage: "Sub-agent was stopped by the user" },
			...{ text: "half", toolCalls: 3, messageCount: 4, usage: end.usage },
		};
		const [kept] = readRuns([custom(RUN_ENTRY, begun), custom(UPDATE_ENTRY, over)]).runs;
		assert.ok(kept?.progress.kind === "ended");
		const { outcome, at, text, toolCalls, messageCount, usage, billing } = kept.progress;
		assert.deepEqual(outcome, failed("Sub-agent was stopped by the user", "aborted"));
		assert.deepEqual([at, text, toolCalls, messageCount, billing], [2_000, "half", 3, 4, "open"]);
		assert.deepEqual(usage, end.usage);
	});
});
