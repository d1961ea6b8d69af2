import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { background, setUp } from "../e2e/background-setup.ts";
import { toolOutcomes } from "../rig/delegation.ts";
import { hang, text, toolCall, toolCalls } from "../rig/model-server.ts";
import { piCommand } from "../rig/pi.ts";
import { startPiTerminal } from "../rig/pi-terminal.ts";
import { isAlive, waitGone, waitNoneWithEnv } from "../rig/processes.ts";
import { startTerminal, terminalMissing } from "../rig/terminal.ts";
import { until } from "../rig/until.ts";
import { beginRun, EXTENSION, extensionFor, firstRun, kill, MARKER, seenRun, setupFor } from "./setup.ts";

const PARENT_DIED = {
	kind: "failed",
	failure: { kind: "stopped", cause: { kind: "aborted", by: "parent-death" } },
};

describe("with the real pi", { concurrency: 2 }, () => {
	test("kill -9 of the parent while the model says nothing more: all gone, with what it had said (F02)", async (t) => {
		const { delegation, run, server } = await beginRun(t, () => hang({ text: "half a sentence" }), await setupFor(t));
		const events = join(run.directory, "events.jsonl");
		await until(() => readFileSync(events, "utf8").includes('"delta":"half a sentence"'), "its words");
		delegation.parent.kill("SIGKILL");
		await Promise.all([waitNoneWithEnv(MARKER, run.runId), waitGone(run.supervisor)]);
		assert.deepEqual(run.result().outcome, PARENT_DIED);
		assert.equal(run.result().text, "half a sentence");
		const request = server.requests.findLast(({ lastUser }) => lastUser === "go");
		assert.equal(await request?.ended, "cut", "nobody listens to the model any more");
	});

	test("kill -9 of what a bash of the child runs is its tool's failure, and the run goes on (F07)", async (t) => {
		const { delegation, run } = await beginRun(
			t,
			({ turn }) => (turn === 0 ? toolCall("bash", { command: "exec sleep 311" }) : text("it was killed")),
			await setupFor(t),
		);
		kill((await run.runs("sleep 311")).pid);
		const { events } = await delegation.done;
		assert.match(toolOutcomes(events)[0]?.text ?? "", /^✓ t: completed/);
		assert.deepEqual(run.result().outcome, { kind: "completed", text: "it was killed", end: "natural" });
		assert.match(readFileSync(join(run.directory, "transcript.log"), "utf8"), /137|SIGKILL|killed/);
	});

	test("A terminal that is closed takes what runs in the foreground with it, and nothing else (F08, F09)", {
		skip: terminalMissing() ?? false,
	}, async (t) => {
		const { home, session, script, release, ended, runs, entries } = await setUp(t);
		script(background("go on alone"), {
			name: "delegate_to_subagents",
			args: { tasks: [{ name: "t", prompt: "stay with me" }] },
		});
		const terminal = await startPiTerminal(home, { extension: EXTENSION, args: ["--session", session] });
		let closed = false;
		t.after(() => (closed ? undefined : terminal.dispose()));
		await terminal.type("start both");
		await terminal.sendKeys("Enter");
		await until(() => runs().length === 2 && entries("pi-subagents").length === 1, "two runs");
		const alone = String(entries("pi-subagents:bg-run")[0]?.runId);
		const inFront = runs().find((runId) => runId !== alone) ?? "";
		const all = join(home.project, ".pi", "subagents", "runs");
		const [front, back] = [await seenRun(all, inFront), await seenRun(all, alone)];
		closed = true;
		await terminal.dispose();
		await Promise.all([waitNoneWithEnv(MARKER, inFront), waitGone(front.supervisor)]);
		assert.equal(front.result().outcome.kind, "failed");
		assert.deepEqual([isAlive(back.supervisor), isAlive(back.pi)], [true, true]);
		release("go on alone");
		await ended(alone);
		assert.deepEqual(back.result().outcome, { kind: "completed", text: "answer of go on alone", end: "natural" });
	});

	test("Ctrl+C to `pi -p` in a terminal leaves no process behind, nor what a bash had started (F10)", {
		skip: terminalMissing() ?? false,
	}, async (t) => {
		const { home, server } = await setupFor(t);
		server.use((request) => {
			if (!request.tools.includes("delegate_to_subagents")) return toolCall("bash", { command: "sleep 312" });
			const args = { tasks: [{ name: "t", prompt: "go" }] };
			return toolCalls([{ name: "delegate_to_subagents", args }]);
		});
		const command = piCommand(["-p", "--no-session", "-e", EXTENSION, "please delegate"]);
		const terminal = await startTerminal(command, home.env, { cwd: home.project });
		try {
			const run = await firstRun(home);
			await run.runs("sleep 312");
			await terminal.sendKeys("C-c");
			await terminal.waitForExit();
			await Promise.all([waitNoneWithEnv(MARKER, run.runId), waitGone(run.supervisor)]);
			assert.equal(run.result().outcome.kind, "failed");
		} finally {
			await terminal.dispose();
		}
	});

	test("A parent that dies of an exception of its own takes its runs with it (F11)", async (t) => {
		const place = await setupFor(t);
		const crash = 'process.on("SIGUSR2", () => { throw new Error("an extension of the person is broken"); });';
		place.home.write(join(place.home.agentDir, "extensions", "crash.js"), extensionFor("parent", crash));
		const { delegation, run } = await beginRun(t, () => toolCall("bash", { command: "sleep 313" }), place);
		await run.runs("sleep 313");
		delegation.parent.kill("SIGUSR2");
		const { code, signal } = await delegation.done;
		assert.notEqual(code, 0);
		assert.equal(signal, null, "it was not the signal that ended it");
		await Promise.all([waitNoneWithEnv(MARKER, run.runId), waitGone(run.supervisor)]);
		assert.equal(run.result().outcome.kind, "failed");
	});
});
