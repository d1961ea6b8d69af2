import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	statfsSync,
	unlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { text as readText } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { messagesOf } from "../../src/domain/state.ts";
import { openArtifacts } from "../../src/run-directory/artifacts.ts";
import { readRun } from "../../src/run-directory/read.ts";
import { pruneRuns } from "../../src/run-directory/retain.ts";
import { createSetup, endOf, resultIn, type Setup } from "../rig/fake-run.ts";
import { processesWithEnv } from "../rig/processes.ts";

const SOURCE = fileURLToPath(new URL("../../src", import.meta.url));
const PARENT = fileURLToPath(new URL("../run/fixtures/parent.ts", import.meta.url));
const DIE_AT = fileURLToPath(new URL("./fixtures/die-at.ts", import.meta.url));

const mounts: string[] = [];

/** What a test has mounted goes before what it lies in. */
function disposeAfter(t: TestContext, dispose: () => void): void {
	t.after(() => {
		for (const directory of mounts.splice(0)) execFileSync("umount", ["--lazy", directory]);
		dispose();
	});
}

function setupFor(t: TestContext): Setup {
	const setup = createSetup();
	disposeAfter(t, () => setup.dispose());
	return setup;
}

/** Mounts 256 kB of disk there; false, with the reason told, where only root could. */
function mountSmallDisk(t: TestContext, directory: string): boolean {
	try {
		execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k,mode=0700", "tmpfs", directory], { stdio: "pipe" });
	} catch (error) {
		t.skip(`a small disk could not be mounted: ${error instanceof Error ? error.message.split("\n")[0] : error}`);
		return false;
	}
	mounts.push(directory);
	return true;
}

function fill(directory: string): string {
	const { bavail, bsize } = statfsSync(directory);
	const ballast = join(directory, "ballast");
	writeFileSync(ballast, Buffer.alloc(bavail * bsize));
	return ballast;
}

test("A run on a disk that it fills comes to its end, with its answer whole on that disk (F41)", async (t) => {
	const setup = setupFor(t);
	const runs = join(setup.project, ".pi", "subagents", "runs");
	mkdirSync(runs, { recursive: true });
	if (!mountSmallDisk(t, runs)) return;
	const work = { repeat: 20, steps: [{ tool: "a", result: "r".repeat(20_000) }, { tool: "b" }] };
	const run = setup.start([work, { say: "the end" }]);
	const state = await run.done;
	const result = endOf(state);
	assert.deepEqual(result.outcome, { kind: "completed", text: "the end", end: "natural" });
	assert.match(result.artifactErrors.join(), /events\.jsonl: ENOSPC/);
	assert.deepEqual([result.toolCalls, state.toolCalls], [40, 40]);
	assert.deepEqual(resultIn(run.directory), JSON.parse(JSON.stringify(result)));
});

for (const [point, written] of [
	["opened", false],
	["half written", false],
	["written", false],
	["synced", false],
	["linked", true],
	["cleared away", true],
] as const) {
	test(`kill -9 of the supervisor when its result is ${point}: there is all of it or none (F43)`, async (t) => {
		const setup = setupFor(t);
		const before = process.env.NODE_OPTIONS;
		t.after(() => {
			delete process.env.DIE_AT;
			if (before === undefined) delete process.env.NODE_OPTIONS;
			else process.env.NODE_OPTIONS = before;
		});
		process.env.NODE_OPTIONS = `--disable-warning=ExperimentalWarning --import=${DIE_AT}`;
		process.env.DIE_AT = point;
		const run = setup.start([{ say: "the answer" }]);
		const result = endOf(await run.done);
		assert.equal(result.text, "the answer");
		assert.deepEqual(processesWithEnv("PI_SUBAGENTS_RUN_ID", run.runId), []);
		const found = await readRun(run.directory);
		assert.ok(found);
		assert.equal(messagesOf(found).length, 2);
		const completed = { kind: "completed", text: "the answer", end: "natural" };
		assert.deepEqual(result.outcome, written ? completed : { kind: "failed", failure: { kind: "lost" } });
		// Where the supervisor left none, its parent may have: the same that it told.
		assert.ok(!written || existsSync(join(run.directory, "result.json")));
		if (existsSync(join(run.directory, "result.json"))) {
			assert.deepEqual(resultIn(run.directory), JSON.parse(JSON.stringify(result)));
		}
	});
}

test("After a record that a full disk tore the next one begins a line, and one line is lost (F44)", async (t) => {
	const directory = mkdtempSync(join(tmpdir(), "pi-torn-"));
	disposeAfter(t, () => rmSync(directory, { recursive: true, force: true }));
	if (!mountSmallDisk(t, directory)) return;
	const artifacts = openArtifacts(directory);
	const say = (text: string) => {
		const message = { role: "assistant", content: [{ type: "text", text }], stopReason: "stop" };
		artifacts.record(Buffer.from(JSON.stringify({ type: "message_end", message })), "whole");
		artifacts.flush();
	};
	say("before");
	const ballast = fill(directory);
	say("torn ".repeat(4_000));
	unlinkSync(ballast);
	say("after");
	assert.match(artifacts.errors.join(), /ENOSPC/);
	const lines = readFileSync(join(directory, "events.jsonl"), "utf8").trimEnd().split("\n");
	assert.deepEqual(
		lines.map((line) => line.endsWith("}}")),
		[true, false, true],
	);
	const state = await readRun(directory);
	assert.ok(state);
	assert.deepEqual(
		messagesOf(state).map(({ content }) => (content[0] as { text: string }).text),
		["before", "after"],
	);
});

test("With too few file descriptors, however few, a run ends: with its answer, or with the reason why not (F47)", async (t) => {
	const setup = setupFor(t);
	const ends: string[] = [];
	const attempt = async (descriptors: number) => {
		const run = setup.prepare([{ say: "the answer" }]);
		const file = join(setup.temporary, `${descriptors}.json`);
		writeFileSync(file, JSON.stringify(run));
		const node = `"${process.execPath}" --disable-warning=ExperimentalWarning`;
		const parent = spawn("sh", ["-c", `ulimit -n ${descriptors}; exec ${node} "${PARENT}" "${file}"`], {
			stdio: ["ignore", "pipe", "ignore"],
			timeout: 30_000,
		});
		const [said, [code, signal]] = await Promise.all([readText(parent.stdout), once(parent, "exit")]);
		const words = `${descriptors}: ${code ?? signal} ${said}`;
		assert.match(said, /^(heard\n)*done\n$/, words);
		assert.deepEqual([code, processesWithEnv("PI_SUBAGENTS_RUN_ID", run.spec.runId)], [0, []], words);
		const result = existsSync(join(run.directory, "result.json")) ? resultIn(run.directory).outcome : undefined;
		if (result?.kind === "failed") {
			assert.match(JSON.stringify(result.failure), /EMFILE|too many open files/, words);
		}
		ends.push(result?.kind ?? "none");
	};
	const numbers = Array.from({ length: 18 }, (_, at) => 24 + at);
	for (let at = 0; at < numbers.length; at += 3) await Promise.all(numbers.slice(at, at + 3).map(attempt));
	assert.ok(ends.includes("completed") && ends.includes("failed"), `the limits were not at the edge: ${ends}`);
});

test("No file is watched, so there is no number of watches that could be used up (F47)", () => {
	const sources = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
	assert.ok(sources.length > 50);
	for (const name of sources) {
		const imports = /import \{([^}]*)\} from "node:fs(\/promises)?"/.exec(
			readFileSync(join(SOURCE, name), "utf8"),
		)?.[1];
		assert.doesNotMatch(imports ?? "", /\bwatch(File)?\b/, name);
	}
});

test("10 000 old runs: a start removes some of them, never stands still, and the next goes on (F48)", async (t) => {
	const inMemory = "/dev/shm"; // 10 000 directories are a lot of work for a disk, and none of it is the subject here
	const runs = mkdtempSync(join(existsSync(inMemory) ? inMemory : tmpdir(), "pi-many-runs-"));
	t.after(() => rmSync(runs, { recursive: true, force: true }));
	const result = JSON.stringify({
		...{ runId: "x", outcome: { kind: "completed", text: "", end: "natural" } },
		...{ exit: { kind: "code", code: 0 }, usage: { cost: {} } },
	});
	for (let number = 0; number < 10_000; number++) {
		const directory = join(runs, `20200101-000000-${number.toString(16).padStart(8, "0")}`);
		mkdirSync(directory);
		if (number < 1_000) writeFileSync(join(directory, "result.json"), result);
	}
	const rules = { maxAgeMs: 1_000, maxRuns: 200, named: new Set<string>(), now: Date.UTC(2026, 0, 1) };
	const delay = monitorEventLoopDelay({ resolution: 5 });
	delay.enable();
	assert.equal(await pruneRuns(runs, rules), 500);
	delay.disable();
	assert.equal(readdirSync(runs).filter((name) => !name.startsWith(".")).length, 9_500);
	assert.ok(!readdirSync(runs).includes("20200101-000000-00000000"), "the oldest first");
	assert.ok(delay.max < 500e6, `pi stood still for ${Math.round(delay.max / 1e6)} ms`);
	assert.equal(await pruneRuns(runs, rules), 500);
});
