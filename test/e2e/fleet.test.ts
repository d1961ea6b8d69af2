import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createHome } from "../rig/home.ts";
import { type ModelRequest, type Reply, startModelServer, text, toolCall, toolCalls } from "../rig/model-server.ts";
import { startPiTerminal } from "../rig/pi-terminal.ts";
import { terminalMissing } from "../rig/terminal.ts";

const EXTENSION = join(import.meta.dirname, "..", "..", "index.js");
const TOOL = "delegate_to_subagents";
const skip = terminalMissing() ?? false;
/** A tool call that takes until the test says so. */
const WAIT = "until [ -e go ]; do sleep 0.1; done";

/** A real pi in a terminal that has just delegated two tasks. */
async function delegating(t: TestContext, columns: number, child: (name: string, request: ModelRequest) => Reply) {
	const tasks = ["alpha", "beta"].map((name) => ({ name, prompt: `you are ${name}\nand nobody else` }));
	const server = await startModelServer((request) => {
		if (request.tools.includes(TOOL)) {
			return request.turn === 0 ? toolCalls([{ name: TOOL, args: { tasks } }]) : text("the parent is done");
		}
		return child(JSON.stringify(request.body).includes("you are alpha") ? "alpha" : "beta", request);
	});
	const home = createHome(server, { settings: { quietStartup: true } });
	const terminal = await startPiTerminal(home, { columns, rows: 26, extension: EXTENSION });
	t.after(async () => {
		await terminal.dispose();
		await server.close();
		home.dispose();
	});
	await terminal.type("please delegate");
	await terminal.sendKeys("Enter");
	await terminal.waitFor(/agents: 2 running · alt\+a/, 30_000);
	return { terminal, server, home };
}

for (const columns of [100, 60]) {
	test(`B on ${columns} columns: a task goes on in the background, its call says so, and its end is announced with its answer as Markdown`, {
		skip,
	}, async (t) => {
		const { terminal, server, home } = await delegating(t, columns, (name, { turn }) => {
			if (name === "beta") return toolCall("bash", { command: WAIT }, { text: "beta waits" });
			return turn === 0 ? toolCall("bash", { command: WAIT }) : text("the **bold** answer of alpha");
		});
		await terminal.sendKeys("M-a");
		await terminal.waitFor(/▸ ● bash +alpha[\s\S]*● bash +beta/, 20_000);
		await terminal.sendKeys("b");
		await terminal.waitFor(/alpha goes on in the background/);
		await terminal.waitFor(/╭─ Agents · 1 running · 1 in the background[\s\S]*● bash +alpha .*(?:background|…)/);
		await terminal.sendKeys("Down");
		await terminal.waitFor(/▸ ● bash +beta|▸ ● bash +alpha/);
		await terminal.sendKeys("Escape");
		await terminal.waitWhile(/╭─ Agents/);
		await terminal.waitFor(/agents: 1 running, 1 in background · alt\+a/);
		home.write("go", "");
		await terminal.waitFor(/● alpha +moved to the background/, 30_000);
		await terminal.waitFor(/✓ alpha done in the background/, 30_000);
		const told = await terminal.waitFor(/the bold answer of alpha/);
		assert.doesNotMatch(told, /\*\*bold\*\*/);
		assert.match(
			(await terminal.capture({ ansi: true })).replaceAll("\u001b", "^"),
			/the (?:\^\[[\d;]*m)*\^\[[\d;]*\b1m(?:\^\[[\d;]*m)*bold/,
		);
		await terminal.waitFor("the parent is done", 30_000);
		await terminal.waitWhile(/agents: \d/);
		const last = server.requests.findLast(({ tools }) => tools.includes(TOOL));
		assert.match(JSON.stringify(last?.messages), /● alpha: moved to the background \(run: \d{8}-/);
	});
}

for (const columns of [100, 60]) {
	test(`The fleet view on ${columns} columns: watch, message, stop one, and close it while the agent is busy`, {
		skip,
	}, async (t) => {
		const { terminal, server } = await delegating(t, columns, (name, { turn }) => {
			if (name === "beta") return toolCall("bash", { command: "sleep 60" }, { text: "beta waits" });
			return turn === 0 ? toolCall("bash", { command: "sleep 4" }, { text: "alpha waits" }) : text("alpha has read it");
		});
		await terminal.sendKeys("M-a");
		await terminal.waitFor(/╭─ Agents · 2 running[\s\S]*▸ ● bash +alpha[\s\S]*● bash +beta[\s\S]*alpha waits/, 20_000);
		await terminal.sendKeys("Enter");
		await terminal.waitFor(/╭─ alpha · running[\s\S]*you are alpha[\s\S]*▸ bash {2}sleep 4/);
		await terminal.sendKeys("m");
		await terminal.waitFor("message to alpha");
		await terminal.type("xx only src");
		await terminal.sendKeys("Enter");
		await terminal.waitFor(/delivered in turn 2/, 20_000);
		await terminal.waitFor("alpha has read it", 10_000);
		assert.ok(
			server.requests.some(({ body }) => JSON.stringify(body).includes('"xx only src"')),
			"exactly as typed",
		);

		await terminal.sendKeys("Escape");
		await terminal.waitFor(/╭─ Agents/);
		await terminal.waitFor(/● bash +beta[\s\S]*✓ done +alpha/);
		await terminal.sendKeys("Up");
		await terminal.waitFor(/▸ ● bash +beta/);
		await terminal.sendKeys("x");
		await terminal.waitFor("x again stops beta");
		await terminal.sendKeys("x");
		await terminal.waitFor(/■ stopped +beta +stopped by you/, 15_000);
		await terminal.sendKeys("Escape");
		const end = await terminal.waitFor(
			/✓ alpha +alpha has read it[\s\S]*■ beta +stopped by you[\s\S]*the parent is done/,
			20_000,
		);
		assert.doesNotMatch(end, /agents: \d|╭─ Agents/);

		await terminal.type("/subagents");
		await terminal.sendKeys("Enter");
		await terminal.waitFor(/╭─ Agents · \$0\.\d\d[\s\S]*done +alpha/);
		await terminal.sendKeys("Tab", "Tab");
		await terminal.waitFor(/\[all\][\s\S]*done +alpha|■ stopped +beta/);
		await terminal.sendKeys("r");
		await terminal.waitFor(/Resume the sub-agent "(?:alpha|beta)" \(delegate_to_subagents/);
	});
}
