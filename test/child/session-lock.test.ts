import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { lockSession as lock } from "../../src/child/session-lock.ts";
import { createRunId } from "../../src/plan/ids.ts";
import { isAlive } from "../rig/processes.ts";

type Run = Parameters<typeof lock>[1];
const lockSession = (file: string, run: Run, stop = new AbortController().signal) => lock(file, run, stop);

const HOLDER = fileURLToPath(new URL("./fixtures/lock-holder.ts", import.meta.url));

describe("the lock of a session file", { concurrency: 4 }, () => {
	let root: string;
	const servers: Server[] = [];
	const children: ChildProcess[] = [];
	before(() => {
		root = mkdtempSync(join(tmpdir(), "pi-lock-"));
	});
	after(() => {
		for (const server of servers) server.close();
		for (const child of children) child.kill("SIGKILL");
		rmSync(root, { recursive: true, force: true });
	});

	let files = 0;
	const sessionFile = () => join(root, `sessions-${files++}`, "scout_id.jsonl");
	const claimsIn = (file: string) => readdirSync(dirname(file)).filter((name) => /^scout.*\.lock-/.test(name));
	/** A run whose supervisor answers. */
	const alive = async (runId?: string) => {
		const run = dead(runId);
		const server = createServer((client) => client.on("error", () => {}));
		servers.push(server);
		server.listen(run.socket);
		await once(server, "listening");
		return run;
	};
	const dead = (runId = createRunId(new Date())) => ({ runId, socket: join(root, runId) });
	/** The same in a process of its own; `ask` lets it go, and tells what came of it. */
	const holder = async (file: string) => {
		const run = dead();
		const child = spawn(
			process.execPath,
			["--disable-warning=ExperimentalWarning", HOLDER, file, run.runId, run.socket],
			{
				stdio: ["pipe", "pipe", "inherit"],
			},
		);
		children.push(child);
		const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
		assert.equal((await lines.next()).value, "listening");
		const ask = async () => {
			child.stdin.write("go\n");
			return JSON.parse((await lines.next()).value ?? "null") as string;
		};
		return { ...run, child, ask };
	};

	test("A second run is refused and told of the first; after that has ended, the next gets it (X23, F54)", async () => {
		const file = sessionFile();
		const [first, second] = [await alive(), await alive()];
		const held = await lockSession(file, first);
		assert.ok(held.ok);
		assert.deepEqual(await lockSession(file, second), {
			ok: false,
			error: `The session is in use by run ${first.runId}`,
		});
		assert.deepEqual(claimsIn(file), [`scout_id.jsonl.lock-${first.runId}`]);
		held.value.release();
		const again = await lockSession(file, second);
		assert.ok(again.ok);
		again.value.release();
		assert.deepEqual(readdirSync(dirname(file)), []);
	});

	test("A claim says who and where and nothing else, and is for this user alone (X23)", async () => {
		const file = sessionFile();
		const run = await alive();
		const held = await lockSession(file, { ...run, task: "a secret" } as typeof run);
		assert.ok(held.ok);
		const path = join(dirname(file), claimsIn(file)[0] ?? "");
		const { runId, socket } = run;
		assert.deepEqual(JSON.parse(readFileSync(path, "utf8")), { runId, socket, stage: "holding" });
		assert.equal(statSync(path).mode & 0o777, 0o600);
		assert.equal(statSync(dirname(file)).mode & 0o777, 0o700);
	});

	test("A session file that pi made readable for others is private once its run has ended [X7, X23]", async () => {
		const file = sessionFile();
		const held = await lockSession(file, await alive());
		assert.ok(held.ok);
		writeFileSync(file, "{}\n", { mode: 0o644 });
		chmodSync(file, 0o644); // whatever the umask is
		held.value.release();
		assert.equal(statSync(file).mode & 0o777, 0o600);
	});

	test("Of two that see each other ask, the lower id goes first and the other gives way (C17, W32)", async () => {
		const [low, high] = [await alive("20260101-000000-00000001"), await alive("20260101-000000-00000002")];
		const asking = (file: string, { runId, socket }: typeof low, stage = "asking") => {
			mkdirSync(dirname(file), { recursive: true });
			writeFileSync(`${file}.lock-${runId}`, JSON.stringify({ runId, socket, stage }));
			return `${file}.lock-${runId}`;
		};
		const claimed = async (file: string, { runId }: typeof low) => {
			while (!existsSync(`${file}.lock-${runId}`)) await nextTurn();
		};

		const givesWay = sessionFile();
		asking(givesWay, low);
		assert.deepEqual(await lockSession(givesWay, high), {
			ok: false,
			error: `The session is in use by run ${low.runId}`,
		});

		const goesFirst = sessionFile();
		const others = asking(goesFirst, high);
		const first = lockSession(goesFirst, low);
		await claimed(goesFirst, low);
		rmSync(others);
		assert.ok((await first).ok);

		const tooLate = sessionFile();
		asking(tooLate, high);
		const second = lockSession(tooLate, low);
		await claimed(tooLate, low);
		asking(tooLate, high, "holding");
		assert.deepEqual(await second, { ok: false, error: `The session is in use by run ${high.runId}` });
	});

	test("Of several that ask at once exactly one gets it, across processes; kill -9 of it locks nobody out (C17, X23)", async () => {
		const file = sessionFile();
		const holders = await Promise.all([1, 2, 3, 4].map(() => holder(file)));
		const answers = await Promise.all(holders.map(({ ask }) => ask()));
		const winner = holders[answers.indexOf("ok")];
		assert.ok(winner);
		assert.equal(answers.filter((answer) => answer === "ok").length, 1);
		const others = await alive();
		assert.deepEqual(await lockSession(file, others), {
			ok: false,
			error: `The session is in use by run ${winner.runId}`,
		});
		winner.child.kill("SIGKILL");
		await once(winner.child, "exit");
		assert.ok(existsSync(winner.socket), "the crash has left the socket behind");
		const held = await lockSession(file, others);
		assert.ok(held.ok);
		assert.deepEqual(claimsIn(file), [`scout_id.jsonl.lock-${others.runId}`]);
	});

	test("The pi of a run whose supervisor was killed may still write: it is waited for (X23)", async () => {
		const file = sessionFile();
		const gone = dead();
		mkdirSync(dirname(file));
		writeFileSync(`${file}.lock-${gone.runId}`, JSON.stringify({ ...gone, stage: "holding" }));
		const pi = spawn("sleep", ["1"], { env: { PATH: process.env.PATH, PI_SUBAGENTS_RUN_ID: gone.runId } });
		children.push(pi);
		await once(pi, "spawn");
		const held = await lockSession(file, await alive());
		assert.ok(held.ok);
		assert.ok(!isAlive(pi.pid ?? 0));
		assert.equal(claimsIn(file).length, 1);
	});

	test("A run that is stopped while it waits gives up, and leaves no claim (C29)", async () => {
		const file = sessionFile();
		const gone = dead();
		mkdirSync(dirname(file));
		writeFileSync(`${file}.lock-${gone.runId}`, JSON.stringify({ ...gone, stage: "holding" }));
		const pi = spawn("sleep", ["300"], { env: { PATH: process.env.PATH, PI_SUBAGENTS_RUN_ID: gone.runId } });
		children.push(pi);
		await once(pi, "spawn");
		const stop = new AbortController();
		const waiting = lockSession(file, await alive(), stop.signal);
		while (claimsIn(file).length < 2) await nextTurn();
		stop.abort();
		assert.ok(!(await waiting).ok);
		assert.ok(isAlive(pi.pid ?? 0));
		assert.deepEqual(claimsIn(file), [`scout_id.jsonl.lock-${gone.runId}`]);
	});

	test("What is no claim locks nobody out, and other sessions are none of its business (X23)", async () => {
		const file = sessionFile();
		mkdirSync(dirname(file));
		const run = await alive();
		for (const [name, content] of [
			[`${file}.lock-half`, '{"runId":"'],
			[`${file}.lock-empty`, ""],
			[join(dirname(file), "scout_id2.jsonl.lock-other"), JSON.stringify({ ...run, stage: "holding" })],
		] as const) {
			writeFileSync(name, content);
		}
		assert.ok((await lockSession(file, await alive())).ok);
		assert.deepEqual(claimsIn(file).length, 2);
	});

	test("A directory that cannot be made is an error, not a crash (C14)", async () => {
		const file = sessionFile();
		writeFileSync(dirname(file), "a file");
		const held = await lockSession(file, await alive());
		assert.ok(!held.ok);
		assert.match(held.error, /^The session could not be locked: E/);
	});
});
