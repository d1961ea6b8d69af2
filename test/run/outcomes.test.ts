import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { err } from "../../src/domain/result.ts";
import { messagesOf } from "../../src/domain/state.ts";
import { execute, start } from "../../src/run/execute.ts";
import { createSetup, endOf, resultIn, type Setup, startRun } from "../rig/fake-run.ts";

describe("how a run ends", { concurrency: 3 }, () => {
	let setup: Setup;
	before(() => {
		setup = createSetup();
	});
	after(() => setup.dispose());

	test("A child that answers and settles is completed with its last text (X13)", async () => {
		const run = setup.start([{ tool: "bash", args: { command: "ls" }, result: "a" }, { say: "all done" }]);
		const state = await run.done;
		const result = endOf(state);
		assert.deepEqual(result.outcome, { kind: "completed", text: "all done", end: "natural" });
		assert.deepEqual(result.exit, { kind: "code", code: 0 });
		assert.equal(result.stopReason, "stop");
		assert.equal(result.toolCalls, 1);
		assert.equal(result.messageCount, 4);
		assert.deepEqual(result.model, { provider: "mock", id: "mock-1" });
		assert.deepEqual(result.leftovers, []);
		assert.ok(result.startedAt <= result.endedAt);
		assert.deepEqual(
			messagesOf(state).map(({ role }) => role),
			["user", "assistant", "toolResult", "assistant"],
		);
		assert.deepEqual(resultIn(run.directory), JSON.parse(JSON.stringify(result)));
	});

	test("Stdin carries one word and ends, the prompt comes on fd 3, X6: the child is marked (X5, W2)", async () => {
		const seen = setup.start([
			{ stdin: true },
			{ env: ["PI_SUBAGENTS_CHILD", "PI_SUBAGENT_CHILD", "PI_SUBAGENTS_RUN_ID", "PI_API_KEY"] },
			{ argv: true },
			{ cwd: true },
		]);
		const state = await seen.done;
		const [stdin, env, argv, cwd] = messagesOf(state)
			.filter(({ role }) => role === "assistant")
			.map(({ content }) => (content[0] as { text: string }).text);
		assert.match(stdin ?? "", /^\w+$/);
		assert.deepEqual(JSON.parse(env ?? ""), {
			PI_SUBAGENTS_CHILD: "1",
			PI_SUBAGENT_CHILD: "1",
			PI_SUBAGENTS_RUN_ID: seen.runId,
			PI_API_KEY: null,
		});
		assert.deepEqual(JSON.parse(argv ?? ""), ["--mode", "json", "-p"]);
		assert.equal(cwd, setup.project);
	});

	test("An exit code and the last words on stderr explain a child that broke off (A81)", async () => {
		const run = setup.start([{ delta: "I was about to" }, { stderr: "no key\n" }, { exit: 3 }]);
		const result = endOf(await run.done);
		assert.deepEqual(result.outcome, {
			kind: "failed",
			failure: { kind: "exit", exit: { kind: "code", code: 3 }, stderr: "no key" },
		});
		assert.equal(result.text, "I was about to");
	});

	test("A child that exits with 0 before it settled has failed (X13)", async () => {
		const result = endOf(await setup.start([{ say: "half" }, { exit: 0 }]).done);
		assert.deepEqual(result.outcome, {
			kind: "failed",
			failure: { kind: "exit", exit: { kind: "code", code: 0 }, stderr: "" },
		});
	});

	test("A child killed by a signal has failed with that signal (W34)", async () => {
		const result = endOf(await setup.start([{ say: "half" }, { signal: "SIGKILL" }]).done);
		assert.deepEqual(result.exit, { kind: "signal", signal: "SIGKILL" });
		assert.equal(result.outcome.kind, "failed");
		assert.equal(result.text, "half");
	});

	test("A pi that is not there, or may not be run, or a directory that is gone, is a failed spawn (A82, F30)", async () => {
		const locked = join(setup.project, "locked-pi");
		writeFileSync(locked, "#!/bin/sh\n");
		chmodSync(locked, 0o600);
		const missing = setup.start("x", { invocation: { command: join(setup.project, "no-pi"), args: [] } });
		const forbidden = setup.start("x", { invocation: { command: locked, args: [] } });
		const nowhere = setup.start("x", { cwd: join(setup.project, "gone") });
		for (const [run, words] of [
			[missing, /no-pi ENOENT/],
			[forbidden, /locked-pi EACCES/],
			[nowhere, /^cwd does not exist: .*gone$/],
		] as const) {
			const { outcome, exit } = endOf(await run.done);
			assert.ok(outcome.kind === "failed" && outcome.failure.kind === "spawn", JSON.stringify(outcome));
			assert.match(outcome.failure.message, words);
			assert.equal(exit.kind, "spawn-failed");
			assert.equal(resultIn(run.directory).outcome.kind, "failed");
		}
	});

	test("A run whose supervisor cannot start, or that is stopped before, has a result all the same (B47)", async () => {
		const open = join(setup.project, "open");
		mkdirSync(open);
		chmodSync(open, 0o777);
		const stopped = setup.prepare("x");
		const runs = [
			setup.start("x", { socket: join(open, "socket") }),
			startRun(setup.prepare("x"), undefined, async () => err("no more processes")),
			{ directory: stopped.directory, done: execute(stopped, AbortSignal.abort(), () => {}) },
		];
		const failures = await Promise.all(
			runs.map(async ({ done, directory }) => {
				const result = endOf(await done);
				assert.deepEqual(resultIn(directory), JSON.parse(JSON.stringify(result)));
				assert.equal(statSync(join(directory, "result.json")).mode & 0o777, 0o600);
				assert.deepEqual(
					readdirSync(directory).filter((name) => name.startsWith(".")),
					[],
				);
				return result.outcome.kind === "failed" ? result.outcome.failure : undefined;
			}),
		);
		const [refused, exhausted, aborted] = failures;
		assert.ok(refused?.kind === "spawn" && /must be a directory of this user/.test(refused.message));
		assert.deepEqual(exhausted, { kind: "spawn", message: "no more processes" });
		assert.deepEqual(aborted, { kind: "stopped", cause: { kind: "aborted", by: "caller" } });

		const background = setup.prepare("x", { socket: join(open, "other"), lifetime: "background" });
		const started = await start(background, () => assert.fail("there is nothing to take"));
		assert.match(
			started.ok ? "" : started.error,
			/^Failed to spawn sub-agent process: .*must be a directory of this user/s,
		);
		const { outcome } = resultIn(background.directory);
		assert.equal(outcome.kind === "failed" && outcome.failure.kind, "spawn");
	});

	test("E2BIG: arguments that the system refuses are a failed spawn, not a crash", async () => {
		const args = ["x".repeat(200_000)];
		const { outcome } = endOf(await setup.start("x", { invocation: { command: process.execPath, args } }).done);
		assert.ok(outcome.kind === "failed" && outcome.failure.kind === "spawn");
		assert.match(outcome.failure.message, /E2BIG/);
	});

	test("A provider's error is a failure in the provider's words, though pi exits with 0 (F24)", async () => {
		const run = setup.start([{ say: "", stopReason: "error", errorMessage: "401: no such key" }]);
		const result = endOf(await run.done);
		assert.deepEqual(result.outcome, { kind: "failed", failure: { kind: "model", message: "401: no such key" } });
		assert.deepEqual(result.exit, { kind: "code", code: 0 });
	});

	test("An error that pi tries again is no end; the usage of all attempts counts (F25, W26)", async () => {
		const run = setup.start([
			{ say: "", stopReason: "error", errorMessage: "503", usage: { input: 7, output: 1 } },
			{ retry: 1 },
			{ sleep: 50 },
			{ say: "second try", usage: { input: 10, output: 2 } },
		]);
		const result = endOf(await run.done);
		assert.deepEqual(result.outcome, { kind: "completed", text: "second try", end: "natural" });
		assert.equal(result.usage.input, 17);
		assert.equal(result.usage.output, 3);
	});

	test("The tokens that tools of the child spent count too (X14)", async () => {
		const run = setup.start([
			{ tool: "ask", result: "x", resultUsage: { input: 1_000, output: 50 }, usage: { input: 1, output: 1 } },
			{ say: "done", usage: { input: 10, output: 2 } },
		]);
		const { usage } = endOf(await run.done);
		assert.deepEqual([usage.input, usage.output], [1_011, 53]);
	});

	test("A child that settles without any answer of a model has failed (F28)", async () => {
		const result = endOf(await setup.start([{ stderr: "nothing to do\n" }, { settle: true }]).done);
		assert.deepEqual(result.outcome, { kind: "failed", failure: { kind: "silent", stderr: "nothing to do" } });
	});

	test("An answer that the output limit cut, and an empty one, are completed and say so (X13, F29)", async () => {
		const [cut, empty] = await Promise.all([
			setup.start([{ say: "as far as I", stopReason: "length" }]).done,
			setup.start([{ say: "" }]).done,
		]);
		assert.deepEqual(endOf(cut).outcome, { kind: "completed", text: "as far as I", end: "output-limit" });
		assert.deepEqual(endOf(empty).outcome, { kind: "completed", text: "", end: "natural" });
	});

	test("A child that could not be given its task says why it ended (F32)", async () => {
		const prepared = setup.prepare("x", { invocation: { command: "sh", args: ["-c", "echo broken >&2; exit 1"] } });
		const { outcome } = endOf(await startRun(prepared).done);
		assert.deepEqual(outcome, {
			kind: "failed",
			failure: { kind: "exit", exit: { kind: "code", code: 1 }, stderr: "broken" },
		});
	});
});
