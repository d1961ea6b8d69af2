import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Delegation, startDelegation } from "../rig/delegation.ts";
import { createHome, type Home } from "../rig/home.ts";
import { type ModelServer, startModelServer, text, toolCalls } from "../rig/model-server.ts";
import { piCommand } from "../rig/pi.ts";
import { terminalMissing } from "../rig/terminal.ts";
import { startTmuxServer, until } from "../rig/tmux-server.ts";

const EXTENSION = join(import.meta.dirname, "..", "..", "index.js");
const PRESET = "---\nname: scout\ndescription: looks around\nmodel: mock/mock-1\n---\nYou look around.\n";

async function setUp(t: TestContext, settings: object): Promise<{ home: Home; server: ModelServer }> {
	const server = await startModelServer(() => text("unscripted"));
	const home = createHome(server, { settings: { subagents: settings } });
	home.write(join(home.agentDir, "subagents", "scout.md"), PRESET);
	t.after(async () => {
		await server.close();
		home.dispose();
	});
	return { home, server };
}

test("With the tmux runner a person sees each agent of `subagent` at work in a pane beside pi (X19)", {
	skip: terminalMissing() ?? false,
}, async (t) => {
	const { home, server } = await setUp(t, { runner: "tmux" });
	const tasks = ["one", "two"].map((task) => ({ preset: "scout", task: `look at ${task}` }));
	const words = Array.from({ length: 40 }, (_, index) => `word${index}`).join(" ");
	server.use((request) => {
		if (!request.tools.includes("subagent")) return text(words, { chunkChars: 7, chunkDelayMs: 80 });
		return request.turn === 0 ? toolCalls([{ name: "subagent", args: { tasks } }]) : text("the parent is done");
	});
	const tmux = await startTmuxServer({
		...{ columns: 180, rows: 44, cwd: home.project, environment: home.env },
		command: piCommand(["-e", EXTENSION, "--no-session"]),
	});
	t.after(tmux.dispose);
	await until(tmux.panes, (panes) => panes[0]?.title.startsWith("π") ?? false, "pi");
	await tmux.tmux("send-keys", "-t", tmux.own, "-l", "please delegate");
	await tmux.tmux("send-keys", "-t", tmux.own, "Enter");
	const [first] = await tmux.others(2);
	assert.ok(first);
	const titled = (panes: readonly { title: string }[]) => panes.filter(({ title }) => title === "scout").length === 2;
	await until(tmux.panes, titled, "two panes with the preset's name");
	const begun = await tmux.waitFor(first.id, /look at (one|two)\n+word0 word1/);
	assert.doesNotMatch(begun, /word39/);
	await tmux.waitFor(first.id, /word20/);
	await tmux.waitFor(tmux.own, /the parent is done/);
	await tmux.others(0);
	assert.equal((await tmux.panes())[0]?.width, 180);
});

/** A home whose PATH has Node and no tmux. */
async function withoutTmux(t: TestContext, tool: string, args: object): Promise<Delegation & { home: Home }> {
	const { home, server } = await setUp(t, { runner: "tmux" });
	const PATH = dirname(process.execPath);
	assert.ok(!existsSync(join(PATH, "tmux")));
	const delegation = startDelegation(home, server, {
		...{ extension: EXTENSION, tool, args, child: () => text("found it"), pi: { env: { PATH } } },
		isParent: (request) => request.tools.includes("delegate_to_subagents"),
	});
	return { ...(await delegation.done), home };
}

const runsIn = ({ project }: Home) => {
	const runs = join(project, ".pi", "subagents", "runs");
	return existsSync(runs) ? readdirSync(runs).filter((name) => /^\d/.test(name)) : [];
};

test("Where tmux is missing, `subagent` says what to do and starts nothing (X19)", async (t) => {
	const { results, childRequests, home } = await withoutTmux(t, "subagent", { preset: "scout", task: "look" });
	assert.match(results[0]?.text ?? "", /^Error: subagents\.runner is "tmux", but tmux was not found on PATH\. Install/);
	assert.equal(results[0]?.isError, true);
	assert.equal(childRequests.length, 0);
	assert.deepEqual(runsIn(home), []);
});

test("delegate_to_subagents has nothing to do with tmux (X19)", async (t) => {
	const { results } = await withoutTmux(t, "delegate_to_subagents", { tasks: [{ name: "a", prompt: "look" }] });
	assert.match(results[0]?.text ?? "", /^✓ a: completed/);
});

test("background_agent is always a process (B36)", async (t) => {
	const { results, home } = await withoutTmux(t, "background_agent", { preset: "scout", task: "look" });
	assert.match(results[0]?.text ?? "", /^Started scout in the background/);
	const [run = ""] = runsIn(home);
	const result = join(home.project, ".pi", "subagents", "runs", run, "result.json");
	await until(async () => existsSync(result), Boolean, "the result");
});
