import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { KeptRun } from "../../src/domain/kept-run.ts";
import { textOf } from "../../src/domain/messages.ts";
import { homeRunsOf } from "../../src/run-directory/places.ts";
import { createDelegateSetup, type DelegateSetup, linesOf, runIdsIn, task } from "../rig/delegate-setup.ts";
import { promptOf } from "../rig/fake-steps.ts";

/** The texts of all messages of the last run that has ended. */
const saidIn = (kept: readonly KeptRun[]): string[] => {
	const progress = kept.at(-1)?.progress;
	assert.ok(progress?.kind === "ended");
	return progress.messages.flatMap((message) => (message.role === "assistant" ? [textOf(message)] : []));
};

describe("delegate_to_subagents", { concurrency: 3 }, () => {
	let setup: DelegateSetup;
	before(() => {
		setup = createDelegateSetup();
	});
	after(() => setup.dispose());
	const session: DelegateSetup["session"] = (...given) => setup.session(...given);

	test("One task, one line, its details (A14, A15, A18, A20)", async () => {
		const { delegate } = session();
		const call = await delegate({ tasks: [task("scout", { say: "found it", usage: { input: 12, output: 3 } })] });
		const { details, usage } = call.result;
		assert.deepEqual(call.lines, [`✓ scout: completed (session: ${details.sessionIds[0]})`]);
		assert.match(details.sessionIds[0] ?? "", /^[0-9a-f]{16}$/);
		assert.equal(details.globalStatus, "done");
		assert.equal(details.maxLinesPerWindow, 15);
		const [window] = details.windows;
		assert.ok(window);
		const { startedAt, completedAt = 0, allMessages, usage: own, runId, directory, task: asked, ...rest } = window;
		assert.deepEqual(rest, {
			name: "scout",
			sessionId: details.sessionIds[0],
			status: "completed",
			lines: [{ text: "found it", kind: "text" }],
			exitCode: 0,
			model: "mock/mock-1",
			stopReason: "stop",
			timeout: 600,
			toolCalls: 0,
			...{ state: "done", grace: 30, note: "found it", answer: "found it" }, // for the live view
		});
		assert.ok(asked !== undefined && directory?.endsWith(`/${runId}`));
		assert.ok(startedAt > 0 && startedAt <= completedAt);
		assert.deepEqual(allMessages, [{ text: "found it", kind: "text" }]);
		assert.deepEqual(own, usage);
		assert.equal(usage?.input, 12);
		assert.equal(call.failed, false);
		assert.deepEqual(
			JSON.parse(JSON.stringify(call.result)),
			call.result,
			"pi writes the result to its session file and reads it again",
		);
	});

	test("What became of each task, in task order whoever ends first (A16, A24, X13, X17)", async () => {
		const { delegate } = session({}, { looping_tool_count: 3, extend_timeout_debounce: 0 });
		const call = await delegate({
			tasks: [
				task("slow", { sleep: 700 }, { say: "x" }),
				task("empty", { say: "  \n" }),
				task("cut", { say: "as far", stopReason: "length" }),
				task("model", { say: "", stopReason: "error", errorMessage: "401: \u001b[31mno\nkey" }),
				task("exit", { stderr: "a reason\n" }, { exit: 3 }),
				task("signal", { signal: "SIGKILL" }),
				task("silent", { settle: true }),
				{ ...task("timeout", { hang: true }), timeout: 1 },
				task("loop", { repeat: 9, steps: [{ tool: "ls", args: { path: "a" } }] }, { hang: true }),
				{ ...task("cwd", { say: "x" }), cwd: "relative" },
				{ ...task("profile", { say: "x" }), profile: "nobody" },
				task("multi\nline \u001b[1mname", { say: "x" }),
			],
		});
		assert.deepEqual(linesOf(call), [
			"✓ slow: completed (session)",
			"✓ empty: completed, no text output (session)",
			"✓ cut: completed, cut by the output limit (session)",
			"✗ model: error — 401: no key (session)",
			"✗ exit: error — Sub-agent process exited with code 3: a reason (session)",
			"✗ signal: error — Sub-agent process was killed by SIGKILL (session)",
			"✗ silent: error — Sub-agent ended without any answer of the model (session)",
			"✗ timeout: error — Timed out after 1s. Consider resuming with a longer timeout. (session)",
			"✗ loop: error — Loop detected: sub-agent is repeating the same tool calls (session)",
			"✗ cwd: error — cwd must be an absolute path (session)",
			'✗ profile: error — Unknown profile: "nobody". Available profiles: (none) (session)',
			"✓ multi line name: completed (session)",
		]);
		assert.deepEqual(
			call.result.details.windows.map(({ exitCode }) => exitCode),
			[0, 0, 0, 0, 3, 137, 0, 143, 143, null, null, 0],
		);
		assert.equal(call.failed, false);
		assert.equal(call.result.details.windows[7]?.timeout, 1);
	});

	test("A pi that cannot be started (A82)", async () => {
		const { delegate } = session({ command: { command: "/nowhere/pi", args: [] } });
		const call = await delegate({ tasks: [task("a", { say: "x" })] });
		assert.match(linesOf(call)[0] ?? "", /^✗ a: error — Failed to spawn sub-agent process: .*ENOENT \(session\)$/);
		assert.equal(call.result.details.windows[0]?.exitCode, null);
		assert.equal(call.failed, true);
	});

	test("A call whose tasks all failed is a failed call, with its details and its usage (X13)", async () => {
		const { delegate } = session();
		const failing = { say: "", stopReason: "error", errorMessage: "500", usage: { input: 4, output: 0 } } as const;
		const call = await delegate({
			tasks: [task("a", failing), { ...task("b", { say: "x" }), cwd: "/nowhere/at/all" }],
		});
		assert.equal(call.failed, true);
		assert.equal(call.result.details.windows.length, 2);
		assert.equal(call.result.usage?.input, 4);
		assert.deepEqual(linesOf(call), [
			"✗ a: error — 500 (session)",
			"✗ b: error — cwd does not exist: /nowhere/at/all (session)",
		]);
	});

	test("An unknown profile fails its task alone; the task's own comes before the default (A28, A29)", async () => {
		const { delegate } = session();
		const call = await delegate({
			tasks: [task("a", { say: "x" }), { ...task("b", { say: "x" }), profile: "two" }],
			profile: "one",
		});
		assert.deepEqual(linesOf(call), [
			'✗ a: error — Unknown profile: "one". Available profiles: (none) (session)',
			'✗ b: error — Unknown profile: "two". Available profiles: (none) (session)',
		]);
		assert.deepEqual(
			call.result.details.windows.map(({ profileName, errorMessage }) => [profileName, errorMessage]),
			[
				["one", 'Unknown profile: "one". Available profiles: (none)'],
				["two", 'Unknown profile: "two". Available profiles: (none)'],
			],
		);
	});

	test("How a child is started: no prompt among its arguments, the parent's model, no session (A70, X5, X10, X12)", async () => {
		const { delegate, context, kept } = session({ model: { provider: "mock", id: "mock-2" } });
		await delegate({ tasks: [task("a", { argv: true }, { packet: true })] });
		const said = saidIn(kept);
		const args = JSON.parse(said?.[0] ?? "") as string[];
		const extension = args[args.indexOf("-e") + 1] ?? "";
		assert.match(extension, /extension\.ts$/);
		const { model } = context;
		assert.deepEqual(
			args.filter((arg) => arg !== extension),
			[
				...["--mode", "json", "-p", "--no-session", "-e"],
				...["--provider", model?.provider, "--model", model?.id, "--thinking", "off"],
			],
		);
		assert.equal(JSON.parse(said?.[1] ?? "").prompt, promptOf({ argv: true }, { packet: true }));
	});

	test("With inheritModel off the child uses pi's own default (X10)", async () => {
		const { delegate, kept } = session({ model: { provider: "mock", id: "mock-2" } }, { inheritModel: false });
		await delegate({ tasks: [task("a", { argv: true })] });
		const [args = ""] = saidIn(kept);
		assert.match(args, /"--mode"/);
		assert.doesNotMatch(args, /--model/);
	});

	test("Files stand before the prompt, as the packet has it; A6: in the task's own directory (A49)", async () => {
		const { delegate, context, kept } = session();
		mkdirSync(join(context.cwd, "sub"));
		writeFileSync(join(context.cwd, "sub", "a.txt"), "one\ntwo\n");
		const prompt = promptOf({ packet: true }, { cwd: true });
		const files = ["a.txt", { path: "a.txt", head: 1 }, { path: "a.txt", start: 2 }, "gone.txt"];
		await delegate({ tasks: [{ name: "a", prompt, cwd: join(context.cwd, "sub"), files }] });
		const [first, second] = saidIn(kept);
		assert.equal(
			JSON.parse(first ?? "").prompt,
			[
				"=== a.txt ===\none\ntwo",
				"=== a.txt ===\none",
				"=== a.txt ===\ntwo",
				"[file not found: gone.txt]",
				prompt,
			].join("\n\n"),
		);
		assert.equal(second, join(context.cwd, "sub"));
	});

	test("Files that could not be attached are counted in the task's status line [A57, X38]", async () => {
		const { delegate, context } = session();
		writeFileSync(join(context.cwd, "a.txt"), "one\n");
		const call = await delegate({ tasks: [{ ...task("a", { say: "x" }), files: ["a.txt", "src/*.ts", "gone.txt"] }] });
		assert.deepEqual(linesOf(call), [
			'✓ a: completed (session) [1 of 3 files attached: "src/*.ts" matches no file; "gone.txt" was not found]',
		]);
	});

	test("Every run leaves its trail and two entries, every refused task one (X7, X9)", async () => {
		const { delegate, context, kept } = session();
		const call = await delegate({ tasks: [task("a", { say: "x" }), { ...task("b", { say: "x" }), cwd: "x" }] });
		const [runId = "", ...others] = runIdsIn({ context });
		assert.deepEqual(others, []);
		const meta = JSON.parse(readFileSync(join(context.cwd, ".pi", "subagents", "runs", runId, "meta.json"), "utf8"));
		assert.deepEqual([meta.sessionId, meta.label], [call.result.details.sessionIds[0], "a"]);
		assert.deepEqual(kept.map(({ label, progress }) => `${label} ${progress.kind}`).toSorted(), [
			"a ended",
			"a running",
			"b ended",
		]);
	});

	test("One task that cannot be prepared leaves the others alone (A28, W8)", async () => {
		const host = session();
		const files = [{ path: "a\0b", head: 1 }];
		const call = await host.delegate({
			tasks: [
				{ ...task("nul", { say: "x" }), cwd: "/a\0b" },
				{ ...task("file", { say: "x" }), files },
				task("good", { say: "x" }),
			],
		});
		assert.match(linesOf(call)[0] ?? "", /^✗ nul: error — cwd cannot be used: /);
		assert.deepEqual(linesOf(call).slice(1), [
			'✓ file: completed (session) [0 of 1 files attached: "ab" could not be read]',
			"✓ good: completed (session)",
		]);
	});

	test("If the agent directory cannot be written, runs are kept in the project, with one warning [X7]", async () => {
		const host = session();
		const runs = homeRunsOf({ cwd: host.context.cwd, agentDirectory: process.env.PI_CODING_AGENT_DIR ?? "" });
		mkdirSync(dirname(runs), { recursive: true });
		writeFileSync(runs, "in the way");
		const call = await host.delegate({ tasks: [task("a", { say: "x" }), task("b", { say: "x" })] });
		assert.deepEqual(linesOf(call), ["✓ a: completed (session)", "✓ b: completed (session)"]);
		assert.equal(new Set(host.warnings).size, 1);
		assert.match(host.warnings[0] ?? "", /^Sub-agent runs are kept in .*\.pi\/subagents\/runs: /);
	});
});
