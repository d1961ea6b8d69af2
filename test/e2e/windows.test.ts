import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { delegate } from "../rig/delegation.ts";
import { createHome, type Home, type HomeOptions } from "../rig/home.ts";
import {
	hang,
	type ModelRequest,
	type ModelServer,
	type Reply,
	startModelServer,
	status,
	text,
	toolCall,
	toolCalls,
} from "../rig/model-server.ts";
import { startPiTerminal } from "../rig/pi-terminal.ts";
import { type Terminal, type TerminalOptions, terminalMissing } from "../rig/terminal.ts";

const EXTENSION = join(import.meta.dirname, "..", "..", "index.js");
const TOOL = "delegate_to_subagents";
const WIPE = "\u001b[3J";
const skip = terminalMissing() ?? false;

/** What the child of the task `agent <n>` answers. */
type Child = (agent: number, request: ModelRequest) => Reply;

interface Setup {
	home: Home;
	server: ModelServer;
	terminal: Terminal;
	/** All that pi has written to its terminal. */
	written(): string;
}

/** A real pi in a terminal that has just delegated so many tasks. */
async function delegating(
	t: TestContext,
	agents: number,
	child: Child,
	options: { terminal: TerminalOptions; home?: HomeOptions; files?: Readonly<Record<string, string>> },
): Promise<Setup> {
	const tasks = Array.from({ length: agents }, (_, agent) => ({ name: `agent ${agent}`, prompt: `agent ${agent}` }));
	const server = await startModelServer((request) => {
		if (!request.tools.includes(TOOL)) return child(Number(/agent (\d+)/.exec(request.lastUser)?.[1]), request);
		return request.turn === 0 ? toolCalls([{ name: TOOL, args: { tasks } }]) : text("the parent is done");
	});
	// Since pi 1.0 the screen has a scrollback of its own unless it is told otherwise.
	const settings = { tuiMode: "regular", ...options.home?.settings };
	const home = createHome(server, { ...options.home, settings });
	for (const [path, content] of Object.entries(options.files ?? {})) home.write(path, content);
	const log = join(home.root, "written.log");
	const terminal = await startPiTerminal(home, {
		...options.terminal,
		extension: EXTENSION,
		env: { PI_TUI_WRITE_LOG: log },
	});
	t.after(async () => {
		await terminal.dispose();
		await server.close();
		home.dispose();
	});
	await terminal.type("please delegate");
	await terminal.sendKeys("Enter");
	await terminal.waitFor(/\d running/);
	return { home, server, terminal, written: () => readFileSync(log, "utf8") };
}

/** The rows of the block, from its call to the last that has text. */
function blockOf(screen: string): string[] {
	const rows = screen.split("\n");
	const first = rows.findIndex((row) => row.includes(TOOL));
	const end = rows.findIndex((row, index) => index > first && /^──|^ Tool output:/.test(row));
	const block = rows.slice(first, end);
	return block.slice(0, block.findLastIndex((row) => row.trim() !== "") + 1);
}

test("16 agents on 80x24 stay within the screen, never jump, and never wipe the scrollback (X26)", {
	skip,
}, async (t) => {
	const lines = (agent: number) => Array.from({ length: 12 }, (_, line) => `line ${line} of ${agent}`).join("\n");
	const { terminal, written } = await delegating(
		t,
		16,
		(agent, { turn }) =>
			turn === 0 ? toolCall("bash", { command: "echo hi" }, { text: lines(agent) }) : text(lines(agent)),
		{ terminal: { columns: 80, rows: 24 } },
	);
	let height = 0;
	const deadline = performance.now() + 90_000;
	for (
		let screen = await terminal.capture();
		!screen.includes("the parent is done");
		screen = await terminal.capture()
	) {
		assert.ok(performance.now() < deadline, screen);
		const block = blockOf(screen);
		if (!screen.includes("running") || block.length === 0) continue;
		// Two empty rows of pi's frame come on top.
		assert.ok(block.length + 2 <= 24 - 12, screen);
		assert.ok(block.length >= height, `${height} rows, then:\n${screen}`);
		height = block.length;
	}
	assert.equal(height, 10);
	const [running = ""] = written().split("the parent is done");
	assert.equal(running.slice(running.indexOf("4 running")).split(WIPE).length - 1, 0);
	const all = await terminal.capture({ scrollback: true });
	assert.match(all, /please delegate/);
	assert.match(all, /^ 16 done +\d+s(?: +[\d.]+k)? +\$0\.\d\d$/m);
	assert.equal(all.match(/^ ✓ agent \d+ +line 0 of \d+ +\d+s/gm)?.length, 16);
	assert.equal(
		blockOf(all).findIndex((row) => row.includes("ctrl+o tasks, steps, answers, ids")),
		1 + 1 + 16,
	);
});

test("4 agents at work, expanded, resized, and stopped with Escape (A111–A117, X34)", { skip }, async (t) => {
	const { terminal } = await delegating(
		t,
		4,
		(agent, { turn }) => {
			if (turn === 0) return toolCall("ls", { path: "src/" }, { text: `looking around as ${agent}` });
			if (turn === 1) return toolCall("write", { path: "src/new.ts", content: "one\n\ntwo\n" });
			return agent === 3
				? text("early")
				: hang({ text: Array.from({ length: 60 }, (_, line) => `thought ${line}`).join("\n") });
		},
		{
			terminal: { columns: 120, rows: 40 },
			files: { "src/deep/old.ts": "" },
			home: { settings: { defaultTools: ["read", "bash", "edit", "write", "ls", TOOL] } },
		},
	);
	const busy = await terminal.waitFor(/3 running · 1 done(?:[\s\S]*writing .*thought 59){3}/);
	assert.match(busy, /^ ✓ agent 3 +early +\d+s +[\d.]+k? +\$0\.\d\d$/m);
	assert.equal(blockOf(busy).length + 2, 40 - 12);

	const seconds = (screen: string) => Number(/agent 0 .* (\d+)s +~/.exec(screen)?.[1]);
	const then = seconds(busy);
	await terminal.waitFor(new RegExp(`agent 0 .* ${then + 2}s +~`));

	await terminal.sendKeys("C-o");
	const expanded = await terminal.waitFor("Tool output: expanded");
	assert.equal(blockOf(expanded).length + 2, 40 - 12);
	await terminal.resize(200, 50);
	await terminal.waitFor(/^─{200}$/m);
	const wide = await terminal.waitFor(/thought 59[\s\S]*thought 59/);
	assert.ok(blockOf(wide).length + 2 <= 50 - 12, wide);
	await terminal.resize(60, 20);
	const narrow = await terminal.waitFor(/^ ● agent 2 +writing .*thought 59 +\d+s$/m);
	assert.ok(blockOf(narrow).length + 2 <= 20 - 12, narrow);
	await terminal.resize(120, 40);
	await terminal.waitFor(/^─{120}$/m);

	await terminal.sendKeys("Escape");
	await terminal.waitFor(/aborted/);
	const all = await terminal.capture({ scrollback: true });
	assert.match(all, /^ 1 done · 3 stopped /m);
	assert.match(all, /^ +ls {2}src\/\n +(?:1 file, )?1 dir\n +write {2}src\/new\.ts \+2\n/m);
	assert.match(
		all,
		/^ +session [0-9a-f]{16} · run \d{8}-\d{6}-[0-9a-f]{8} · mock\/mock-1\n +\/.*\/\d{8}-\d{6}-[0-9a-f]{8}$/m,
	);
	await terminal.sendKeys("C-o");
	const rows = await terminal.waitFor(
		/^ ■ agent 0 +stopped +\d+s.*\n ■ agent 1 +stopped .*\n ■ agent 2 .*\n ✓ agent 3 +early/m,
	);
	assert.equal(blockOf(rows).length, 7);
});

test("What a child really does is shown: it thinks before its first token, retries, and runs a tool (X34)", {
	skip,
}, async (t) => {
	let asked = 0;
	const { terminal } = await delegating(
		t,
		2,
		(agent, { turn }) => {
			if (agent === 1) return asked++ === 0 ? status(529, { error: { message: "Overloaded" } }) : text("better now");
			if (turn === 0) return toolCall("read", { path: "nowhere.ts" }, { delayMs: 3_000 });
			return turn === 1 ? toolCall("bash", { command: "sleep 3; echo $HOME" }) : text("**done** with it");
		},
		{
			terminal: { columns: 100, rows: 30 },
			home: { settings: { retry: { enabled: true, maxRetries: 3, baseDelayMs: 5_000 } } },
		},
	);
	await terminal.waitFor(/● agent 0 +thinking +(?:\ds +)?\ds +– +–$/m);
	await terminal.waitFor(/● agent 1 +retrying {2}529 Overloaded \(attempt 1 of 3, next in [1-5]s\)/);
	const tool = await terminal.waitFor(/● agent 0 +bash {2}sleep 3; echo \$HOME +[12]s +\d+s/);
	assert.match(tool, /^ +✗ read nowhere\.ts: ENOENT/m);
	await terminal.waitFor(/^ ✓ agent 0 +done with it .*\n ✓ agent 1 +better now /m);
});

test("One agent in fullscreen mode (X26)", { skip }, async (t) => {
	const { terminal } = await delegating(t, 1, () => hang({ text: "日本語 👍 thinking" }), {
		terminal: { columns: 80, rows: 24 },
		home: { settings: { tuiMode: "fullscreen" } },
	});
	await terminal.waitFor(/● agent 0 +writing {2}日本語 👍 thinking/);
	await terminal.waitFor(/agent 0 .* (?:[2-9]|\d\d)s +(?:~\d+ +)?–/);
	await terminal.sendKeys("Escape");
	await terminal.waitFor(/^ 1 stopped .*\n ■ agent 0 +stopped /m);
});

test("§12: in JSON mode updates are few and small, and the final details are bounded", async (t) => {
	const server = await startModelServer();
	const home = createHome(server, { settings: { subagents: { maxLinesPerWindow: 20, commandPreviewWidth: 60 } } });
	t.after(async () => {
		await server.close();
		home.dispose();
	});
	const long = Array.from({ length: 3_000 }, (_, line) => `${line} ${"x".repeat(60)}`).join("\n");
	const { result } = await delegate(home, server, {
		extension: EXTENSION,
		args: { tasks: Array.from({ length: 3 }, (_, agent) => ({ name: `agent ${agent}`, prompt: "talk" })) },
		child: ({ turn }) =>
			turn === 0
				? toolCall("bash", { command: `echo ${"y".repeat(200)}` }, { text: "first" })
				: text(long, { delayMs: 500, chunkChars: 2_000, chunkDelayMs: 20 }),
	});
	assert.ok(result.updates.length > 5);
	for (const update of result.updates) assert.ok(Buffer.byteLength(JSON.stringify(update)) < 40 * 1024);
	const { windows } = result.details as { windows: { lines: { text: string }[] }[] };
	assert.deepEqual(
		windows.map(({ lines }) => lines.length),
		[20, 20, 20],
	);
	const previews = result.updates.flatMap(
		(update) => (update as { details: { windows: typeof windows } }).details.windows,
	);
	const bash = previews.flatMap(({ lines }) => lines).find((line) => line.text.startsWith("bash → "));
	assert.equal(bash?.text.length, 60);
	assert.ok(previews.every(({ lines }) => lines.length <= 20));
	assert.ok(Buffer.byteLength(JSON.stringify(result.details)) < 400 * 1024);
});

test("After /reload earlier calls look as they did (A110)", { skip }, async (t) => {
	const { terminal } = await delegating(t, 2, (agent) => text(`the words of ${agent}`), {
		terminal: { columns: 100, rows: 40 },
	});
	await terminal.waitFor("the parent is done");
	const before = blockOf(await terminal.capture());
	assert.match(before.join("\n"), / 2 done /);
	await terminal.type("/reload");
	await terminal.sendKeys("Enter");
	await terminal.waitFor("Reloaded");
	assert.deepEqual(blockOf(await terminal.capture()).slice(0, before.length), before);
});
