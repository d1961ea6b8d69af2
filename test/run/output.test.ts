import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { messagesOf, type RunState } from "../../src/domain/state.ts";
import { createSetup, endOf, type Setup, startRun } from "../rig/fake-run.ts";
import { waitGone } from "../rig/processes.ts";

const MIB = 1024 * 1024;
const assistant = (fields: object) =>
	JSON.stringify({ type: "message_end", message: { role: "assistant", stopReason: "stop", ...fields } });
const stray = (state: RunState) => state.entries.flatMap((entry) => (entry.kind === "stray" ? [entry] : []));

describe("what a child prints", { concurrency: 3 }, () => {
	let setup: Setup;
	before(() => {
		setup = createSetup();
	});
	after(() => setup.dispose());
	const file = (directory: string, name: string) => readFileSync(join(directory, name), "utf8");

	test("Characters cut in the middle of their bytes arrive whole (W5, F33)", async () => {
		const text = "Straße 🎉 日本語 \u2028 end";
		const run = setup.start([{ say: text, splitEvery: 1 }]);
		const result = endOf(await run.done);
		assert.equal(result.text, text);
		assert.match(file(run.directory, "transcript.log"), new RegExp(text));
	});

	test("Lines that are no events are kept, shown, and change nothing (F32, A76, A80)", async () => {
		const forged = JSON.stringify({ type: "subagents", event: { type: "settled" } });
		const run = setup.start([
			{ raw: "Welcome!" },
			{ raw: "" },
			{ raw: '{"type":"message_end","message":' },
			{ raw: forged },
			{ bytes: "half a line\r\n", splitEvery: 3 },
			{ stderr: "careful\n" },
			{ say: "answer" },
		]);
		const state = await run.done;
		assert.equal(endOf(state).text, "answer");
		const shown = stray(state).map(({ stream, text }) => `${stream} ${text}`);
		assert.deepEqual(shown.toSorted(), [
			"stderr careful",
			"stdout Welcome!",
			"stdout half a line",
			'stdout {"type":"message_end","message":',
			`stdout ${forged}`,
		]);
		assert.equal(
			file(run.directory, "stdout.log"),
			`Welcome!\n{"type":"message_end","message":\n${forged}\nhalf a line\n`,
		);
		assert.equal(file(run.directory, "stderr.log"), "careful\n");
	});

	test("Records that pi would never write are no reason to give up a run (F39)", async () => {
		const run = setup.start([
			{ raw: assistant({ content: [null, 1, { type: "text" }, { type: "toolCall", name: "x" }] }) },
			{ raw: assistant({ content: "text", usage: "much" }) },
			{ raw: assistant({ content: [], usage: { input: "7", output: null, cost: "free" } }) },
			{ raw: '{"type":"message_end","message":null}' },
			{ raw: '{"type":"message_end","message":{"role":"user","content":[null]}}' },
			{ raw: '{"type":"tool_execution_start"}' },
			{ raw: '{"type":"compaction_end","result":{"usage":"all"}}' },
			{ raw: '{"type":"message_update","assistantMessageEvent":"text_delta"}' },
			{ raw: '{"type":"message_update","assistantMessageEvent":null,"x":"text_delta"}' },
			{ raw: "null" },
			{ raw: "[]" },
			{ base64: Buffer.from([0, 0xff, 0xfe, 10]).toString("base64") },
			{ say: "answer", usage: { input: 5, output: 1 } },
		]);
		const result = endOf(await run.done);
		assert.deepEqual(result.outcome, { kind: "completed", text: "answer", end: "natural" });
		assert.deepEqual([result.usage.input, result.usage.output], [5, 1]);
		assert.equal(typeof result.usage.cost.total, "number");
		assert.doesNotMatch(file(run.directory, "stderr.log"), /supervisor:/);
	});

	test("A last line without its end is read if it is whole, and kept if it is not (F40)", async () => {
		const whole = setup.start([{ bytes: assistant({ content: [{ type: "text", text: "whole" }] }) }, { exit: 1 }]);
		const torn = setup.start([{ bytes: '{"type":"message_end","mess' }, { exit: 1 }]);
		const [first, second] = await Promise.all([whole.done, torn.done]);
		assert.equal(endOf(first).text, "whole");
		assert.equal(messagesOf(second).length, 1);
		assert.deepEqual(
			stray(second).map(({ text }) => text),
			['{"type":"message_end","mess'],
		);
	});

	test("Endless stderr is drained, capped and its end kept (F37)", async () => {
		const line = `${"e".repeat(99)}\n`;
		const run = setup.start([
			{ repeat: 800, steps: [{ stderr: line.repeat(100) }] },
			{ stderr: "🎉".repeat(999) },
			{ stderr: "x the last words\n" },
			{ exit: 2 },
		]);
		const result = endOf(await run.done);
		assert.ok(result.outcome.kind === "failed" && result.outcome.failure.kind === "exit");
		assert.match(result.outcome.failure.stderr, /the last words$/);
		assert.ok(result.outcome.failure.stderr.length <= 2_000);
		assert.ok(result.outcome.failure.stderr.isWellFormed());
		const { size } = statSync(join(run.directory, "stderr.log"));
		assert.ok(size > 4 * MIB && size <= 5 * MIB, `stderr.log has ${size} bytes`);
		assert.ok(statSync(join(run.directory, "events.jsonl")).size < MIB);
	});

	test("One long line of stderr is not copied into the events (F37)", async () => {
		const run = setup.start([
			{ repeat: 100, steps: [{ stderr: "e".repeat(40_000) }] },
			{ stderr: "\n" },
			{ say: "answer" },
		]);
		const state = await run.done;
		assert.equal(endOf(state).text, "answer");
		assert.ok(statSync(join(run.directory, "events.jsonl")).size < MIB);
		assert.ok(statSync(join(run.directory, "stderr.log")).size > 3 * MIB);
	});

	test("Large records are read; the answer is taken from its own message (F35)", async () => {
		const text = "z".repeat(5 * MIB);
		const run = setup.start([{ tool: "bash", args: {}, result: text }, { say: "small answer" }]);
		const result = endOf(await run.done);
		assert.equal(result.text, "small answer");
		assert.equal(result.messageCount, 4);
	});

	test("A line that is too long is dropped and reported, and the run goes on (F34)", async () => {
		const run = setup.start([
			{ repeat: 33, steps: [{ bytes: "0".repeat(MIB / 2), splitEvery: MIB }] },
			{ raw: "" },
			{ say: "answer" },
		]);
		const state = await run.done;
		assert.equal(endOf(state).outcome.kind, "completed");
		assert.equal(endOf(state).text, "answer");
		assert.ok(stray(state).some(({ text }) => text.includes("1 line(s) of more than 16777216 bytes")));
	});

	test("Text that was held back for a secret is not told again after its message [X28]", async () => {
		const prepared = setup.prepare([{ delta: "hello" }, { say: "hello" }]);
		const packet = { ...prepared.packet, apiKey: { provider: "mock", key: "sk-0123456789-0123456789" } };
		const run = startRun({ ...prepared, packet });
		const state = await run.done;
		assert.equal(state.partial, "");
		assert.deepEqual(
			run.states.filter(({ partial, messageCount }) => partial !== "" && messageCount > 1),
			[],
		);
		assert.equal(file(run.directory, "transcript.log").match(/hello$/gm)?.length, 1);
	});

	test("What was printed last is read though the supervisor was stopped when its child ended", async () => {
		const run = setup.start([{ sleep: 300 }, { say: "at last" }]);
		const { supervisor, pi } = await run.pids();
		process.kill(supervisor, "SIGSTOP");
		await waitGone(pi).finally(() => process.kill(supervisor, "SIGCONT"));
		assert.equal(endOf(await run.done).text, "at last");
	});
});
