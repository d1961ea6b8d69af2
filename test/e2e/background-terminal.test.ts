import assert from "node:assert/strict";
import { test } from "node:test";
import { startPiTerminal } from "../rig/pi-terminal.ts";
import { terminalMissing } from "../rig/terminal.ts";
import { background, EXTENSION, isParent, stage } from "./background-stage.ts";

const LINES = Array.from({ length: 9 }, (_, at) => `finding ${at + 1}`);

test("B59: in the terminal a run stands in the footer, and its end in the session: a few lines, or all of them", {
	skip: terminalMissing() ?? false,
}, async (t) => {
	const { home, session, server, script, release } = await stage(t);
	const terminal = await startPiTerminal(home, {
		extension: EXTENSION,
		args: ["--session", session],
		...{ columns: 100, rows: 40 },
	});
	try {
		const task = ["look for", ...LINES].join("\n");
		script(background(task));
		await terminal.type("start it");
		await terminal.sendKeys("Enter");
		const started = await terminal.waitFor("bg: 1 running / 1 total", 20_000);
		assert.match(started, /Started scout in the background|the parent is done|background_agent/);
		await terminal.waitFor("the parent is done");
		const requests = server.requests.filter(isParent).length;

		release(task);
		const ended = await terminal.waitFor(/✓ scout completed in the background • \d+s • 16 tokens/, 20_000);
		assert.match(ended, /bg: 0 running \/ 1 total/);
		assert.match(ended, /^ *answer of look for *$/m);
		assert.doesNotMatch(ended, /^ *finding 9 *$/m);
		await terminal.sendKeys("C-o");
		const expanded = await terminal.waitFor(/tokens[\s\S]*finding 8\s+finding 9/);
		assert.match(expanded, /✓ scout completed/);
		await terminal.type("/subagents");
		await terminal.sendKeys("Escape", "Enter");
		await terminal.waitFor(/Background agents: 0 running, 1 completed, 0 failed, 0 aborted, 1 total/);
		assert.equal(server.requests.filter(isParent).length, requests, "B62: nobody asked the model anything");
	} finally {
		await terminal.dispose();
	}
});
