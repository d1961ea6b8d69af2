import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { StartedRun } from "../../src/run/watch.ts";
import { type RunningDelegation, startDelegation } from "../rig/delegation.ts";
import { text, toolCall } from "../rig/model-server.ts";
import { startPiTerminal } from "../rig/pi-terminal.ts";
import { type Terminal, terminalMissing } from "../rig/terminal.ts";
import { EXTENSION, type MessageStage, messageSetup } from "./message-setup.ts";

const skip = terminalMissing() ?? false;
const TASK = "look around";

interface Setup extends Pick<MessageStage, "home">, Pick<RunningDelegation, "done"> {
	readonly run: StartedRun;
	readonly terminal: Terminal;
}

/** A pi that waits for one task, and another pi whose person looks at it. */
async function twoSessions(
	t: TestContext,
	{ columns, directory }: { readonly columns: number; readonly directory: string },
	use: (setup: Setup) => Promise<void>,
): Promise<void> {
	const setup = await messageSetup(t);
	const { home, server } = setup;
	const { done } = startDelegation(home, server, {
		extension: EXTENSION,
		args: { tasks: [{ name: "looker", prompt: TASK }] },
		pi: { timeoutMs: 100_000 },
		child: ({ turn }) =>
			turn === 0
				? toolCall("bash", { command: "until [ -e go ]; do sleep 0.1; done" }, { text: "first a **bold** word" })
				: text("went on"),
	});
	const run = await setup.runOf(TASK);
	const cwd = join(home.root, directory);
	mkdirSync(cwd, { recursive: true });
	const terminal = await startPiTerminal(home, { columns, rows: 24, extension: EXTENSION, cwd });
	try {
		await terminal.sendKeys("M-a");
		await terminal.waitFor("No runs yet.");
		await terminal.sendKeys("Tab");
		await terminal.waitFor("[project]");
		await use({ home, run, done, terminal });
	} finally {
		home.write("go", "");
		await terminal.dispose();
	}
}

test("A run of another session is watched and takes 10,000 pasted characters as they are, and kill -9 of the viewer changes nothing for it", {
	skip,
}, async (t) => {
	await twoSessions(t, { columns: 100, directory: "project" }, async ({ terminal, home, run, done }) => {
		await terminal.waitFor(/▸ ● bash +looker .*another session/);
		await terminal.sendKeys("Enter");
		await terminal.waitFor(/╭─ looker · running[\s\S]*first a bold word[\s\S]*▸ bash {2}until/);
		assert.match(
			(await terminal.capture({ ansi: true })).replaceAll("\u001b", "^"),
			/first a (?:\^\[[\d;]*m)*\^\[[\d;]*\b1m(?:\^\[[\d;]*m)*bold/,
		);
		const message = `\u001b]0;owned\u0007\u001b[31mred\u001b[2J /x @y\r\n\t\u0001$1 ${"é🦊 ".repeat(3_000)}`.slice(
			0,
			10_000,
		);
		await terminal.sendKeys("m");
		await terminal.waitFor(/message to looker \(delivered after the running tool\)/);
		await terminal.paste(message);
		await terminal.waitFor("🦊");
		await terminal.sendKeys("Enter");
		const queued = await terminal.waitFor(/Message queued/);
		await terminal.waitFor(/🦊[\s\S]*🦊/);
		assert.doesNotMatch(queued, /owned/);
		await terminal.waitForTitle(/^π/);
		process.kill(terminal.pid, "SIGKILL");
		await terminal.waitForExit();
		home.write("go", "");
		const { results, childRequests } = await done;
		assert.match(results[0]?.text ?? "", /^✓ looker: completed/);
		assert.equal(childRequests[1]?.lastUser, message);
		const transcript = readFileSync(join(run.directory, "transcript.log"), "utf8");
		assert.ok(transcript.includes(`[message from another process of yours]: ${message.slice(0, 1)}`));
	});
});

test("Tab widens from the session to the project to all projects, where a run says whose it is; there, too, x x stops it", {
	skip,
}, async (t) => {
	await twoSessions(t, { columns: 60, directory: "another" }, async ({ terminal, done }) => {
		await terminal.waitFor("No runs yet.");
		await terminal.sendKeys("Tab");
		await terminal.waitFor(/\[all\][\s\S]*▸ ● bash +looker .*in project/);
		await terminal.sendKeys("b");
		await terminal.waitFor("It belongs to another session");
		await terminal.sendKeys("x", "x");
		await terminal.waitFor(/■ stopped +looker +stopped by you/, 30_000);
		await terminal.sendKeys("m");
		await terminal.waitFor(/It has ended/);
		const { results } = await done;
		assert.match(results[0]?.text ?? "", /^■ looker: stopped by you/);
	});
});
