import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { readRun } from "../../src/run-directory/read.ts";
import { createSetup, endOf, type FakeRun, type Setup, startRun } from "../rig/fake-run.ts";
import type { FakeStep } from "../rig/fake-steps.ts";
import { until } from "../rig/until.ts";

const MIB = 1024 * 1024;
const LINE_LIMIT = 16 * MIB;
/** What a garbage collector may leave lying about. */
const SLACK = 48 * MIB;
const KEY = "sk-stream-0123456789-canary";

/** The most memory that a living process has ever had. */
function peakBytes(pid: number): number {
	const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
	return Number(kilobytes) * 1024;
}

describe("what a child prints, in quantities", { concurrency: 1 }, () => {
	let setup: Setup;
	/** Of a supervisor that has next to nothing to do. */
	let quietPeak = 0;
	before(async () => {
		setup = createSetup();
		const { run, peak } = await play([]);
		await run.done;
		quietPeak = peak;
	});
	after(() => setup.dispose());

	/** Plays the steps and then an answer; the supervisor's memory is looked at while it still lives. */
	async function play(steps: FakeStep[], apiKey?: string): Promise<{ run: FakeRun; peak: number }> {
		const prepared = setup.prepare([...steps, { say: "answer" }, { linger: 60_000 }]);
		const key = apiKey === undefined ? undefined : { provider: "mock", key: apiKey };
		const run = startRun({ ...prepared, packet: { ...prepared.packet, apiKey: key } });
		const { supervisor } = await run.pids();
		await run.until(({ settled }) => settled);
		return { run, peak: peakBytes(supervisor) };
	}
	const sizeOf = ({ directory }: FakeRun, name: string) => statSync(join(directory, name)).size;

	test("A line of 64 MB takes no more than twice the limit of a line, and the run goes on (F34)", async (t) => {
		const { run, peak } = await play([
			{ repeat: 128, steps: [{ bytes: "0".repeat(MIB / 2), splitEvery: MIB }] },
			{ raw: "" },
		]);
		const result = endOf(await run.done);
		assert.equal(result.text, "answer");
		const grown = peak - quietPeak;
		t.diagnostic(`the supervisor grew by ${Math.round(grown / MIB)} MB`);
		assert.ok(grown < 2 * LINE_LIMIT + SLACK, `the supervisor grew by ${Math.round(grown / MIB)} MB`);
		assert.match(readFileSync(join(run.directory, "stderr.log"), "utf8"), /^1 line\(s\) of more than 16777216 bytes/);
	});

	test("A record of 20 MB that repeats the whole conversation is dropped, and the answer is there (F35)", async () => {
		const run = setup.start([
			{ repeat: 3, steps: ["a", "b"].map((name) => ({ tool: name, result: name.repeat(3.5 * MIB) })) },
			{ say: "answer" },
		]);
		const state = await run.done;
		const result = endOf(state);
		assert.deepEqual(result.outcome, { kind: "completed", text: "answer", end: "natural" });
		assert.deepEqual([result.messageCount, result.toolCalls], [14, 6]);
		assert.match(readFileSync(join(run.directory, "stderr.log"), "utf8"), /^1 line\(s\) of more than 16777216 bytes/);
	});

	for (const [kind, key] of [
		["", undefined],
		[" with a key to look for", KEY],
	] as const) {
		test(`120 MB of pieces of text${kind}: bounded on disk and in memory, and the files say so (F36)`, async (t) => {
			const { run, peak } = await play([{ repeat: 240, steps: [{ delta: "pieces ".repeat(MIB / 14) }] }], key);
			const result = endOf(await run.done);
			assert.deepEqual(result.outcome, { kind: "completed", text: "answer", end: "natural" });
			const size = sizeOf(run, "events.jsonl");
			assert.ok(size > 45 * MIB && size < 55 * MIB, `events.jsonl has ${Math.round(size / MIB)} MB`);
			const grown = peak - quietPeak;
			t.diagnostic(`the supervisor grew by ${Math.round(grown / MIB)} MB`);
			assert.ok(grown < 100 * MIB, `the supervisor grew by ${Math.round(grown / MIB)} MB`);
			assert.equal(JSON.stringify(run.states.at(-1)?.entries).match(/no longer kept/g)?.length, 1);
		});
	}

	test("A parent that does not run for seconds loses nothing, and holds up nobody (F38)", async () => {
		const text = "words ".repeat(20_000);
		const run = setup.start([{ repeat: 200, steps: [{ delta: text }] }, { tool: "ls" }, { say: text }]);
		await run.until(({ phase }) => phase.kind === "running");
		const result = join(run.directory, "result.json");
		const still = new Int32Array(new SharedArrayBuffer(4));
		for (let waited = 0; waited < 100 && !existsSync(result); waited++) Atomics.wait(still, 0, 0, 100);
		assert.ok(existsSync(result), "the run came to its end while its parent stood still");
		const end = endOf(await run.done);
		assert.equal(end.text, text);
		assert.deepEqual([end.toolCalls, run.states.at(-1)?.toolCalls], [1, 1]);
	});

	test("What a child with a key was just writing is seen, and known after its supervisor was killed (F04, X28)", async () => {
		const prepared = setup.prepare([{ delta: "half ".repeat(60) }, { hang: true }]);
		const packet = { ...prepared.packet, apiKey: { provider: "mock", key: KEY } };
		const run = startRun({ ...prepared, packet });
		await run.until(({ partial }) => partial.startsWith("half half"));
		process.kill((await run.pids()).supervisor, "SIGKILL");
		assert.match(endOf(await run.done).text, /^half half/);
		assert.match((await readRun(run.directory))?.partial ?? "", /^half half/);
	});

	test("Stderr without end and without line ends is bounded too (F37)", async () => {
		const { run, peak } = await play([{ repeat: 80, steps: [{ stderr: "e".repeat(MIB / 2) }] }]);
		await run.done;
		assert.ok(sizeOf(run, "stderr.log") < 6 * MIB);
		assert.ok(peak < 300 * MIB, `the supervisor had ${Math.round(peak / MIB)} MB`);
		await until(() => existsSync(join(run.directory, "result.json")), "the result");
	});
});
