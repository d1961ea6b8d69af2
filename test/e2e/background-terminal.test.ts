import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Home } from "../rig/home.ts";
import { startPiTerminal } from "../rig/pi-terminal.ts";
import { terminalMissing } from "../rig/terminal.ts";
import { background, EXTENSION, isParent, MESSAGE, setUp, UPDATE } from "./background-setup.ts";

const LINES = Array.from({ length: 9 }, (_, at) => `finding ${at + 1}`);

test("In the terminal a run stands in the footer, and its end in the session: a few lines, or all of them (B59)", {
	skip: terminalMissing() ?? false,
}, async (t) => {
	const { home, session, server, script, release } = await setUp(t);
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
		const started = await terminal.waitFor("agents: 1 in background · alt+a");
		assert.match(started, /Started scout in the background|the parent is done|background_agent/);
		await terminal.waitFor("the parent is done");
		const requests = server.requests.filter(isParent).length;

		release(task);
		const ended = await terminal.waitFor(/✓ scout done in the background · \d+s · 16 · \$0\.00 · \d{8}-/);
		assert.doesNotMatch(ended, /^ ?agents: \d/m);
		assert.match(ended, /^ *answer of look for *$/m);
		assert.doesNotMatch(ended, /^ *finding 9 *$/m);
		await terminal.sendKeys("C-o");
		const expanded = await terminal.waitFor(/in the background[\s\S]*finding 8\s+finding 9/);
		assert.match(expanded, /✓ scout done/);
		await terminal.type("/subagents list");
		await terminal.sendKeys("Escape", "Enter");
		await terminal.waitFor(/Sub-agents: 0 running, 0 queued, 1 ended\s+✓ scout: done, \d+s, in the background/);
		assert.equal(server.requests.filter(isParent).length, requests, "B62: nobody asked the model anything");
	} finally {
		await terminal.dispose();
	}
});

for (const end of ["quits", "is killed"] as const) {
	test(`A run outlives a terminal that ${end}, and the next one picks it up and tells its end once (B52, B57–B61)`, {
		skip: terminalMissing() ?? false,
	}, async (t) => {
		const { home, session, server, script, release, entries, ended, runs } = await setUp(t);
		const open = () =>
			startPiTerminal(home, { extension: EXTENSION, args: ["--session", session], ...{ columns: 100, rows: 40 } });
		const first = await open();
		try {
			script(background("look"), background("linger"));
			await first.type("start them");
			await first.sendKeys("Enter");
			await first.waitFor("agents: 2 in background · alt+a");
			await first.waitFor("the parent is done");
			if (end === "is killed") process.kill(first.pid, "SIGKILL");
			else await first.sendKeys("C-d");
			await first.waitForExit();
			if (end === "quits") {
				await first.waitFor(
					/2 background agents keep running: scout, scout\. You will be told when this session is opened/,
				);
			}
		} finally {
			await first.dispose();
		}
		assert.deepEqual(entries(UPDATE), []);
		const requests = server.requests.filter(isParent).length;
		// One ends while nobody is there, the other goes on.
		release("look");
		const look = runs().find((runId) => taskOf(home, runId) === "look") ?? "";
		await ended(look);
		const second = await open();
		try {
			const found = await second.waitFor(/✓ scout done in the background[\s\S]*answer of look/);
			assert.match(found, /agents: 1 in background · alt\+a/);
			release("linger");
			const last = await second.waitFor(/answer of look[\s\S]*✓ scout done[\s\S]*answer of linger/);
			assert.doesNotMatch(last, /^ ?agents: \d/m);
			await second.sendKeys("C-d");
			await second.waitForExit();
		} finally {
			await second.dispose();
		}
		const third = await open();
		try {
			await third.waitFor(/(?:✓ scout done[\s\S]*){2}/);
		} finally {
			await third.dispose();
		}
		for (const type of [UPDATE, MESSAGE]) {
			assert.deepEqual(
				entries(type)
					.map(({ runId }) => runId)
					.toSorted(),
				runs().toSorted(),
				type,
			);
		}
		assert.equal(server.requests.filter(isParent).length, requests, "B62: nobody asked the model anything");
	});
}

const taskOf = ({ project }: Home, runId: string): string =>
	JSON.parse(readFileSync(join(project, ".pi", "subagents", "runs", runId, "meta.json"), "utf8")).task;
