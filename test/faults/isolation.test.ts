import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { RunSpec } from "../../src/domain/spec.ts";
import { delegate } from "../rig/delegation.ts";
import { createSetup, endOf, type Setup } from "../rig/fake-run.ts";
import type { FakeStep } from "../rig/fake-steps.ts";
import { createHome } from "../rig/home.ts";
import { startModelServer, text, toolCall } from "../rig/model-server.ts";
import {
	isAlive,
	isStopped,
	processesWithCommand,
	processesWithEnv,
	waitGone,
	waitNoneWithEnv,
} from "../rig/processes.ts";
import { until } from "../rig/until.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));
const MARKER = "PI_SUBAGENTS_RUN_ID";
const ISOLATED: Partial<RunSpec> = { isolation: "pid-namespace" };
const SKIP = whyNoNamespace();

/** A job with no trace of its run, and a command that nobody else has. */
const commands: string[] = [];
function createJob() {
	const command = `sleep ${300 + commands.length}.${process.pid}`;
	commands.push(command);
	return {
		command,
		flight: ["env", "-i", "PATH=/usr/bin:/bin", "setsid", ...command.split(" ")],
		pids: () => processesWithCommand(command),
		async running(): Promise<number> {
			await until(() => processesWithCommand(command).length > 0, `${command} to run`);
			return processesWithCommand(command)[0] ?? 0;
		},
	};
}

after(() => {
	for (const pid of commands.flatMap(processesWithCommand)) process.kill(pid, "SIGKILL"); // of tests that failed
});

describe("a process that clears its environment and leaves its session", () => {
	let setup: Setup;
	before(() => {
		setup = createSetup();
	});
	after(() => setup.dispose());
	const leaving = (flight: string[]): FakeStep[] => [{ spawn: flight, detached: true }, { delta: "left" }];

	test("Without isolation it is not found again, and goes on, as docs/reliability.md says (F13)", async () => {
		const job = createJob();
		const run = setup.start([...leaving(job.flight), { hang: true }]);
		const pid = await job.running();
		run.abort();
		assert.deepEqual(endOf(await run.done).leftovers, []);
		await waitNoneWithEnv(MARKER, run.runId);
		assert.ok(isAlive(pid));
	});

	test("In a pid namespace it ends with its run, after a normal end as well (F13)", { skip: SKIP }, async () => {
		const job = createJob();
		const run = setup.start([...leaving(job.flight), { pause: true }, { say: "done" }], ISOLATED);
		const pid = await job.running();
		const piOf = () => processesWithEnv(MARKER, run.runId).find(({ command }) => command.startsWith(process.execPath));
		await until(() => isStopped(piOf()?.pid ?? 0), "pi to wait");
		process.kill(piOf()?.pid ?? 0, "SIGCONT");
		assert.deepEqual(endOf(await run.done).outcome, { kind: "completed", text: "done", end: "natural" });
		assert.ok(!isAlive(pid));
		assert.deepEqual(job.pids(), []);
	});

	const deaths = {
		supervisor: async (pids: Pids) => process.kill(pids.supervisor, "SIGKILL"),
		pi: async (pids: Pids) => process.kill(pids.pi, "SIGKILL"),
		"supervisor and pi": async (pids: Pids) => {
			process.kill(pids.supervisor, "SIGKILL");
			process.kill(pids.pi, "SIGKILL");
		},
	};
	for (const [name, die] of Object.entries(deaths)) {
		test(`In a pid namespace it ends when the ${name} is killed (F13)`, { skip: SKIP }, async () => {
			const job = createJob();
			const run = setup.start([...leaving(job.flight), { hang: true }], ISOLATED);
			const pid = await job.running();
			await die(await run.pids());
			await waitGone(pid);
			assert.equal(endOf(await run.done).outcome.kind, "failed");
			await waitNoneWithEnv(MARKER, run.runId);
		});
	}

	test("A pi that is killed inside of its namespace is told by its signal (F13)", { skip: SKIP }, async () => {
		const run = setup.start([{ say: "before" }, { signal: "SIGKILL" }], ISOLATED);
		const { outcome } = endOf(await run.done);
		assert.deepEqual(outcome, {
			kind: "failed",
			failure: { kind: "exit", exit: { kind: "signal", signal: "SIGKILL" }, stderr: "" },
		});
	});

	test("SIGTERM reaches a pi in its namespace, and one that ignores it is killed there (F15)", {
		skip: SKIP,
	}, async () => {
		const polite = setup.start([{ delta: "x" }, { hang: true }], ISOLATED);
		await polite.until(({ partial }) => partial === "x");
		polite.abort();
		const from = performance.now();
		assert.deepEqual(endOf(await polite.done).exit, { kind: "code", code: 143 });
		assert.ok(performance.now() - from < 4_000);
		const deaf = setup.start([{ deaf: true }, { delta: "x" }, { hang: true }], ISOLATED);
		await deaf.until(({ partial }) => partial === "x");
		deaf.abort();
		assert.deepEqual(endOf(await deaf.done).exit, { kind: "signal", signal: "SIGKILL" });
		await waitNoneWithEnv(MARKER, deaf.runId);
	});
});

describe("isolation that is not to be had", () => {
	let setup: Setup;
	const path = process.env.PATH;
	before(() => {
		setup = createSetup();
	});
	after(() => {
		process.env.PATH = path;
		setup.dispose();
	});
	const messageOf = async () => {
		const { outcome } = endOf(await setup.start([{ say: "never" }], ISOLATED).done);
		assert.ok(outcome.kind === "failed" && outcome.failure.kind === "rejected", JSON.stringify(outcome));
		return outcome.failure.message;
	};

	test("Without unshare the run is refused with the reason and what to do, and pi is not started (X19)", async () => {
		process.env.PATH = setup.temporary;
		assert.equal(
			await messageOf(),
			'subagents.isolation is "pid-namespace", which is not available here (unshare is not installed). Allow user namespaces, or set it to "none"',
		);
	});

	test("Where namespaces are not permitted the run is refused in the system's own words (X19)", async () => {
		const tools = join(setup.temporary, "tools");
		mkdirSync(tools);
		const unshare = join(tools, "unshare");
		writeFileSync(unshare, '#!/bin/sh\necho "unshare: unshare failed: Operation not permitted" >&2\nexit 1\n');
		chmodSync(unshare, 0o755);
		process.env.PATH = tools;
		assert.match(await messageOf(), /not available here \(unshare: unshare failed: Operation not permitted\)/);
	});
});

describe("the real pi in a pid namespace", { skip: SKIP }, () => {
	test("The setting of a project: own user, own files, the answer as ever, nothing left (F13, X19)", async (t) => {
		const server = await startModelServer();
		const home = createHome(server);
		t.after(async () => {
			await server.close();
			home.dispose();
		});
		home.write(".pi/settings.json", JSON.stringify({ subagents: { isolation: "pid-namespace" } }));
		const job = createJob();
		const command = `${job.flight.join(" ")} >/dev/null 2>&1 & id -u > who; ls /proc | grep -c '^[0-9]' > processes; until pgrep -f '${job.command}' >/dev/null; do sleep 0.02; done; echo started`;
		let seen = 0;
		const { result, childRequests } = await delegate(home, server, {
			extension: EXTENSION,
			args: { tasks: [{ name: "strict", prompt: "leave something" }] },
			child: (request) => {
				if (request.turn === 0) return toolCall("bash", { command });
				seen = job.pids().length;
				return text("all done");
			},
			pi: { args: ["--approve"] },
		});
		assert.match(result.text, /^✓ strict: completed \(session: \w{16}\)/);
		assert.match(childRequests[1]?.messages.at(-1)?.text ?? "", /started/);
		assert.ok(seen > 0, "the job ran before pi ended");
		assert.deepEqual(job.pids(), []);
		const [owner, uid] = execFileSync("sh", ["-c", "stat -c %u who; cat who"], { cwd: home.project, encoding: "utf8" })
			.trim()
			.split("\n");
		assert.deepEqual([owner, uid], [String(process.getuid?.()), String(process.getuid?.())]);
		const processes = Number(execFileSync("cat", ["processes"], { cwd: home.project, encoding: "utf8" }));
		assert.ok(processes < 12, `it sees ${processes} processes`);
	});
});

interface Pids {
	readonly supervisor: number;
	readonly pi: number;
}

function whyNoNamespace(): string | false {
	try {
		const user = process.getuid?.() === 0 ? [] : ["--map-current-user"];
		execFileSync("unshare", [...user, "--pid", "--kill-child", "--mount-proc", "true"], { stdio: "pipe" });
		return false;
	} catch (error) {
		return `no pid namespaces here: ${error instanceof Error ? error.message.split("\n")[0] : error}`;
	}
}
