import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { KeptRun } from "../../src/domain/kept-run.ts";
import type { Steer } from "../../src/domain/steer.ts";
import { sessionTranscript } from "../../src/present/transcript.ts";
import type { LiveRun } from "../../src/session/live-runs.ts";
import { historyOf } from "../../src/session/run-history.ts";
import { createDelegateSetup, type DelegateSetup, linesOf, task } from "../rig/delegate-setup.ts";
import type { RecordedHost } from "../rig/recorded-host.ts";
import { until } from "../rig/until.ts";

/** The task with this name, as soon as it is as wanted. */
function live({ host }: RecordedHost, name: string, matches: (run: LiveRun) => boolean): Promise<LiveRun> {
	return new Promise((resolve) => {
		const look = () => {
			const run = host.live.runs.find(({ label }) => label === name);
			if (!run || !matches(run)) return;
			leave();
			resolve(run);
		};
		const leave = host.live.subscribe(look);
		look();
	});
}
const works = ({ state }: LiveRun) => state.messageCount > 1;
const begun = ({ state }: LiveRun) => state.messageCount > 0;
const isQueued = ({ state }: LiveRun) => state.phase.kind === "queued";

describe("what a person does about one task of a call", { concurrency: 3, timeout: 60_000 }, () => {
	let setup: DelegateSetup;
	before(() => {
		setup = createDelegateSetup();
	});
	after(() => setup.dispose());

	test("Stop one: the others go on, its line says so, and what it had written is kept", async () => {
		const host = setup.session();
		const tasks = [task("a", { say: "so far" }, { hang: true }), task("b", { sleep: 300 }, { say: "b is done" })];
		const call = host.delegate({ tasks });
		(await live(host, "a", works)).stop();
		const { result, failed } = await call;
		assert.deepEqual(linesOf(await call), ["■ a: stopped by you (session)", "✓ b: completed (session)"]);
		const [window] = result.details.windows;
		assert.deepEqual(
			[window?.status, window?.stopReason, window?.errorMessage],
			["error", "stopped", "stopped by you"],
		);
		assert.equal(failed, false);
		const kept = host.kept.findLast(({ label }) => label === "a")?.progress;
		assert.equal(kept?.kind === "ended" && kept.text, "so far");
		assert.deepEqual(host.host.live.runs, []);
	});

	test("A call whose tasks were all stopped by the person is not an error", async () => {
		const host = setup.session();
		const call = host.delegate({ tasks: [task("a", { say: "so far" }, { hang: true })] });
		(await live(host, "a", works)).stop();
		assert.equal((await call).failed, false);
	});

	test("A queued task: stop drops it at once, and a message waits for its first turn", async () => {
		const host = setup.session({}, { maxConcurrency: 1 });
		const tasks = [task("a", { receive: 1 }), task("b", { say: "never" }), task("c", { receive: 1 })];
		const call = host.delegate({ tasks });
		const first = await live(host, "a", begun);
		const dropped = await live(host, "b", isQueued);
		const unsent = await dropped.message("for nobody", "turn-end");
		dropped.stop();
		await live(host, "b", ({ state }) => state.phase.kind === "done"); // while the first one still runs
		const late = await (await live(host, "c", isQueued)).message("hello c", "turn-end");
		await first.message("hello a", "turn-end");
		assert.deepEqual(linesOf(await call), [
			"✓ a: completed (session)",
			"■ b: stopped by you (session)",
			"✓ c: completed (session)",
		]);
		assert.ok(unsent.ok && late.ok);
		assert.deepEqual(await unsent.value.settled, { kind: "undelivered" });
		assert.deepEqual(await late.value.settled, { kind: "delivered", turn: 1 });
		const said = host.kept.findLast(({ label }) => label === "c")?.progress;
		assert.match(said?.kind === "ended" ? said.text : "", /hello c/);
	});

	test("A message to a task that has ended is refused with that word", async () => {
		const host = setup.session();
		const call = host.delegate({ tasks: [task("a", { receive: 1 })] });
		const run = await live(host, "a", begun);
		await run.message("go", "turn-end");
		await call;
		const told = await historyOf(host.host.store.runs[0] as KeptRun);
		assert.match(sessionTranscript([told]), /^\[message from your session\]: go$/m);
		const late = await run.message("hello?", "turn-end");
		assert.match(late.ok ? "" : late.error, /has ended$/);
	});

	test("To background: the call goes on without the task, and its end is announced and billed once", async () => {
		const host = setup.session();
		const tasks = [task("a", { say: "so far" }, { receive: 2 }), task("b", { receive: 1 })];
		const call = host.delegate({ tasks });
		const moved = await live(host, "a", works);
		const stays = await live(host, "b", begun);
		const later = await moved.message("for later", "turn-end");
		const released = await moved.release();
		assert.ok(released.ok, released.ok ? "" : released.error);
		await until(() => !host.host.live.runs.some(({ label }) => label === "a"), "the call to have one task less");
		const last: Steer = { id: "last", text: "finish", when: "turn-end" };
		assert.ok((await host.host.background.message(moved.runId, last, "session")).ok);
		await stays.message("finish", "turn-end");
		const { lines, result, failed } = await call;
		assert.equal(lines[0], `● a: moved to the background (run: ${moved.runId}) (session: ${moved.sessionId})`);
		assert.match(lines[1] ?? "", /^✓ b: completed/);
		assert.equal(failed, false);
		const [window] = result.details.windows;
		assert.deepEqual([window?.status, window?.moved], ["running", true]);
		assert.equal(result.usage?.input, 100); // of b alone
		assert.ok(later.ok);
		await later.value.settled;
		const ended = () => host.host.store.get(moved.runId)?.progress.kind === "ended";
		await until(ended, "the moved run to end");
		assert.equal(host.host.background.bill()?.input, 200);
		assert.equal(host.host.background.bill(), undefined);
		assert.equal(host.session.notifications.length, 1);
		assert.match((await moved.release()).ok ? "" : "refused", /refused/);
	});

	test("To background: the session has its entry first; without one the task stays in its call and comes to its end", async () => {
		const host = setup.session();
		const call = host.delegate({ tasks: [task("a", { say: "so far" }, { receive: 1 })] });
		const run = await live(host, "a", works);
		host.session.end();
		const released = await run.release();
		assert.match(released.ok ? "" : released.error, /could not be kept in the session/);
		await run.message("finish", "turn-end");
		assert.deepEqual(linesOf(await call), ["✓ a: completed (session)"]);
	});

	test("To background is refused for a queued task", async () => {
		const host = setup.session({}, { maxConcurrency: 1 });
		const call = host.delegate({ tasks: [task("a", { receive: 1 }), task("b", { say: "b" })] });
		const first = await live(host, "a", begun);
		const released = await (await live(host, "b", isQueued)).release();
		assert.match(released.ok ? "" : released.error, /^"b" is queued/);
		await first.message("go on", "turn-end");
		await call;
	});
});
