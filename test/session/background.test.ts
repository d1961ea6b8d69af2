import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
	chmodSync,
	chownSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type BackgroundRun, backgroundStatusOf } from "../../src/domain/kept-run.ts";
import { createRunStore } from "../../src/records/run-store.ts";
import {
	BILLED_ENTRY,
	COMPLETION_MESSAGE,
	encodeRun,
	RUN_ENTRY,
	UPDATE_ENTRY,
} from "../../src/records/session-entries.ts";
import { connectControl } from "../../src/run/control-client.ts";
import { start } from "../../src/run/execute.ts";
import { createRunDirectory } from "../../src/run-directory/create.ts";
import { type Background, createBackground } from "../../src/session/background.ts";
import { createSetup, resultIn, type Setup } from "../rig/fake-run.ts";
import type { FakeStep } from "../rig/fake-steps.ts";
import { isAlive, isStopped, waitGone, waitNoneWithEnv } from "../rig/processes.ts";
import { createRecordedSession, type RecordedSession } from "../rig/recorded-session.ts";
import { startingRun } from "../rig/records.ts";
import { until } from "../rig/until.ts";

const CLAIMANT = fileURLToPath(new URL("./fixtures/claimant.ts", import.meta.url));
const SAID = "what it had said";
const TALKS: FakeStep[] = [{ delta: SAID }, { hang: true }];

describe("background runs of a session", { concurrency: 3 }, () => {
	let setup: Setup;
	before(() => {
		setup = createSetup();
	});
	/** What a failed test has left behind ends with the others. */
	const begun: BackgroundRun[] = [];
	after(async () => {
		for (const { lifetime } of begun) {
			const control = await connectControl(lifetime.socket);
			if (!control.ok) continue;
			control.value.send({ type: "stop", cause: { kind: "aborted", by: "signal" } });
			control.value.closeWhenSent();
		}
		await Promise.all(begun.map(({ runId }) => waitNoneWithEnv("PI_SUBAGENTS_RUN_ID", runId)));
		setup.dispose();
	});

	/** A start of pi with this session: its own memory, the session's entries. */
	function open(session: RecordedSession) {
		const store = createRunStore();
		const background = createBackground(store, session.port);
		const statusOf = (runId: string) => {
			const run = store.get(runId);
			return run && backgroundStatusOf(run);
		};
		const rebuild = () => background.rebuild([...session.entries]);
		/** A supervisor that has just written its result may still answer for a moment. */
		const rebuildToTheEnd = async () => {
			await rebuild();
			await session.until(() => store.counts().running === 0);
		};
		return { store, background, statusOf, rebuild, rebuildToTheEnd };
	}
	/** Starts a run as the tool does. */
	async function begin(steps: readonly FakeStep[], background: Background, owner = "recorded"): Promise<BackgroundRun> {
		const prepared = setup.prepare(steps, { lifetime: "background", family: "preset" });
		const run = startingRun(prepared, owner);
		const started = await start(prepared, (control) => background.add(run, control, "token"));
		assert.ok(started.ok, JSON.stringify(started));
		begun.push(run);
		return run;
	}
	const endedIn = (session: RecordedSession, runId: string) =>
		session.until(() => session.of(UPDATE_ENTRY).some((update) => update.runId === runId));
	const eventsOf = ({ directory }: BackgroundRun) => readFileSync(join(directory, "events.jsonl"), "utf8");
	const hasSaid = (run: BackgroundRun) => until(() => eventsOf(run).includes(`"delta":"${SAID}`), "its words");
	const pidsOf = (run: BackgroundRun): { supervisorPid: number; pid: number } =>
		JSON.parse(
			eventsOf(run)
				.split("\n")
				.find((line) => line.includes('"started"')) ?? "",
		).event;
	const waitForResult = (run: BackgroundRun) =>
		until(() => existsSync(join(run.directory, "result.json")), "its result");

	const failureIn = (run: BackgroundRun) => {
		const { outcome } = resultIn(run.directory);
		return outcome.kind === "failed" ? outcome.failure.kind : outcome.kind;
	};

	test("A run is an entry when it starts, and an update, a message and a notification when it ends (B49, B56, B59, B61)", async () => {
		const session = createRecordedSession();
		const { background, statusOf, store } = open(session);
		const run = await begin([{ say: "found it", usage: { input: 7, output: 3 } }], background);
		assert.equal(statusOf(run.runId), "running");
		await session.until(() => session.notifications.length > 0);
		assert.deepEqual(
			session.entries.map(({ customType }) => customType),
			[RUN_ENTRY, UPDATE_ENTRY, COMPLETION_MESSAGE],
		);
		assert.deepEqual(session.statuses, ["agents: 1 in background · alt+a", undefined]);
		assert.equal(session.notifications.length, 1);
		assert.match(session.notifications[0]?.text ?? "", /^✓ Background agent scout \(.*\) completed after \d+s$/);
		const [update] = session.of(UPDATE_ENTRY);
		assert.deepEqual(
			[update?.status, update?.text, update?.exitCode, update?.stopReason],
			["completed", "found it", 0, "stop"],
		);
		assert.deepEqual(store.counts(), { running: 0, completed: 1, failed: 0, aborted: 0, total: 1 });
	});

	/** Starts a run that is kept in a project of its own, which can be renamed. */
	async function beginIn(project: string, steps: readonly FakeStep[], background: Background): Promise<BackgroundRun> {
		mkdirSync(project);
		const prepared = setup.prepare(steps, { lifetime: "background", family: "preset" });
		const places = { cwd: project, agentDirectory: project, runsIn: "project" } as const;
		const made = createRunDirectory(prepared.spec, places);
		assert.ok(made.ok);
		const moved = { ...prepared, spec: made.value.spec, directory: made.value.path };
		const run = startingRun(moved, "recorded");
		const started = await start(moved, (control) => background.add(run, control, "token"));
		assert.ok(started.ok, JSON.stringify(started));
		begun.push(run);
		return run;
	}

	for (const ended of ["while nobody is there", "after the next start"]) {
		test(`A run whose project is renamed, and that ends ${ended}, is found again with its answer`, async () => {
			const session = createRecordedSession();
			const first = open(session);
			const before = join(setup.temporary, `before ${ended}`);
			const now = join(setup.temporary, `now ${ended}`);
			const run = await beginIn(before, [{ delta: SAID }, { pause: true }, { say: "at last" }], first.background);
			await hasSaid(run);
			const { pid } = pidsOf(run);
			await until(() => isStopped(pid), "the pause");
			first.background.detach();
			renameSync(before, now);
			const directory = run.directory.replace(before, now);
			if (ended === "while nobody is there") {
				process.kill(pid, "SIGCONT");
				await until(() => existsSync(join(directory, "result.json")), "its result");
				await waitNoneWithEnv("PI_SUBAGENTS_RUN_ID", run.runId);
			}
			const next = open(session);
			await next.background.rebuild([...session.entries], { cwd: now, agentDirectory: now });
			if (ended === "after the next start") process.kill(pid, "SIGCONT");
			await session.until(() => next.store.counts().running === 0);
			const found = next.store.get(run.runId);
			const text = found?.progress.kind === "ended" ? found.progress.text : "";
			assert.deepEqual([found?.directory, text], [directory, "at last"]);
		});
	}

	test("A run whose directory is gone is told with that reason", async () => {
		const session = createRecordedSession();
		const first = open(session);
		const run = await begin([{ delta: SAID }, { hang: true }], first.background);
		await hasSaid(run);
		first.background.detach();
		const { supervisorPid } = pidsOf(run);
		rmSync(run.directory, { recursive: true });
		process.kill(supervisorPid, "SIGKILL");
		await waitGone(supervisorPid);
		const next = open(session);
		await next.rebuildToTheEnd();
		assert.equal(next.statusOf(run.runId), "failed");
		assert.match(session.notifications.at(-1)?.text ?? "", /Its run directory is gone, so nobody knows how it ended: /);
	});

	test("A run that ended while nobody was there is told at the next start, once (B58)", async () => {
		const session = createRecordedSession();
		const first = open(session);
		const run = await begin([{ delta: SAID }, { sleep: 300 }, { say: `${SAID} at last` }], first.background);
		first.background.detach();
		await waitForResult(run);
		assert.deepEqual(session.of(UPDATE_ENTRY), []);
		for (let starts = 0; starts < 3; starts++) {
			const next = open(session);
			await next.rebuildToTheEnd();
			assert.equal(next.statusOf(run.runId), "completed");
			next.background.detach();
		}
		assert.equal(session.of(UPDATE_ENTRY).length, 1);
		assert.equal(session.of(COMPLETION_MESSAGE).length, 1);
		assert.equal(session.notifications.length, 1);
	});

	const kill = (run: BackgroundRun) => {
		if (isAlive(pidsOf(run).supervisorPid)) process.kill(pidsOf(run).supervisorPid, "SIGTERM");
	};
	test("A run that is found after its session has ended is not followed [W29]", async (t) => {
		const session = createRecordedSession();
		const first = open(session);
		const run = await begin([{ delta: SAID }, { hang: true }], first.background);
		await hasSaid(run);
		first.background.detach();
		rmSync(run.lifetime.socket);
		const connections = new Set<Socket>();
		const supervisor = createServer((client) => {
			connections.add(client.resume());
			client.on("close", () => connections.delete(client));
		}).listen(run.lifetime.socket);
		t.after(() => {
			supervisor.close();
			for (const client of connections) client.destroy();
			kill(run);
		});
		await once(supervisor, "listening");
		const next = open(session);
		const rebuilt = next.rebuild();
		next.background.detach();
		await rebuilt;
		await until(() => connections.size === 0, "its connection is closed");
		kill(run);
		await waitForResult(run);
		assert.deepEqual(session.of(UPDATE_ENTRY), []);
	});

	test("A run that goes on is followed again, and told when it ends (B58, B68)", async () => {
		const session = createRecordedSession();
		const first = open(session);
		const run = await begin([{ delta: SAID }, { sleep: 600 }, { say: "at last" }], first.background);
		first.background.detach();
		const second = open(session);
		await second.rebuild();
		assert.equal(second.statusOf(run.runId), "running");
		await endedIn(session, run.runId);
		assert.equal(second.statusOf(run.runId), "completed");
		assert.equal(session.of(COMPLETION_MESSAGE).length, 1);
	});

	test("A supervisor that is killed loses its run within seconds, with what it had said, and nothing is left (B48, W27)", async () => {
		const session = createRecordedSession();
		const { background, store } = open(session);
		const run = await begin(TALKS, background);
		await hasSaid(run);
		const { supervisorPid, pid } = pidsOf(run);
		process.kill(supervisorPid, "SIGKILL");
		await endedIn(session, run.runId);
		const [update] = session.of(UPDATE_ENTRY);
		assert.deepEqual([update?.status, update?.text], ["failed", SAID]);
		assert.match(String(update?.errorMessage), /^Sub-agent was lost/);
		assert.equal(store.counts().failed, 1);
		assert.equal(failureIn(run), "lost", "B47");
		await waitGone(pid);
		await waitNoneWithEnv("PI_SUBAGENTS_RUN_ID", run.runId);
	});

	test("One whose supervisor died while nobody was there is lost at the next start, not running for ever (B48)", async () => {
		const session = createRecordedSession();
		const first = open(session);
		const run = await begin([{ deaf: true }, ...TALKS], first.background);
		await hasSaid(run);
		first.background.detach();
		const { supervisorPid } = pidsOf(run);
		process.kill(supervisorPid, "SIGKILL");
		await waitGone(supervisorPid);
		await open(session).rebuildToTheEnd();
		const [update] = session.of(UPDATE_ENTRY);
		assert.deepEqual([update?.status, update?.text], ["failed", SAID]);
		assert.equal(failureIn(run), "lost", "B47");
		await waitNoneWithEnv("PI_SUBAGENTS_RUN_ID", run.runId);
	});

	test("A person stops a run: it is aborted, in their name, with what it had said", async () => {
		const session = createRecordedSession();
		const { background } = open(session);
		const run = await begin(TALKS, background);
		await hasSaid(run);
		assert.equal(
			await background.stop("20990101-000000-00000000"),
			`Unknown run: "20990101-000000-00000000". Known runs: ${run.runId}`,
		);
		assert.equal(await background.stop(run.runId), undefined);
		await endedIn(session, run.runId);
		const [update] = session.of(UPDATE_ENTRY);
		assert.deepEqual([update?.status, update?.text, update?.errorMessage], ["aborted", SAID, "stopped by you"]);
		assert.deepEqual(session.notifications, [], "the person knows");
		await session.until(() => session.of(COMPLETION_MESSAGE).length === 1);
		assert.equal(await background.stop(run.runId), `Run ${run.runId} has already ended: aborted`);
	});

	test("A supervisor that no longer answers is killed when a person stops its run, which is aborted", async () => {
		const session = createRecordedSession();
		const store = createRunStore();
		const background = createBackground(store, session.port, { unresponsiveMs: 300 });
		const run = await begin(TALKS, background);
		await hasSaid(run);
		const { supervisorPid } = pidsOf(run);
		process.kill(supervisorPid, "SIGSTOP");
		assert.equal(await background.stop(run.runId), undefined);
		await endedIn(session, run.runId);
		const [update] = session.of(UPDATE_ENTRY);
		assert.deepEqual([update?.status, update?.text], ["aborted", SAID]);
		assert.equal(isAlive(supervisorPid), false);
		await waitNoneWithEnv("PI_SUBAGENTS_RUN_ID", run.runId);
	});

	test("After the session is over nothing is told to it, and the run goes on (B63, W29)", async () => {
		const session = createRecordedSession();
		const { background } = open(session);
		const run = await begin([{ delta: SAID }, { sleep: 300 }, { say: "at last" }], background);
		background.detach();
		const before = session.entries.length;
		await waitForResult(run);
		assert.equal(session.entries.length, before);
		assert.deepEqual(session.notifications, []);
		assert.deepEqual(session.warnings, []);
	});

	test("An update without a message, as kill -9 in the middle of a turn leaves it, is made good by the next start (B61)", async () => {
		const session = createRecordedSession();
		const first = open(session);
		const run = await begin([{ say: "found it" }], first.background);
		await session.until(() => session.notifications.length > 0);
		first.background.detach();
		// pi keeps a message back until the turn ends: here the process died before, and with it its claim.
		const written = session.entries.filter(({ type }) => type === "custom");
		session.entries.splice(0, session.entries.length, ...written);
		rmSync(join(run.directory, "delivered"), { force: true });
		for (let starts = 0; starts < 2; starts++) await open(session).rebuildToTheEnd();
		assert.equal(session.of(COMPLETION_MESSAGE).length, 1);
		assert.equal(session.of(UPDATE_ENTRY).length, 1);
	});

	test("A message without an update gets its update and no second message (B61)", async () => {
		const session = createRecordedSession();
		const first = open(session);
		const run = await begin([{ say: "found it" }], first.background);
		await session.until(() => session.notifications.length > 0);
		const written = session.entries.filter(({ customType }) => customType !== UPDATE_ENTRY);
		session.entries.splice(0, session.entries.length, ...written);
		rmSync(join(run.directory, "delivered"), { force: true });
		for (let starts = 0; starts < 2; starts++) await open(session).rebuildToTheEnd();
		assert.equal(session.of(COMPLETION_MESSAGE).length, 1);
		assert.equal(session.of(UPDATE_ENTRY).length, 1);
		assert.equal(session.notifications.length, 1);
	});

	test("A reload while pi still holds the message back posts no second one", async () => {
		const session = createRecordedSession();
		const first = open(session);
		await begin([{ say: "found it" }], first.background);
		await session.until(() => session.notifications.length > 0);
		const written = session.entries.filter(({ type }) => type === "custom");
		session.entries.splice(0, session.entries.length, ...written);
		await open(session).rebuildToTheEnd();
		assert.deepEqual(session.of(COMPLETION_MESSAGE), []);
	});

	test("What the session refuses to take is told by the next start, though this process goes on (B61)", async () => {
		const session = createRecordedSession();
		const { background } = open(session);
		const run = await begin([{ delta: SAID }, { sleep: 200 }, { say: "found it" }], background);
		const entries = [...session.entries];
		session.end();
		await waitForResult(run);
		await until(() => session.warnings.length > 0, "a warning");
		background.detach();
		const again = createRecordedSession();
		again.entries.push(...entries);
		await open(again).rebuildToTheEnd();
		assert.equal(again.of(COMPLETION_MESSAGE).length, 1);
		assert.equal(again.of(UPDATE_ENTRY).length, 1);
	});

	test("A fork shows a run in its status only: no entry, no message, no notification (X18)", async () => {
		const session = createRecordedSession();
		const original = open(session);
		const run = await begin([{ delta: SAID }, { sleep: 500 }, { say: "at last" }], original.background);
		const fork = createRecordedSession("the fork");
		fork.entries.push(...session.entries);
		const forked = open(fork);
		await forked.rebuild();
		assert.equal(forked.statusOf(run.runId), "running");
		await Promise.all([endedIn(session, run.runId), fork.until(() => fork.statuses.includes(undefined))]);
		assert.equal(forked.statusOf(run.runId), "completed");
		assert.deepEqual(
			fork.entries.map(({ customType }) => customType),
			[RUN_ENTRY],
		);
		assert.deepEqual(fork.notifications, []);
		assert.equal(session.of(COMPLETION_MESSAGE).length, 1);
	});

	test("The usage of a run is billed once, by the session that started it, and that outlives a restart (X14)", async () => {
		const session = createRecordedSession();
		const first = open(session);
		const run = await begin([{ say: "found it", usage: { input: 7, output: 3 } }], first.background);
		await endedIn(session, run.runId);
		const fork = createRecordedSession("the fork");
		fork.entries.push(...session.entries);
		const forked = open(fork);
		await forked.rebuild();
		assert.equal(forked.background.bill(), undefined);
		assert.deepEqual(fork.of(BILLED_ENTRY), []);

		assert.equal(first.background.bill()?.input, 7);
		assert.equal(first.background.bill(), undefined);
		assert.deepEqual(session.of(BILLED_ENTRY), [{ runId: run.runId }]);
		assert.equal(session.of(UPDATE_ENTRY).length, 1);
		const second = open(session);
		await second.rebuild();
		assert.equal(second.background.bill(), undefined);
	});

	test("Entries that point to somebody else's directory or socket are never followed (F49)", async () => {
		const runId = "20260102-030405-0a1b2c3d";
		const session = createRecordedSession();
		const { background } = open(session);
		const run = await begin([{ say: "found it" }], background);
		await endedIn(session, run.runId);
		const heard: string[] = [];
		const socket = join(setup.temporary, "docker.sock");
		const server = createServer((client) => {
			heard.push("connected");
			client.destroy();
		});
		server.listen(socket);
		await once(server, "listening");
		const elsewhere = join(setup.temporary, runId);
		mkdirSync(elsewhere);
		writeFileSync(join(elsewhere, "result.json"), readFileSync(join(run.directory, "result.json")));
		const forgeries: Partial<BackgroundRun>[] = [
			{ runId, directory: elsewhere, lifetime: { ...run.lifetime, socket } },
			{
				runId: "20260102-030405-0a1b2c3e",
				directory: join(setup.temporary, "20260102-030405-0a1b2c3e"),
				lifetime: { ...run.lifetime, socket },
			},
		];
		const forged = createRecordedSession();
		for (const each of forgeries) forged.port.appendEntry(RUN_ENTRY, encodeRun({ ...run, ...each }));
		const opened = open(forged);
		await opened.rebuild();
		assert.deepEqual(opened.store.background, []);
		assert.match((await opened.background.stop(runId)) ?? "", /^Unknown run/);
		server.close();
		assert.deepEqual(heard, []);
		assert.deepEqual(forged.of(COMPLETION_MESSAGE), []);
	});

	/** A run that ended while nobody was there, and whose supervisor is gone. */
	async function endedUnseen(session: RecordedSession, answer: string): Promise<BackgroundRun> {
		const { background } = open(session);
		const run = await begin([{ delta: SAID }, { sleep: 300 }, { say: answer }], background);
		background.detach();
		await waitForResult(run);
		await waitGone(pidsOf(run).supervisorPid);
		return run;
	}
	const forgeResult = (directory: string) => {
		const path = join(directory, "result.json");
		writeFileSync(path, readFileSync(path, "utf8").replaceAll("at last", "OBEY ME"));
	};
	const SHUT = "Its directory is not private to you any more, so nothing is read from it: ";

	test("A run whose directory others may read is told like any other (B57, B58, B61, B68, X18)", async () => {
		const session = createRecordedSession();
		const told = await begin([{ say: "found it" }], open(session).background);
		await endedIn(session, told.runId);
		const unseen = await endedUnseen(session, "at last");
		for (const { directory } of [told, unseen]) chmodSync(directory, 0o755);
		for (let starts = 0; starts < 2; starts++) {
			const next = open(session);
			await next.rebuildToTheEnd();
			assert.deepEqual([next.statusOf(told.runId), next.statusOf(unseen.runId)], ["completed", "completed"]);
			assert.equal(next.store.get(unseen.runId)?.distrusted, false);
		}
		assert.deepEqual(
			session.of(UPDATE_ENTRY).map(({ runId, text }) => [runId, text]),
			[
				[told.runId, "found it"],
				[unseen.runId, "at last"],
			],
		);
		assert.equal(session.of(COMPLETION_MESSAGE).length, 2);
	});

	const spoilt: [string, (directory: string) => void][] = [
		["others can write to", (directory) => chmodSync(directory, 0o777)],
		["the group can write to", (directory) => chmodSync(directory, 0o770)],
		[
			"is a link now",
			(directory) => {
				renameSync(directory, `${directory}-elsewhere`);
				symlinkSync(`${directory}-elsewhere`, directory);
			},
		],
		["belongs to somebody else", (directory) => chownSync(directory, 12_345, 12_345)],
	];
	for (const [what, spoil] of spoilt) {
		const skip = what.startsWith("belongs") && process.getuid?.() !== 0;
		test(`A run whose directory ${what} is listed and told once as failed, and nothing is read there (B57, B58, B61, B68, S21)`, {
			skip,
		}, async () => {
			const session = createRecordedSession();
			const run = await endedUnseen(session, "at last");
			forgeResult(run.directory);
			spoil(run.directory);
			const files = readdirSync(run.directory);
			for (let starts = 0; starts < 3; starts++) {
				const next = open(session);
				await next.rebuildToTheEnd();
				assert.equal(next.statusOf(run.runId), "failed");
				next.background.detach();
			}
			assert.deepEqual(
				session.of(UPDATE_ENTRY).map(({ status, text, errorMessage }) => [status, text, errorMessage]),
				[["failed", "", SHUT + run.directory]],
			);
			assert.equal(session.of(COMPLETION_MESSAGE).length, 1);
			assert.equal(session.notifications.length, 1);
			assert.ok(session.notifications[0]?.text.endsWith(`s — ${SHUT}${run.directory}`), session.notifications[0]?.text);
			assert.deepEqual([readdirSync(run.directory), session.warnings], [files, []]);
		});
	}

	test("A run whose end the session has needs no directory, and a forged one changes nothing (B57, B66, S21)", async () => {
		const session = createRecordedSession();
		const run = await begin([{ say: "at last" }], open(session).background);
		await endedIn(session, run.runId);
		forgeResult(run.directory);
		chmodSync(run.directory, 0o777);
		const next = open(session);
		await next.rebuild();
		const { progress, distrusted } = next.store.get(run.runId) ?? {};
		assert.ok(progress?.kind === "ended");
		assert.deepEqual([progress.outcome.kind, progress.text, distrusted], ["completed", "at last", true]);
		assert.equal(session.of(COMPLETION_MESSAGE).length, 1);
	});

	test("A run that goes on in such a directory is followed by its socket alone, and stopped over it (B58, S21)", async () => {
		const session = createRecordedSession();
		const first = open(session);
		const ends = await begin([{ delta: SAID }, { pause: true }, { say: "at last" }], first.background);
		const hangs = await begin(TALKS, first.background);
		await hasSaid(ends);
		const { pid } = pidsOf(ends);
		await until(() => isStopped(pid), "the pause");
		await hasSaid(hangs);
		first.background.detach();
		for (const { directory } of [ends, hangs]) chmodSync(directory, 0o777);
		const second = open(session);
		await second.rebuild();
		assert.deepEqual([second.statusOf(ends.runId), second.statusOf(hangs.runId)], ["running", "running"]);
		process.kill(pid, "SIGCONT");
		await endedIn(session, ends.runId);
		assert.equal(await second.background.stop(hangs.runId), undefined);
		await endedIn(session, hangs.runId);
		assert.deepEqual(
			session.of(UPDATE_ENTRY).map(({ status, text }) => [status, text]),
			[
				["completed", "at last"],
				["aborted", SAID],
			],
		);
	});

	test("A supervisor that dies while only its socket is followed loses its run, and nothing is left (B48)", async () => {
		const session = createRecordedSession();
		const first = open(session);
		const run = await begin(TALKS, first.background);
		await hasSaid(run);
		first.background.detach();
		const { supervisorPid } = pidsOf(run);
		chmodSync(run.directory, 0o777);
		await open(session).rebuild();
		process.kill(supervisorPid, "SIGKILL");
		await endedIn(session, run.runId);
		const [update] = session.of(UPDATE_ENTRY);
		assert.deepEqual([update?.status, update?.text], ["failed", ""], "what its directory says is not read");
		assert.match(String(update?.errorMessage), /^Sub-agent was lost/);
		await waitNoneWithEnv("PI_SUBAGENTS_RUN_ID", run.runId);
	});

	test("A run whose socket others could have put there is not connected to: its result counts, or it has failed (B61, F49)", async () => {
		const session = createRecordedSession();
		const done = await endedUnseen(createRecordedSession(), "at last");
		const broken = await endedUnseen(createRecordedSession(), "never seen");
		rmSync(join(broken.directory, "result.json"));
		const sockets = join(setup.temporary, "open", `pi-subagents-${process.getuid?.()}`);
		mkdirSync(sockets, { recursive: true });
		chmodSync(sockets, 0o777);
		const heard: string[] = [];
		for (const run of [done, broken]) {
			const socket = join(sockets, run.runId);
			const server = createServer((client) => {
				heard.push(run.runId);
				client.destroy();
			});
			server.listen(socket).unref();
			await once(server, "listening");
			session.port.appendEntry(RUN_ENTRY, encodeRun({ ...run, lifetime: { ...run.lifetime, socket } }));
		}
		await open(session).rebuildToTheEnd();
		assert.deepEqual(heard, []);
		assert.deepEqual(
			session
				.of(UPDATE_ENTRY)
				.map(({ status, text, errorMessage }) => [status, text, errorMessage])
				.sort(),
			[
				["completed", "at last", undefined],
				[
					"failed",
					"never seen",
					`The directory of its socket is not private to you any more, so it is not followed: ${sockets}`,
				],
			],
		);
	});

	test("A run whose directory is gone is lost, and one that lives without it still tells its answer", async () => {
		const session = createRecordedSession();
		const { background } = open(session);
		const lives = await begin([{ delta: SAID }, { sleep: 500 }, { say: "at last" }], background);
		await hasSaid(lives);
		rmSync(lives.directory, { recursive: true });
		await endedIn(session, lives.runId);
		assert.deepEqual(
			[session.of(UPDATE_ENTRY)[0]?.status, session.of(UPDATE_ENTRY)[0]?.text],
			["completed", "at last"],
		);

		const other = createRecordedSession();
		const ended = await begin([{ say: "nobody will know" }], open(createRecordedSession()).background);
		await waitForResult(ended);
		await waitGone(pidsOf(ended).supervisorPid);
		other.port.appendEntry(RUN_ENTRY, encodeRun(ended));
		rmSync(ended.directory, { recursive: true });
		await open(other).rebuildToTheEnd();
		assert.deepEqual(
			other.of(UPDATE_ENTRY).map(({ status }) => status),
			["failed"],
		);
	});

	test("A run that the session cannot take is not started", async () => {
		const session = createRecordedSession();
		const { background, store } = open(session);
		session.end();
		const prepared = setup.prepare([{ say: "never" }], { lifetime: "background" });
		const run = startingRun(prepared, "recorded");
		const started = await start(prepared, (control) => background.add(run, control, "token"));
		assert.equal(started.ok, false);
		assert.deepEqual(store.runs, []);
		await waitForResult(run);
		assert.equal(eventsOf(run).includes('"started"'), false);
	});

	test("Of two processes with the same session one tells, and after its death nobody tells again (F52)", async () => {
		const session = createRecordedSession();
		const first = open(session);
		const run = await begin([{ say: "found it" }], first.background);
		first.background.detach();
		await waitForResult(run);
		const claimants = await Promise.all(Array.from({ length: 6 }, () => claimant(run)));
		assert.equal(claimants.filter(({ answer }) => answer === "taken").length, 1);
		await open(session).rebuildToTheEnd();
		assert.deepEqual(session.of(COMPLETION_MESSAGE), [], "while the one that claimed it lives");
		for (const { process: each } of claimants) each.kill("SIGKILL");
		await Promise.all(claimants.map(({ process: each }) => waitGone(each.pid ?? 0)));
		// It died before it could tell.
		const next = await Promise.all(Array.from({ length: 6 }, () => claimant(run)));
		assert.equal(next.filter(({ answer }) => answer === "taken").length, 1);
		for (const { process: each } of next) each.kill("SIGKILL");
		await Promise.all(next.map(({ process: each }) => waitGone(each.pid ?? 0)));
		await open(session).rebuildToTheEnd();
		assert.equal(session.of(COMPLETION_MESSAGE).length, 1);
	});

	/** Another process that claims the delivery and lives on. */
	async function claimant(run: BackgroundRun): Promise<{ process: ChildProcess; answer: string }> {
		const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", CLAIMANT, run.directory], {
			stdio: ["pipe", "pipe", "inherit"],
		});
		const [answer] = await once(child.stdout ?? child, "data");
		return { process: child, answer: String(answer).trim() };
	}
});
