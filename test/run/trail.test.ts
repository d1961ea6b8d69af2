import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { socketPathOf } from "../../src/child/protocol.ts";
import { readRun } from "../../src/run-directory/read.ts";
import { readResult } from "../../src/run-directory/result.ts";
import { createSetup, endOf, resultIn, type Setup, startRun } from "../rig/fake-run.ts";
import type { FakeStep } from "../rig/fake-steps.ts";

const PARENT = fileURLToPath(new URL("./fixtures/parent.ts", import.meta.url));
const mode = (path: string) => statSync(path).mode & 0o777;

describe("what a run leaves on disk", () => {
	let setup: Setup;
	before(() => {
		setup = createSetup();
	});
	after(() => setup.dispose());
	const file = (directory: string, name: string) => readFileSync(join(directory, name), "utf8");

	for (const umask of [0, 0o077]) {
		test(`Its files, for their owner only, under umask ${umask.toString(8)} (X7)`, async () => {
			const before = process.umask(umask);
			try {
				const run = setup.start([
					{ tool: "bash", args: { command: "ls" }, result: "a\nb", text: "Let me look." },
					{ raw: "no event" },
					{ stderr: "a warning\n" },
					{ say: "Two files." },
				]);
				await run.done;
				const names = readdirSync(run.directory).toSorted();
				assert.deepEqual(names, [
					"events.jsonl",
					"meta.json",
					"result.json",
					"stderr.log",
					"stdout.log",
					"transcript.log",
				]);
				for (const name of names) assert.equal(mode(join(run.directory, name)), 0o600, name);
				assert.equal(mode(run.directory), 0o700);
				assert.equal(mode(dirname(run.directory)), 0o700);
				assert.equal(mode(dirname(socketPathOf(run.runId))), 0o700);
				assert.equal(file(dirname(run.directory), ".gitignore"), "*\n");
				assert.equal(JSON.parse(file(run.directory, "meta.json")).runId, run.runId);
				const transcript = file(run.directory, "transcript.log");
				assert.match(transcript, /Let me look\.\n→ bash: {"command":"ls"}\n\[tool result\]: a\nb\nTwo files\.\n$/);
			} finally {
				process.umask(before);
			}
		});
	}

	test("Pi's system message is in the events and in nothing that is made of them (W7)", async () => {
		const run = setup.start([{ say: "hello" }]);
		await run.done;
		assert.match(file(run.directory, "events.jsonl"), /"role":"system"/);
		assert.doesNotMatch(file(run.directory, "transcript.log"), /A fake system prompt/);
		assert.equal(resultIn(run.directory).messageCount, 2);
	});

	test("A run can be read again from its directory as it was", async () => {
		const run = setup.start([{ tool: "ls", args: {} }, { raw: "stray" }, { delta: "par" }, { exit: 1 }]);
		const state = await run.done;
		assert.deepEqual(JSON.parse(JSON.stringify(await readRun(run.directory))), JSON.parse(JSON.stringify(state)));
	});

	test("A reader that comes late sees since when a tool has been running", async () => {
		const before = Date.now();
		const run = setup.start([{ tool: "bash", args: { command: "sleep 9" }, unfinished: true }, { hang: true }]);
		await run.until(({ activity }) => activity.kind === "tools");
		const then = Date.now();
		const late = await readRun(run.directory);
		const [call] = late?.activity.kind === "tools" ? late.activity.calls : [];
		assert.equal(call?.name, "bash");
		assert.ok(call && call.since >= before && call.since <= then, JSON.stringify(call));
		run.abort();
		await run.done;
	});

	test("With a key in the packet, thoughts are told without it, also when it comes in two pieces (X28)", async () => {
		const key = "sk-secret-0123456789";
		const update = (event: object) => ({
			raw: JSON.stringify({ type: "message_update", assistantMessageEvent: event }),
		});
		const thought = `I use sk-secret-0123456789 for it ${"and think about it ".repeat(20)}`;
		const prepared = setup.prepare([
			update({ type: "thinking_start" }),
			update({ type: "thinking_delta", delta: thought.slice(0, 12) }),
			update({ type: "thinking_delta", delta: thought.slice(12) }),
			update({ type: "toolcall_start", id: "1", toolName: "write" }),
			{ hang: true },
		]);
		const run = startRun({ ...prepared, packet: { ...prepared.packet, apiKey: { provider: "mock", key } } });
		const thinking = await run.until(({ activity }) => activity.kind === "thinking" && activity.thought !== "");
		assert.match(JSON.stringify(thinking), /I use \[redacted\] for it and think/);
		await run.until(({ activity }) => activity.kind === "writing" && activity.call === "write");
		const own = file(prepared.directory, "events.jsonl")
			.split("\n")
			.filter((line) => line.startsWith('{"type":"subagents"'));
		assert.ok(own.some((line) => line.includes("[redacted]")));
		assert.doesNotMatch(own.join("\n"), /sk-sec|ret-0123/);
		assert.doesNotMatch(file(prepared.directory, "events.jsonl"), /"type":"message_update"/);
		run.abort();
		await run.done;
	});

	test("A key that the child prints is nowhere on disk and in no event (X28, S13)", async () => {
		const key = 'sk-"secret"/0123456789';
		const prepared = setup.prepare([
			{ delta: `my key is ${key}` },
			{ stderr: `key ${key}\n` },
			{ raw: `stray ${key}` },
			{ packet: true },
		]);
		const packet = { ...prepared.packet, apiKey: { provider: "mock", key } };
		const state = await startRun({ ...prepared, packet }).done;
		assert.equal(endOf(state).outcome.kind, "completed");
		const forms = [key, JSON.stringify(key).slice(1, -1), encodeURIComponent(key)];
		const told = JSON.stringify(state);
		for (const text of [told, ...readdirSync(prepared.directory).map((name) => file(prepared.directory, name))]) {
			// The prompt of this test has the key as well, so meta.json would show it: it holds the task, not the prompt.
			for (const form of forms) assert.ok(!text.includes(form), text.slice(0, 300));
		}
		assert.match(told, /\[redacted\]/);
	});

	test("A result that is already there is not replaced, and the run says so (M10)", async () => {
		const prepared = setup.prepare([{ say: "mine" }]);
		writeFileSync(join(prepared.directory, "result.json"), "{}");
		const result = endOf(await startRun(prepared).done);
		assert.equal(result.text, "mine");
		assert.match(result.artifactErrors.join(), /result\.json: EEXIST/);
		assert.equal(file(prepared.directory, "result.json"), "{}");
		assert.deepEqual(
			readdirSync(prepared.directory).filter((name) => name.startsWith(".")),
			[],
		);
	});

	test("A run whose directory is deleted comes to its end with its answer and its usage (F45)", async () => {
		const run = setup.start([{ delta: "here" }, { sleep: 300 }, { say: "still here", usage: { input: 9, output: 1 } }]);
		await run.until(({ partial }) => partial !== "");
		rmSync(run.directory, { recursive: true });
		const state = await run.done;
		assert.deepEqual(endOf(state).outcome, { kind: "completed", text: "still here", end: "natural" });
		assert.match(endOf(state).artifactErrors.join(), /result\.json: ENOENT/);
		assert.equal(state.usage.input, 9);
	});

	test("A run whose events cannot be written still has its result, its usage and its counts (F41)", async () => {
		const prepared = setup.prepare([
			{ tool: "ls", args: {} },
			{ say: "done", usage: { input: 9, output: 1 } },
		]);
		mkdirSync(join(prepared.directory, "events.jsonl"));
		const state = await startRun(prepared).done;
		const result = endOf(state);
		assert.deepEqual(result.outcome, { kind: "completed", text: "done", end: "natural" });
		assert.match(result.artifactErrors.join(), /events\.jsonl: EEXIST/);
		assert.deepEqual([state.usage.input, state.toolCalls, state.messageCount], [109, 1, 4]);
		assert.deepEqual(resultIn(prepared.directory).artifactErrors, result.artifactErrors);
	});

	test("A limit on the size of files costs lines of the logs, not the run or its result (F42)", async () => {
		const work: FakeStep = { repeat: 12, steps: [{ tool: "x", args: {}, result: "r".repeat(20_000) }, { tool: "y" }] };
		const prepared = setup.prepare([work, { say: "the end" }]);
		const file = join(setup.temporary, "limited.json");
		writeFileSync(file, JSON.stringify(prepared));
		const node = `"${process.execPath}" --disable-warning=ExperimentalWarning`;
		const parent = spawn("sh", ["-c", `ulimit -f 200; exec ${node} "${PARENT}" "${file}"`], { stdio: "ignore" });
		assert.deepEqual(await once(parent, "exit"), [0, null]);
		const result = resultIn(prepared.directory);
		assert.deepEqual(result.outcome, { kind: "completed", text: "the end", end: "natural" });
		assert.match(result.artifactErrors.join(), /events\.jsonl: EFBIG/);
		assert.equal(result.toolCalls, 24);
	});

	test("A link that was planted in the directory is not followed (X29)", async () => {
		const prepared = setup.prepare([{ stderr: "words\n" }, { say: "done" }]);
		const target = join(setup.temporary, "victim");
		writeFileSync(target, "precious");
		symlinkSync(target, join(prepared.directory, "stderr.log"));
		symlinkSync("/dev/full", join(prepared.directory, "transcript.log"));
		const result = endOf(await startRun(prepared).done);
		assert.equal(result.outcome.kind, "completed");
		assert.equal(readFileSync(target, "utf8"), "precious");
		assert.match(result.artifactErrors.join(), /stderr\.log: EEXIST.*transcript\.log: EEXIST/);
	});

	test("A client that sends nonsense is disconnected and hurts nobody; a stranger's end is not the owner's", async () => {
		const run = setup.start([{ delta: "here" }, { sleep: 300 }, { say: "done" }]);
		await run.until(({ partial }) => partial !== "");
		const stranger = connect(socketPathOf(run.runId));
		await new Promise((resolve) => {
			stranger.once("close", resolve);
			stranger.on("error", () => {});
			stranger.write("nonsense\n");
		});
		assert.equal(endOf(await run.done).outcome.kind, "completed");
	});

	test("A socket directory that others could have prepared is refused at once, with the reason", async () => {
		const prepared = setup.prepare([{ say: "never" }]);
		const directory = dirname(socketPathOf(prepared.spec.runId));
		mkdirSync(directory, { recursive: true });
		chmodSync(directory, 0o777);
		const at = performance.now();
		try {
			const { outcome } = endOf(await startRun(prepared).done);
			assert.ok(outcome.kind === "failed" && outcome.failure.kind === "spawn", JSON.stringify(outcome));
			assert.match(outcome.failure.message, /must be a directory of this user with mode 0700/);
			assert.ok(performance.now() - at < 8_000);
		} finally {
			chmodSync(directory, 0o700);
		}
	});

	test("A result.json that is none of ours is none", async () => {
		const run = setup.start([{ delta: "here" }, { hang: true }]);
		await run.until(({ partial }) => partial !== "");
		for (const content of ["{}", "[]", '{"outcome":{"kind":"splendid"}}', "{"]) {
			writeFileSync(join(run.directory, "result.json"), content);
			assert.equal(await readResult(run.directory), undefined, content);
		}
		process.kill((await run.pids()).supervisor, "SIGKILL");
		assert.deepEqual(endOf(await run.done).outcome, { kind: "failed", failure: { kind: "lost" } });
	});

	test("A run directory without a readable meta.json is a failed start with the reason", async () => {
		const prepared = setup.prepare([{ say: "never" }]);
		rmSync(join(prepared.directory, "meta.json"));
		const { outcome } = endOf(await startRun(prepared).done);
		assert.ok(outcome.kind === "failed" && outcome.failure.kind === "spawn");
		assert.match(outcome.failure.message, /meta\.json/);
	});
});
