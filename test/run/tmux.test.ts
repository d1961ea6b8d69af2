import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { paneTitle } from "../../src/present/pane-text.ts";
import { createSteer, STRANGER, sendMessage } from "../../src/run/act-on-run.ts";
import type { PreparedRun } from "../../src/run/execute.ts";
import { launchProcess } from "../../src/run/launch-process.ts";
import { createPanes, type PaneOptions } from "../../src/run/launch-tmux.ts";
import { createRunDirectory } from "../../src/run-directory/create.ts";
import { createSetup, endOf, type FakeRun, resultIn, type Setup, startRun } from "../rig/fake-run.ts";
import type { FakeStep } from "../rig/fake-steps.ts";
import { isStopped, processesWithEnv, waitGone, waitNoneWithEnv } from "../rig/processes.ts";
import { terminalMissing } from "../rig/terminal.ts";
import { startTmuxServer, type TmuxServer, type TmuxServerOptions, until } from "../rig/tmux-server.ts";
import { CONFORMANCE, stopped, WAITING } from "./conformance.ts";

const PARENT = fileURLToPath(new URL("./fixtures/parent.ts", import.meta.url));
const MARKER = "PI_SUBAGENTS_RUN_ID";
const skip = terminalMissing() ?? false;

let setup: Setup;

const server = async (t: TestContext, options: TmuxServerOptions = {}): Promise<TmuxServer> => {
	const started = await startTmuxServer(options);
	t.after(started.dispose);
	return started;
};
const launcher = async (environment: NodeJS.ProcessEnv, options: Partial<PaneOptions> = {}) => {
	const warn = (message: string) => assert.fail(message);
	const made = await createPanes({ titleOf: paneTitle, atEnd: "close", environment, warn, ...options });
	if (!made.ok) throw new Error(made.error);
	return made.value(launchProcess);
};
const start = async (
	environment: NodeJS.ProcessEnv,
	run: PreparedRun,
	options: Partial<PaneOptions> = {},
): Promise<FakeRun> => startRun(run, undefined, await launcher(environment, options));
/** A run that has begun to speak and is held until `resume`; then it says this. */
const startHeld = async (
	environment: NodeJS.ProcessEnv,
	answer: string,
	options: Partial<PaneOptions> = {},
): Promise<FakeRun & { resume(): Promise<void> }> => {
	const run = await start(
		environment,
		setup.prepare([{ delta: "let me " }, { pause: true }, { say: answer }]),
		options,
	);
	await run.until(({ partial }) => partial === "let me ");
	const { pi } = await run.pids();
	const resume = async () => {
		await until(async () => isStopped(pi), Boolean, "its pause");
		process.kill(pi, "SIGCONT");
	};
	return { ...run, resume };
};

describe("runs in panes of tmux", { concurrency: 2, skip }, () => {
	before(() => {
		setup = createSetup();
	});
	after(() => setup.dispose());

	test("A pane of the session is titled, grows with what is said, and is closed at the end (X19)", async (t) => {
		const tmux = await server(t);
		const run = await startHeld(tmux.environment, "let me see: done");
		const [pane] = await tmux.others(1);
		assert.ok(pane);
		assert.equal(pane.title, "fake");
		assert.equal(pane.session, "main");
		assert.equal(pane.focused, false);
		await tmux.waitFor(pane.id, /^fake \(run .*\)\n\[\{"delta".*\nlet me$/m);
		await run.resume();
		assert.deepEqual(endOf(await run.done).outcome, { kind: "completed", text: "let me see: done", end: "natural" });
		assert.deepEqual(
			(await tmux.panes()).map(({ id, focused }) => ({ id, focused })),
			[{ id: tmux.own, focused: true }],
		);
		await waitGone(pane.pid);
	});

	test("A message reaches a run in a pane, whoever closes the pane, and the pane shows it with its sender", async (t) => {
		const tmux = await server(t);
		const prepared = setup.prepare([{ receive: 1 }, { receive: 1 }, { say: "went on" }]);
		const run = await start(tmux.environment, prepared);
		await run.until(({ phase }) => phase.kind === "running");
		const [pane] = await tmux.others(1);
		assert.ok(pane);
		const send = async (text: string) => {
			const started = { runId: prepared.spec.runId, directory: prepared.directory, socket: prepared.spec.socket };
			const sent = await sendMessage(started, createSteer(text, "turn-end"), STRANGER);
			assert.ok(sent.ok, sent.ok ? "" : sent.error);
			return await sent.value.settled;
		};
		assert.deepEqual(await send("only \u001b[2Jsrc"), { kind: "delivered", turn: 1 });
		await tmux.waitFor(pane.id, "[message from another process of yours]: only src");
		await tmux.tmux("kill-pane", "-t", pane.id);
		assert.deepEqual(await send("go on"), { kind: "delivered", turn: 2 });
		assert.deepEqual(endOf(await run.done).outcome, { kind: "completed", text: "went on", end: "natural" });
	});

	test("keepPanes: the pane shows the whole run and how it ended, and no process is kept with it", async (t) => {
		const tmux = await server(t);
		const steps = [{ tool: "bash", args: { command: "ls" }, result: "a\nb", text: "Look:" }, { say: "Two files." }];
		const keep = { atEnd: "keep" } as const;
		const well = await start(tmux.environment, setup.prepare(steps, { label: "scout" }), keep);
		await well.done;
		const ill = await start(tmux.environment, setup.prepare([{ stderr: "no key\n" }, { exit: 3 }]), keep);
		await ill.done;
		const [first, second] = await tmux.others(2);
		assert.ok(first && second);
		const transcript = readFileSync(join(well.directory, "transcript.log"), "utf8");
		const shown = await tmux.waitFor(first.id, "✓ done");
		assert.ok(shown.includes(`${transcript}\n✓ done\n`), shown);
		await tmux.waitFor(second.id, "✗ failed — Sub-agent process exited with code 3: no key");
		await Promise.all([waitGone(first.pid), waitGone(second.pid)]);
	});

	test("A pane is closed, too, where tmux is set up to keep the panes of processes that ended", async (t) => {
		const tmux = await server(t, { configuration: "set -g remain-on-exit on\nset -g base-index 5\n" });
		await (await start(tmux.environment, setup.prepare([{ say: "x" }]))).done;
		await tmux.others(0);
	});

	for (const { name, steps, changes, act, outcome } of CONFORMANCE) {
		test(`${name}, as without a pane, and the pane is closed`, async (t) => {
			const tmux = await server(t);
			const run = await start(tmux.environment, setup.prepare(steps, changes));
			await act(run);
			assert.deepEqual(endOf(await run.done).outcome, outcome);
			assert.deepEqual(processesWithEnv(MARKER, run.runId), []);
			await tmux.others(0);
		});
	}

	test("When the parent is killed, the run ends and its pane closes by itself (F01)", async (t) => {
		const tmux = await server(t);
		const run = setup.prepare([{ spawn: ["sleep", "71"], detached: true }, ...WAITING]);
		const file = join(setup.temporary, `${run.spec.runId}.json`);
		writeFileSync(file, JSON.stringify(run));
		const parent = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", PARENT, file, "tmux"], {
			stdio: ["ignore", "pipe", "inherit"],
			env: { ...process.env, ...tmux.environment },
		});
		await once(parent.stdout ?? parent, "data");
		const [pane] = await tmux.others(1);
		assert.ok(pane);
		await tmux.waitFor(pane.id, "let me");
		parent.kill("SIGKILL");
		await tmux.others(0);
		await Promise.all([waitNoneWithEnv(MARKER, run.spec.runId), waitGone(pane.pid)]);
		assert.deepEqual(resultIn(run.directory).outcome, stopped({ kind: "aborted", by: "parent-death" }));
	});

	for (const [how, close] of [
		["kill-pane", (tmux: TmuxServer, pane: string) => tmux.tmux("kill-pane", "-t", pane)],
		["q", (tmux: TmuxServer, pane: string) => tmux.tmux("send-keys", "-t", pane, "q")],
		["Ctrl-C", (tmux: TmuxServer, pane: string) => tmux.tmux("send-keys", "-t", pane, "C-c")],
	] as const) {
		test(`A pane that is closed by hand (${how}) takes nothing from its run`, async (t) => {
			const tmux = await server(t);
			const run = await startHeld(tmux.environment, "let me go on");
			const [pane] = await tmux.others(1);
			assert.ok(pane);
			await tmux.waitFor(pane.id, "let me");
			await close(tmux, pane.id);
			await tmux.others(0);
			assert.equal(run.states.at(-1)?.phase.kind, "running");
			await run.resume();
			assert.deepEqual(endOf(await run.done).outcome, { kind: "completed", text: "let me go on", end: "natural" });
		});
	}

	test("A pane is closed at the end even if the end of its program does not close it", async (t) => {
		const tmux = await server(t);
		const run = await startHeld(tmux.environment, "let me go on");
		const [pane] = await tmux.others(1);
		assert.ok(pane);
		await tmux.tmux("set-option", "-p", "-t", pane.id, "remain-on-exit", "on");
		await run.resume();
		assert.equal(endOf(await run.done).outcome.kind, "completed");
		await tmux.others(0);
		await waitGone(pane.pid);
	});

	test("A tmux that is killed takes nothing from the runs in its panes", async (t) => {
		const tmux = await server(t);
		const run = await startHeld(tmux.environment, "let me go on");
		const [pane] = await tmux.others(1);
		assert.ok(pane);
		process.kill(tmux.pid, "SIGKILL");
		await Promise.all([waitGone(tmux.pid), waitGone(pane.pid)]);
		await run.resume();
		assert.deepEqual(endOf(await run.done).outcome, { kind: "completed", text: "let me go on", end: "natural" });
		assert.deepEqual(processesWithEnv(MARKER, run.runId), []);
	});

	test("A pane of another tmux that has got the same number meanwhile is left alone", async (t) => {
		const tmux = await server(t);
		const run = await startHeld(tmux.environment, "let me go on");
		const [pane] = await tmux.others(1);
		assert.ok(pane);
		await tmux.tmux("kill-server");
		await waitGone(tmux.pid);
		const next = await server(t, { directory: tmux.environment.TMUX_TMPDIR ?? "" });
		const other = await next.tmux("split-window", "-d", "-P", "-F", "#{pane_id}", "--", "sleep", "600");
		assert.equal(other, pane.id);
		await run.resume();
		await run.done;
		assert.deepEqual(
			(await next.others(1)).map(({ id }) => id),
			[other],
		);
	});

	test("Runs share the place beside pi, then get windows; a narrow pi keeps its place", async (t) => {
		const [wide, narrow] = await Promise.all([server(t), server(t, { columns: 80, rows: 24 })]);
		const launch = async (tmux: TmuxServer, count: number) => {
			const inPanes = await launcher(tmux.environment);
			const runs = Array.from({ length: count }, () => startRun(setup.prepare(WAITING), undefined, inPanes));
			const panes = await tmux.others(count);
			const [own] = (await tmux.panes()).filter(({ id }) => id === tmux.own);
			for (const run of runs) run.abort();
			await Promise.all(runs.map(({ done }) => done));
			await tmux.others(0);
			return { panes, own };
		};
		const many = await launch(wide, 6);
		assert.equal(many.own?.width, 80);
		assert.equal(many.own?.height, 50);
		assert.ok(
			many.panes.every(({ height }) => height >= 8),
			JSON.stringify(many.panes),
		);
		assert.equal(new Set(many.panes.map(({ window }) => window)).size, 2);
		const few = await launch(narrow, 2);
		assert.deepEqual([few.own?.width, few.own?.focused], [80, true]);
		assert.deepEqual(new Set(few.panes.map(({ window }) => window)), new Set(["pi-fake"]));
		assert.equal(new Set(few.panes.map(({ session }) => session)).size, 1);
	});

	test("A pi that is zoomed stays so: the view gets a window", async (t) => {
		const tmux = await server(t);
		const beside = await tmux.tmux("split-window", "-d", "-P", "-F", "#{pane_id}", "--", "sleep", "600");
		await tmux.tmux("resize-pane", "-Z", "-t", tmux.own);
		const run = await start(tmux.environment, setup.prepare(WAITING));
		const panes = await tmux.others(2);
		assert.deepEqual(panes.find(({ id }) => id !== beside)?.window, "pi-fake");
		assert.equal(await tmux.tmux("display-message", "-p", "-t", tmux.own, "#{window_zoomed_flag}"), "1");
		run.abort();
		await run.done;
		assert.deepEqual(
			(await tmux.others(1)).map(({ id }) => id),
			[beside],
		);
	});

	test("Names and paths are never interpreted: not by a shell, not as tmux's formats or commands", async (t) => {
		const tmux = await server(t);
		const project = join(setup.project, `it's "a" #{pane_pid} #(touch hit) $(touch hit) ; touch hit;`);
		mkdirSync(project);
		const labels = [
			["#{pane_pid}#(touch hit)#[fg=red]", "♯{pane_pid}♯(touch hit)♯[fg=red]"],
			["$(touch hit) `touch hit` 'a' \"b\";", "$(touch hit) `touch hit` 'a' \"b\";"],
			["-t; kill-server ;", "-t; kill-server ;"],
			["two\nlines \u001b]2;other\u0007日本語", "two lines 日本語"],
			["\u001b[2J", "sub-agent"],
		] as const;
		for (const [label, title] of labels) {
			const prepared = setup.prepare(WAITING, { label, cwd: project });
			const made = createRunDirectory(prepared.spec, {
				cwd: project,
				agentDirectory: setup.temporary,
				runsIn: "project",
			});
			assert.ok(made.ok);
			const run = await start(tmux.environment, { ...prepared, directory: made.value.path });
			const [pane] = await tmux.others(1);
			assert.ok(pane);
			await tmux.waitFor(pane.id, "let me");
			const [titled] = await until(
				() => tmux.others(1),
				([one]) => one?.title === title,
				title,
			);
			assert.equal(titled?.id, pane.id);
			run.abort();
			assert.deepEqual(endOf(await run.done).outcome, stopped({ kind: "aborted", by: "caller" }));
		}
		const places = [project, process.cwd(), setup.project, tmux.environment.HOME ?? ""];
		assert.deepEqual(
			places.filter((place) => existsSync(join(place, "hit"))),
			[],
		);
	});

	test("What an agent says cannot command the terminal, also in pieces (S22)", async (t) => {
		const tmux = await server(t, { configuration: "set -g set-clipboard on\nset -g allow-rename on\n" });
		const evil = ["\u001b]2;stolen\u0007", "\u001b]52;c;aGk=\u0007", "\u001bkstolen\u001b\\", "\u001b[2J"].join("|");
		const pieces = [...evil].map((delta): FakeStep => ({ delta }));
		const steps: FakeStep[] = [{ say: `whole ${evil}` }, ...pieces, { delta: "the end" }, { hang: true }];
		const run = await start(tmux.environment, setup.prepare(steps));
		const [pane] = await tmux.others(1);
		assert.ok(pane);
		const shown = await tmux.waitFor(pane.id, "the end");
		assert.match(shown, /^whole \|\|/m);
		assert.equal((await tmux.others(1))[0]?.title, "fake");
		assert.notEqual((await tmux.others(1))[0]?.window, "stolen");
		assert.equal(await tmux.tmux("list-buffers"), "");
		run.abort();
		await run.done;
	});

	test("Outside of tmux a run has a session named for it, in the usual server, which ends with it", async (t) => {
		const home = join(setup.temporary, `home-${readdirSync(setup.temporary).length}`);
		mkdirSync(home);
		writeFileSync(join(home, ".tmux.conf"), "set -g destroy-unattached on\n");
		const elsewhere = await server(t); // for its way of looking
		const environment = { ...elsewhere.environment, HOME: home, TMUX_TMPDIR: home, TMUX: "", TMUX_PANE: "" };
		const usual = (...args: string[]) =>
			elsewhere.tmux("-S", join(home, `tmux-${process.getuid?.() ?? 0}`, "default"), ...args).catch(() => "");
		const run = await startHeld(environment, "let me go on");
		const session = `pi-fake-${run.runId}`;
		assert.equal(await usual("list-sessions", "-F", "#{session_name}"), session);
		const pid = Number(await usual("display-message", "-p", "#{pid}"));
		await until(
			() => usual("capture-pane", "-p", "-t", session),
			(screen) => screen.includes("let me"),
			"the transcript",
		);
		await run.resume();
		assert.equal(endOf(await run.done).outcome.kind, "completed");
		await waitGone(pid);
	});

	test("A $TMUX whose tmux is gone is none", async (t) => {
		const tmux = await server(t);
		await tmux.tmux("kill-server");
		await waitGone(tmux.pid);
		const run = await startHeld(tmux.environment, "let me go on");
		const usual = join(tmux.environment.TMUX_TMPDIR ?? "", `tmux-${process.getuid?.() ?? 0}`, "default");
		const session = await tmux.tmux("-S", usual, "list-sessions", "-F", "#{session_name} #{pid}");
		const [name, pid] = session.split(" ");
		assert.equal(name, `pi-fake-${run.runId}`);
		await run.resume();
		assert.equal(endOf(await run.done).outcome.kind, "completed");
		await waitGone(Number(pid));
	});

	test("Without tmux it is said what to do, before anything is started", async () => {
		const environment = { PATH: setup.temporary };
		const made = await createPanes({
			...{ titleOf: paneTitle, atEnd: "close", environment },
			warn: () => {},
		});
		assert.deepEqual(made, {
			ok: false,
			error:
				'subagents.runner is "tmux", but tmux was not found on PATH. Install tmux, or set subagents.runner to "process".',
		});
	});
});

// Apart from the others: panes are opened one at a time, whatever tmux they are for.
describe("runs in panes of a tmux that is stopped", { skip }, () => {
	before(() => {
		setup = createSetup();
	});
	after(() => setup.dispose());

	test("A tmux that does not answer costs a moment and the pane, not the run", async (t) => {
		const tmux = await server(t);
		process.kill(tmux.pid, "SIGSTOP");
		t.after(() => process.kill(tmux.pid, "SIGCONT"));
		const warnings: string[] = [];
		const warn = (message: string) => void warnings.push(message);
		const runs = await Promise.all(
			["a", "b", "c"].map((label) => start(tmux.environment, setup.prepare([{ say: label }], { label }), { warn })),
		);
		const ends = await Promise.all(runs.map(async ({ done }) => endOf(await done).outcome.kind));
		process.kill(tmux.pid, "SIGCONT");
		assert.deepEqual(ends, ["completed", "completed", "completed"]);
		assert.deepEqual(
			warnings.toSorted(),
			["a", "b", "c"].map((label) => `No tmux pane shows ${label}: tmux does not answer`),
		);
		await tmux.others(0);
	});
});
