import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createDelegateSetup, type DelegateSetup, linesOf, runIdsIn, task } from "../rig/delegate-setup.ts";
import type { FakeStep } from "../rig/fake-steps.ts";
import { processesWithEnv, valuesInEnv, waitNoneWithEnv } from "../rig/processes.ts";
import type { Update } from "../rig/recorded-host.ts";

describe("delegate_to_subagents while it runs", { concurrency: 3 }, () => {
	let setup: DelegateSetup;
	before(() => {
		setup = createDelegateSetup();
	});
	after(() => setup.dispose());
	const session: DelegateSetup["session"] = (...given) => setup.session(...given);

	test("Of 16 tasks never more than 4 children live, and the next starts when one ends (A22, A23)", async () => {
		const host = session();
		const started = new Set<string>();
		let most = 0;
		const timer = setInterval(() => {
			const own = new Set(host.kept.map(({ runId }) => runId));
			// A look takes its time: what was there in two of them was there, all at once, between the two.
			const before = new Set(valuesInEnv("PI_SUBAGENTS_RUN_ID"));
			const alive = valuesInEnv("PI_SUBAGENTS_RUN_ID").filter((id) => own.has(id) && before.has(id));
			for (const id of alive) started.add(id);
			most = Math.max(most, alive.length);
		}, 20);
		const tasks = Array.from({ length: 16 }, (_, index) =>
			task(`t${index}`, { sleep: index < 4 ? 1_500 : 50 }, index === 5 ? { exit: 1 } : { say: `answer ${index}` }),
		);
		const call = await host.delegate({ tasks });
		clearInterval(timer);
		assert.equal(most, 4);
		assert.ok(started.size > 4);
		assert.equal(runIdsIn(host).length, 16);
		assert.equal(call.lines.length, 16);
		for (const [index, line] of linesOf(call).entries()) {
			assert.match(line, index === 5 ? /^✗ t5: error — / : new RegExp(`^✓ t${index}: completed \\(session\\)$`));
		}
		assert.equal(new Set(call.result.details.sessionIds).size, 16);
		assert.equal(call.result.usage?.input, 1_500);
		assert.equal(call.failed, false);
	});

	test("maxConcurrency is how many run at once (X19)", async () => {
		const host = session({}, { maxConcurrency: 1 });
		const statuses: number[] = [];
		await host.delegate(
			{ tasks: [1, 2, 3].map((index) => task(`t${index}`, { sleep: 150 }, { say: "x" })) },
			{
				onUpdate: ({ details }) => {
					statuses.push(
						details.windows.filter(({ status, startedAt }) => status === "running" && startedAt > 0).length,
					);
				},
			},
		);
		assert.equal(Math.max(...statuses), 1);
	});

	test("maxConcurrency is a limit of the session: tasks of several calls at once take turns [X35]", async () => {
		const host = session({}, { maxConcurrency: 2 });
		const calls = await Promise.all(
			["a", "b", "c"].map((call) =>
				host.delegate({ tasks: [1, 2, 3, 4, 5].map((index) => task(`${call}${index}`, { sleep: 100 }, { say: "x" })) }),
			),
		);
		const windows = calls.flatMap(({ result }) => result.details.windows);
		const atOnce = windows.map(
			({ startedAt: at }) => windows.filter((each) => each.startedAt <= at && at < (each.completedAt ?? 0)).length,
		);
		assert.equal(Math.max(...atOnce), 2);
		const firstEnds = calls.map(({ result }) =>
			Math.min(...result.details.windows.map((each) => each.completedAt ?? 0)),
		);
		const lastEnds = calls.map(({ result }) =>
			Math.max(...result.details.windows.map((each) => each.completedAt ?? 0)),
		);
		assert.ok(Math.max(...firstEnds) < Math.min(...lastEnds), "no call waits until another one is done");
	});

	test("The time of a task runs from its own start, not while it waits (A58)", async () => {
		const host = session({}, { maxConcurrency: 1, extend_timeout_debounce: 0 });
		const tasks = [1, 2, 3].map((index) => ({ ...task(`t${index}`, { sleep: 1_200 }, { say: "x" }), timeout: 3 }));
		const call = await host.delegate({ tasks });
		assert.ok(call.tookMs > 3_500);
		assert.deepEqual(linesOf(call), [
			"✓ t1: completed (session)",
			"✓ t2: completed (session)",
			"✓ t3: completed (session)",
		]);
	});

	test("An abort ends what runs and starts nothing more; the signal is not listened to afterwards (A61, F21)", async () => {
		const host = session();
		const stop = new AbortController();
		let listeners = 0;
		const { signal } = stop;
		const add = signal.addEventListener.bind(signal);
		const remove = signal.removeEventListener.bind(signal);
		signal.addEventListener = (...args: Parameters<typeof add>) => {
			listeners++;
			add(...args);
		};
		signal.removeEventListener = (...args: Parameters<typeof remove>) => {
			listeners--;
			remove(...args);
		};
		const tasks = Array.from({ length: 6 }, (_, index) => task(`t${index}`, { delta: "here" }, { hang: true }));
		const call = await host.delegate(
			{ tasks },
			{
				signal,
				onUpdate({ details }) {
					if (details.windows.filter(({ lines }) => lines.some(({ text }) => text === "here")).length === 4)
						stop.abort();
				},
			},
		);
		assert.deepEqual(
			linesOf(call),
			tasks.map(({ name }) => `✗ ${name}: error — Sub-agent was aborted (session)`),
		);
		assert.equal(call.failed, true);
		assert.equal(runIdsIn(host).length, 4);
		assert.ok(listeners <= 0);
		for (const id of runIdsIn(host)) assert.deepEqual(processesWithEnv("PI_SUBAGENTS_RUN_ID", id), []);
	});

	test("A signal that was aborted before spawns nothing; the end of the session aborts too (A61)", async () => {
		const host = session();
		const call = await host.delegate({ tasks: [task("a", { say: "x" })] }, { signal: AbortSignal.abort() });
		assert.deepEqual(linesOf(call), ["✗ a: error — Sub-agent was aborted (session)"]);
		assert.throws(() => runIdsIn(host));
		const ending = session();
		const ended = await ending.delegate(
			{ tasks: [task("a", { delta: "here" }, { hang: true })] },
			{ onUpdate: ({ details }) => details.windows[0]?.lines.length === 1 && ending.shutDown() },
		);
		assert.deepEqual(linesOf(ended), ["✗ a: error — Sub-agent was aborted (session)"]);
		for (const id of runIdsIn(ending)) await waitNoneWithEnv("PI_SUBAGENTS_RUN_ID", id);
	});

	test("Updates show the state as it is, soon, and at most ten times a second (A21, A116, X26)", async () => {
		const { delegate } = session();
		const chatter: FakeStep = { repeat: 150, steps: [{ delta: "word\n" }, { sleep: 10 }] };
		const call = await delegate({
			tasks: [task("a", chatter, { say: "done" }), { ...task("b", { say: "x" }), cwd: "x" }],
		});
		const { updates } = call;
		assert.ok(updates.length > 5, `${updates.length} updates`);
		assert.ok(updates.length <= call.tookMs / 100 + 2, `${updates.length} updates in ${call.tookMs} ms`);
		const gaps = updates.slice(1).map((update, index) => update.at - (updates[index] as Update).at);
		assert.ok(Math.min(...gaps) > 50, `${Math.min(...gaps)} ms between two updates`);
		const [first] = updates;
		assert.deepEqual(first?.content, [{ type: "text", text: "Sub-agents: 1 running, 1 error" }]);
		assert.deepEqual(
			first?.details.windows.map(({ status }) => status),
			["running", "error"],
		);
		for (const { details } of updates) {
			assert.equal(details.globalStatus, "running");
			assert.deepEqual(details.windows[0]?.allMessages.slice(-15), details.windows[0]?.lines);
			assert.ok((details.windows[0]?.lines.length ?? 0) <= 15);
		}
		assert.ok(updates.some(({ details }) => (details.windows[0]?.startedAt ?? 0) > 0));
	});
});
