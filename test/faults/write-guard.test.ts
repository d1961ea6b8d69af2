import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { RunSpec } from "../../src/domain/spec.ts";
import { keyOf } from "../../src/files/write-ledger.ts";
import { createGuardStage, delegateCall, type GuardStage, writeFile } from "../e2e/guard-setup.ts";
import { processesWithEnv } from "../rig/processes.ts";
import { until } from "../rig/until.ts";

/** The promise: nobody waits longer for one that was killed. */
const MAX_DELAY_MS = 10_000;
const SKIP_NAMESPACE = whyNoNamespace();

/** Two sub-agents that write to one pipe: the first one gets no further until somebody reads from it, and the second one waits. */
async function holdFile(t: TestContext, settings: Record<string, unknown> = {}) {
	const setup = await createGuardStage(t, settings);
	const pipe = join(setup.home.project, "pipe");
	execFileSync("mkfifo", [pipe]);
	const tickets = () => ticketsOf(setup, pipe);
	const { done } = setup.start([[delegateCall(["holder", "waiter"])]], {
		holder: [writeFile("pipe", "holder")],
		waiter: [
			async () => {
				await until(() => tickets().length === 1, "the holder to have its lock");
				return writeFile("pipe", "waiter");
			},
		],
	});
	await until(() => tickets().length === 2, "the waiter to wait");
	const spec = setup.specs().find(({ label }) => label === "holder");
	assert.ok(spec);
	return { setup, done, tickets, pipe, runId: spec.runId, spec };
}

function ticketsOf(setup: GuardStage, path: string): string[] {
	try {
		return readdirSync(join(setup.specs()[0]?.writeGuard ?? "", "locks", keyOf(path)));
	} catch {
		return []; // nobody has written yet
	}
}

/** Without what starts a pi in a namespace of its own. */
const pisOf = (runId: string) =>
	processesWithEnv("PI_SUBAGENTS_RUN_ID", runId).filter(({ command }) => !/^(unshare|sh) /.test(command));

function supervisorOf(setup: GuardStage, { runId }: RunSpec): number {
	const events = readFileSync(join(setup.home.project, ".pi/subagents/runs", runId, "events.jsonl"), "utf8");
	return Number(/"supervisorPid":(\d+)/.exec(events)?.[1]);
}

/** What comes out of the pipe once the first one is gone, and how long that took. */
async function readAfter(pipe: string, tickets: () => string[], kill: () => void) {
	const started = performance.now();
	kill();
	await until(() => tickets().length === 1, "the waiter to have the lock");
	const waited = performance.now() - started;
	return { waited, content: readFileSync(pipe, "utf8") };
}

describe("a sub-agent that dies while it changes a file", () => {
	for (const isolation of ["none", "pid-namespace"] as const) {
		const skip = isolation === "none" ? false : SKIP_NAMESPACE;
		test(`kill -9 between check and write lets the next one go on (isolation: ${isolation}) (F57)`, {
			skip,
		}, async (t) => {
			const { pipe, tickets, runId, setup, done } = await holdFile(t, { isolation });
			const [pi] = pisOf(runId);
			assert.ok(pi, "the pi that holds the file");
			const { waited, content } = await readAfter(pipe, tickets, () => process.kill(pi.pid, "SIGKILL"));
			assert.equal(content, "waiter");
			assert.ok(waited <= MAX_DELAY_MS, `${waited} ms`);
			const { results } = await done;
			assert.match(results[0]?.text ?? "", /^✗ holder: .*\n✓ waiter: completed/);
			assert.match(setup.told("waiter", 1), /^Successfully wrote/);
			assert.deepEqual(tickets(), [], "no ticket is left");
		});
	}

	test("kill -9 of its supervisor frees the file as soon as its pi is gone, and not before (F57)", async (t) => {
		const { pipe, tickets, runId, setup, spec, done } = await holdFile(t);
		const { waited, content } = await readAfter(pipe, tickets, () => {
			process.kill(supervisorOf(setup, spec), "SIGKILL");
		});
		assert.deepEqual(pisOf(runId), []);
		assert.equal(content, "waiter");
		assert.ok(waited <= MAX_DELAY_MS, `${waited} ms`);
		await done;
	});

	test("One that only stands still keeps its file, and the others are told to try again (F58)", async (t) => {
		const { tickets, runId, setup, pipe, done } = await holdFile(t);
		const [pi] = pisOf(runId);
		assert.ok(pi);
		process.kill(pi.pid, "SIGSTOP");
		try {
			await setup.turn("waiter", 1);
			assert.equal(setup.told("waiter", 1), "Not done: another sub-agent is changing pipe at this moment. Try again.");
			assert.equal(tickets().length, 1, "the holder's");
		} finally {
			process.kill(pi.pid, "SIGCONT");
		}
		assert.equal(readFileSync(pipe, "utf8"), "holder");
		await done;
	});
});

function whyNoNamespace(): string | false {
	try {
		const user = process.getuid?.() === 0 ? [] : ["--map-current-user"];
		execFileSync("unshare", [...user, "--pid", "--kill-child", "--mount-proc", "true"], { stdio: "pipe" });
		return false;
	} catch (error) {
		return `no pid namespaces here: ${error instanceof Error ? error.message.split("\n")[0] : error}`;
	}
}
