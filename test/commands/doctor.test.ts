import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { RUN_MARKER, socketPathOf } from "../../src/child/protocol.ts";
import { createRunId } from "../../src/plan/ids.ts";
import { createHome, type Home } from "../rig/home.ts";
import { type ModelServer, startModelServer } from "../rig/model-server.ts";
import { treeMissing } from "../rig/own-tree.ts";
import { PI_IS_1, PI_VERSION, type PiEvent, runPi } from "../rig/pi.ts";
import { startPiTerminal } from "../rig/pi-terminal.ts";
import { isAlive, waitGone } from "../rig/processes.ts";
import { terminalMissing } from "../rig/terminal.ts";
import { type ProfileSession, startProfileSession } from "./profile-dialog.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));

let server: ModelServer;
let home: Home;
let session: ProfileSession | undefined;
let started: ChildProcess[] = [];

beforeEach(async () => {
	server = await startModelServer();
	home = createHome(server);
});
afterEach(async () => {
	await session?.end();
	session = undefined;
	for (const each of started) each.kill("SIGKILL");
	started = [];
	await server.close();
	home.dispose();
});

/** A process as a sub-agent of this home could have left it. */
function leaveBehind(runId: string): number {
	const child = spawn("sleep", ["600"], { env: { ...home.env, [RUN_MARKER]: runId }, stdio: "ignore" });
	started.push(child);
	return child.pid ?? 0;
}

const changeSettings = (change: object) => {
	const path = join(home.agentDir, "settings.json");
	writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), ...change }));
};

/** What the doctor says; other notices may come before. */
async function examine({ run }: ProfileSession): Promise<{ notice: string; noticeType: string }> {
	const from = run.events.length;
	run.send({ type: "prompt", message: "/subagents doctor" });
	const said = await run.waitForEvent(
		(event) => String(event.message).startsWith("Sub-agents: ") && run.events.indexOf(event) >= from,
		20_000,
	);
	return { notice: String(said.message), noticeType: String(said.notifyType) };
}

const widest = (text: string) => Math.max(...text.split("\n").map((line) => line.length));

describe("/subagents doctor over RPC", () => {
	test("A set-up that is in order is said to be, line by line", async () => {
		session = startProfileSession(home, EXTENSION);
		const { notice, noticeType } = await examine(session);
		assert.equal(
			notice,
			[
				"Sub-agents: everything is in order",
				"",
				`✓ pi ${PI_VERSION} on Node ${process.versions.node}`,
				...(PI_IS_1
					? [
							"  MCP tools in definitions and structured results for codemode scripts are",
							"    available. Sub-agents that cannot use MCP tools start no MCP server.",
						]
					: ["  MCP tools and codemode scripts need pi 0.99 or later."]),
				"✓ Models: 2 to choose from, mock/mock-1 in use",
				"✓ Definitions: none",
				"  None is needed to delegate. To get one: /profile create scout --from scout",
				"✓ Trust: this project brings nothing of its own",
				"✓ Settings: in order",
				"✓ Limits: none",
				'✓ tmux: not needed (runner is "process")',
				"✓ Directories: can be written",
				"✓ Processes: nothing is left over",
			].join("\n"),
		);
		assert.equal(noticeType, "info");
		assert.deepEqual(server.requests, []);
	});

	test("Everything that can be wrong is said in words, with what to do, within 80 columns", async () => {
		changeSettings({
			defaultProvider: undefined,
			defaultModel: undefined,
			subagents: { runner: "tmux", maxConcurrency: "many", families: ["delegate"], runsIn: "project" },
		});
		writeFileSync(join(home.agentDir, "models.json"), '{"providers":{}}');
		home.write(".pi/subagents", "a file where a directory should be");
		home.write(join(home.agentDir, "agent-profiles", "bad.md"), "---\nname: bad\nthinkingLevel: much\n---\n");
		home.write(join(home.agentDir, "agent-profiles", "plain.md"), "You are an agent without a name.\n");
		const sockets = dirname(socketPathOf("x", home.temporary));
		mkdirSync(sockets);
		chmodSync(sockets, 0o755);
		const nowhere = { ...home.env, PATH: dirname(process.execPath) };
		session = startProfileSession({ ...home, env: nowhere }, EXTENSION, ["--tools", "read"]);
		const { notice, noticeType } = await examine(session);
		const flat = notice.replace(/\s+/g, " ");
		for (const expected of [
			/^Sub-agents: 5 problems ✓ pi /,
			/✗ Models: none pi has no key for any provider\. Use \/login, or set a provider's key/,
			/✗ Definitions: 0 profiles, 0 presets, 0 agents .*bad\.md:3: thinkingLevel must be one of off, .*plain\.md: has no frontmatter/,
			/✗ Settings .*settings\.json: subagents\.maxConcurrency has a value that it cannot have; 4 is used Switched off by subagents\.families: subagent, background Left out of this session, by --tools or by another extension: delegate_to_subagents ✓ Limits: none ✗/,
			/✗ tmux subagents\.runner is "tmux", but tmux was not found on PATH\. Install tmux, or set/,
			/✗ Directories No run can be started: .*pi-subagents-\d+ must be a directory of yours with mode 0700: .*chmod 700 Runs are kept in .*agent\/subagents\/runs\/project-[0-9a-f]{8}: .*\.pi\/subagents is not a directory/,
		]) {
			assert.match(flat, expected);
		}
		assert.equal(noticeType, "warning");
		const long = notice.split("\n").filter((line) => line.length > 78);
		assert.deepEqual(
			long.filter((line) => line.trim().includes(" ")),
			[],
			"only a single word may be longer",
		);
	});

	test("Agents of other programs are counted, and those that cannot be called are named with the reason (X36)", async () => {
		const agents = join(home.root, ".claude", "agents");
		home.write(
			join(agents, "reviewer.md"),
			"---\nname: reviewer\ndescription: reviews\ntools: Read, Grep\n---\nReview.",
		);
		home.write(join(agents, "gated.md"), "---\nname: gated\ndescription: gated\nallowedPaths: src\n---\nWork.");
		session = startProfileSession(home, EXTENSION);
		const { notice } = await examine(session);
		assert.match(notice, /^! Definitions: 0 profiles, 0 presets, 0 agents, 1 of other programs$/m);
		assert.match(notice.replace(/\n +/g, " "), /"gated" cannot be called: .*allowedPaths/);
		assert.doesNotMatch(notice, /"reviewer" cannot/);
	});

	test("A tree of its own that cannot be had is a problem, with who asks for it and what to install [W6]", async () => {
		home.write(join(home.agentDir, "agent-profiles", "kept.md"), "---\nname: kept\nisolation: worktree\n---\n");
		const nowhere = { ...home.env, PATH: dirname(process.execPath) };
		session = startProfileSession({ ...home, env: nowhere }, EXTENSION);
		const { notice, noticeType } = await examine(session);
		const missing = process.platform === "linux" ? "unshare is not installed: install util-linux" : "it needs Linux";
		assert.match(
			notice.replace(/\s+/g, " "),
			new RegExp(`✗ Isolation: "worktree" is not available here ${missing}.* Asked for by "kept": these runs fail`),
		);
		assert.equal(noticeType, "warning");
	});

	test("A tree of its own that can be had is said to be [W6]", { skip: treeMissing() }, async () => {
		changeSettings({ subagents: { isolation: "worktree" } });
		session = startProfileSession(home, EXTENSION);
		const { notice } = await examine(session);
		assert.match(notice, /^✓ Isolation: runs can have a tree of their own$/m);
	});

	test("What a project brings is said to count, to be left out, or to be undecided (X12)", async () => {
		home.write(".pi/agent-profiles/own.md", "---\nname: own\n---\nx");
		session = startProfileSession(home, EXTENSION);
		assert.match((await examine(session)).notice, /✓ Trust: nobody has decided about this project\n {2}Its/);
		await session.end();
		session = startProfileSession(home, EXTENSION, ["--no-approve"]);
		assert.match(
			(await examine(session)).notice.replace(/\s+/g, " "),
			/! Trust: this project is not trusted Its definitions and settings are left out \(trust it with \/trust, or start pi with --approve\)/,
		);
		await session.end();
		session = startProfileSession(home, EXTENSION, ["--approve"]);
		assert.match((await examine(session)).notice, /✓ Trust: this project is trusted/);
	});

	test("Processes of a dead run are named and ended on a yes; those of a run that is watched over, or of another home, are not", async (t) => {
		const [dead, watched, foreign] = [1, 2, 3].map(() => createRunId(new Date())) as [string, string, string];
		const lost = leaveBehind(dead);
		const kept = leaveBehind(watched);
		const other = spawn("sleep", ["600"], {
			env: { ...home.env, HOME: "/nonexistent", [RUN_MARKER]: foreign },
			stdio: "ignore",
		});
		started.push(other);
		const socket = socketPathOf(watched, home.temporary);
		mkdirSync(dirname(socket), { mode: 0o700 });
		const supervisor = createServer((client) => client.resume()).listen(socket);
		t.after(() => supervisor.close());

		session = startProfileSession(home, EXTENSION);
		const { run } = session;
		const { notice } = await examine(session);
		assert.match(
			notice,
			new RegExp(`✗ Processes: 1 process of runs that nobody watches over\n {2}${lost} sleep 600 \\(run ${dead}\\)`),
		);
		assert.doesNotMatch(notice, new RegExp(`${watched}|${foreign}`));
		const answerNext = async (confirmed: boolean, from: number) => {
			const isNew = (event: PiEvent) => run.events.indexOf(event) >= from;
			const question = await run.waitForEvent((event) => event.method === "confirm" && isNew(event));
			assert.equal(question.title, "End 1 process of runs that nobody watches over?");
			assert.match(String(question.message), new RegExp(`^${lost} sleep 600`));
			run.send({ type: "extension_ui_response", id: question.id, confirmed });
			const said = await run.waitForEvent(
				(event) => event.method === "notify" && run.events.indexOf(event) > run.events.indexOf(question),
			);
			return said.message;
		};
		assert.equal(await answerNext(false, 0), "Nothing was ended.");
		assert.ok(isAlive(lost));
		const from = run.events.length;
		await examine(session);
		assert.equal(await answerNext(true, from), "Ended 1 process.");
		await waitGone(lost);
		assert.ok(isAlive(kept) && isAlive(other.pid ?? 0));
	});
});

test("/subagents doctor without a screen says it on stderr, and ends nothing", async () => {
	const lost = leaveBehind(createRunId(new Date()));
	const print = await runPi(home, { mode: "text", extension: EXTENSION, prompt: "/subagents doctor" }).done;
	assert.match(print.stderr, /^Sub-agents: 1 problem\n\n✓ pi /);
	assert.match(print.stderr, new RegExp(`✗ Processes: 1 process .*\n {2}${lost} sleep`));
	assert.deepEqual([print.stray, print.code], [[], 0]);
	assert.ok(isAlive(lost));
});

test("/subagents doctor in a terminal of 80 columns", { skip: terminalMissing() ?? false }, async (t) => {
	home.write(join(home.agentDir, "agent-profiles", "bad.md"), "---\nname: bad\ntools: read\nexcludeTools: bash\n---\n");
	const lost = leaveBehind(createRunId(new Date()));
	const terminal = await startPiTerminal(home, { extension: EXTENSION, columns: 80, rows: 50 });
	t.after(() => terminal.dispose());
	await terminal.type("/subagents doc");
	await terminal.waitFor(/→ doctor/);
	await terminal.sendKeys("Tab");
	await terminal.waitFor("/subagents doctor");
	await terminal.sendKeys("Enter");
	const screen = await terminal.waitFor(/End 1 process of runs[\s\S]*Yes/);
	assert.match(screen, /Sub-agents: 2 problems/);
	assert.match(screen, /✗ Definitions: 0 profiles, 0 presets, 0 agents/);
	assert.match(screen, new RegExp(`${lost} sleep 600`));
	assert.ok(widest(screen) <= 80);
	await terminal.sendKeys("Enter");
	await terminal.waitFor("Ended 1 process.");
	await waitGone(lost);
});

test("The doctor and /subagents show which limits are in force and where they come from (X37)", async () => {
	changeSettings({
		subagents: {
			maxTokens: 200_000,
			maxCost: 0.5,
			maxSessionTokens: 1_000_000,
			maxInFlight: { mock: 2 },
			fallbackModels: ["mock/mock-2"],
		},
	});
	home.write(".pi/settings.json", JSON.stringify({ subagents: { maxTokens: 150_000, maxCost: 0.75 } }));
	const scout = home.write(join(home.agentDir, "agent-profiles", "scout.md"), "---\nname: scout\nmaxTurns: 3\n---\n");
	session = startProfileSession(home, EXTENSION, ["--approve"]);
	const { notice } = await examine(session);
	const said = notice.replaceAll(/\s+/g, " ");
	const own = join(home.agentDir, "settings.json");
	const project = join(home.project, ".pi", "settings.json");
	for (const line of [
		"✓ Limits: 6 in force",
		`maxTokens 150,000 — ${project}`,
		`maxCost $0.50 — ${own}`,
		`maxSessionTokens 1,000,000 (0 used) — ${own}`,
		`maxInFlight mock 2 — ${own}`,
		`fallbackModels mock/mock-2 — ${own}`,
		`scout: at most 3 turns — ${scout}`,
	]) {
		assert.ok(said.includes(line), `${line}\n${notice}`);
	}
	assert.match(said, /maxCost cannot be loosened by a project; 0\.5 is used/);
	session.run.send({ type: "prompt", message: "/subagents" });
	const list = await session.run.waitForEvent(
		(event) => String(event.message).startsWith("Sub-agents: 0 running"),
		20_000,
	);
	assert.ok(String(list.message).includes(`Limits:\n  maxTokens 150,000 — ${project}\n`), String(list.message));
});

test("A limit in the settings that cannot be read is a problem, and says that no sub-agent is started (X37)", async () => {
	changeSettings({ subagents: { maxTurns: "three" } });
	session = startProfileSession(home, EXTENSION);
	const { notice, noticeType } = await examine(session);
	assert.match(
		notice.replaceAll(/\s+/g, " "),
		/✗ Limits: one cannot be read .*maxTurns must be a whole number above 0: no sub-agent is started/,
	);
	assert.equal(noticeType, "warning");
});
