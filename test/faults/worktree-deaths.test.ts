import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { hang, text, toolCall } from "../rig/model-server.ts";
import { git, treeMissing } from "../rig/own-tree.ts";
import { runPi } from "../rig/pi.ts";
import { processesWithCommand, waitNoneWithEnv } from "../rig/processes.ts";
import { until } from "../rig/until.ts";
import { beginRun, EXTENSION, kill, MARKER, type Setup, setupFor } from "./setup.ts";

const SETTINGS = { settings: { subagents: { isolation: "worktree" } } };
let jobs = 0;

/** A run that has changed a file and left a job that hides, and whose model then says nothing more. */
async function begin(t: TestContext, timeout?: number): Promise<Setup & { readonly job: string }> {
	const place = await setupFor(t, SETTINGS);
	const { home } = place;
	home.write("a.txt", "one\n");
	git(home.project, "init", "-q", "-b", "main", ".");
	git(home.project, "add", "-A");
	git(home.project, "commit", "-q", "-m", "first");
	const job = `sleep ${700 + jobs++}.${process.pid}`;
	const command = `echo two >> a.txt; env -i PATH=/usr/bin:/bin setsid ${job} >/dev/null 2>&1 & until pgrep -f '${job}' >/dev/null; do sleep 0.02; done`;
	const setup = await beginRun(
		t,
		(request) => (request.turn === 0 ? toolCall("bash", { command }) : hang({ text: "and then" })),
		place,
		{
			args: { tasks: [{ name: "t", prompt: "go", ...(timeout === undefined ? {} : { timeout }) }] },
			pi: { args: ["--session", join(home.root, "session.jsonl")] },
		},
	);
	t.after(() => {
		for (const pid of processesWithCommand(job)) kill(pid);
	});
	await until(() => processesWithCommand(job).length > 0, "the job");
	await until(() => place.server.requests.some(({ turn, lastUser }) => turn === 1 && lastUser === "go"), "a turn");
	return { ...setup, job };
}

async function cameBack({ home, run, job }: Awaited<ReturnType<typeof begin>>): Promise<void> {
	await waitNoneWithEnv(MARKER, run.runId);
	assert.deepEqual(processesWithCommand(job), [], "nothing that the run started is left");
	const { changes } = run.result();
	const branch = `subagents/${run.runId}`;
	assert.equal(changes?.at.kind === "branch" && changes.at.name, branch);
	assert.equal(git(home.project, "show", `${branch}:a.txt`), "one\ntwo");
	assert.equal(git(home.project, "diff", "--name-only", `${branch}~1`, branch), "a.txt");
	assert.equal(git(home.project, "status", "--porcelain", "--", "a.txt"), "");
	assert.deepEqual(readdirSync(join(run.directory, "layers", "project")).sort(), ["at", "up"]);
}

describe("the changes of a run that does not end by itself", { skip: treeMissing() }, () => {
	test("Come back when its time is up [W7]", async (t) => {
		const setup = await begin(t, 8);
		const { results } = await setup.delegation.done;
		assert.match(results[0]?.text ?? "", /^✗ t: error — .*\n {2}changed 1 file \(\+1 −0\) on branch subagents\//);
		await cameBack(setup);
	});

	test("Come back when its supervisor is killed: the parent brings them [W7 W10]", async (t) => {
		const setup = await begin(t);
		kill(setup.run.supervisor);
		const { results } = await setup.delegation.done;
		assert.match(results[0]?.text ?? "", /^✗ t: error — .*\n {2}changed 1 file \(\+1 −0\) on branch subagents\//);
		await cameBack(setup);
	});

	test("Come back when its pi is killed [W7]", async (t) => {
		const setup = await begin(t);
		kill(setup.run.pi);
		await setup.delegation.done;
		await cameBack(setup);
	});

	test("Come back when its parent is killed: the supervisor brings them [W7]", async (t) => {
		const setup = await begin(t);
		setup.delegation.parent.kill("SIGKILL");
		await until(() => existsSync(join(setup.run.directory, "result.json")), "a result");
		await cameBack(setup);
	});

	test("Come back at the next start when parent and supervisor are killed together [W10]", async (t) => {
		const setup = await begin(t);
		const { home, server, run } = setup;
		kill(run.supervisor, "SIGSTOP");
		setup.delegation.parent.kill("SIGKILL");
		kill(run.supervisor);
		await waitNoneWithEnv(MARKER, run.runId);
		assert.equal(existsSync(join(run.directory, "result.json")), false);
		server.use(() => text("hello again"));
		const session = join(home.root, "session.jsonl");
		const next = runPi(home, { mode: "rpc", extension: EXTENSION, args: ["--session", session], prompt: "hello" });
		await until(() => existsSync(join(run.directory, "result.json")), "a result");
		next.end();
		await next.done;
		await cameBack(setup);
	});
});
