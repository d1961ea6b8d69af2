import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { takeTicket } from "../../src/child/slot-tickets.ts";
import { startDelegation, toolOutcomes } from "../rig/delegation.ts";
import type { Home } from "../rig/home.ts";
import { type ModelRequest, type Reply, text, toolCall, toolCalls } from "../rig/model-server.ts";
import { runPi } from "../rig/pi.ts";
import { until } from "../rig/until.ts";
import { createSetup, isParent, type Setup } from "./agent-setup.ts";
import { EXTENSION } from "./background-setup.ts";

const slotsOf = ({ temporary }: Home, key: string) =>
	join(temporary, `pi-subagents-${userInfo().uid}`, "slots", encodeURIComponent(key));

/** Two tool calls and an answer. */
const work = ({ turn }: ModelRequest): Reply =>
	turn < 2 ? toolCall("bash", { command: "true" }) : text("done", { delayMs: 10 });

/** Counts the children's requests that the server has at once. */
function countRequests() {
	let now = 0;
	const seen = { most: 0 };
	const child = (request: ModelRequest): Reply => {
		seen.most = Math.max(seen.most, ++now);
		void request.ended.then(() => now--);
		return work(request);
	};
	return { seen, child };
}

const define = (setup: Setup, name: string, model: string) =>
	setup.define(`subagents/${name}.md`, [`name: ${name}`, "description: works", `model: ${model}`]);

test("Two pi with four children each never have more requests in flight than maxInFlight allows, and all complete (R8)", async (t) => {
	const setup = await createSetup(t, { settings: { subagents: { maxInFlight: { mock: 1 } } } });
	define(setup, "one", "mock/mock-1");
	define(setup, "two", "mock/mock-2");
	const { seen, child } = countRequests();
	const tasks = ["one", "two", "one", "two"].map((preset, index) => ({ preset, task: `task ${index}` }));
	setup.server.use((request) => {
		if (!isParent(request)) return child(request);
		return request.turn === 0 ? toolCalls([{ name: "subagent", args: { tasks } }]) : text("the parent is done");
	});
	const start = () => runPi(setup.home, { prompt: "go on", extension: EXTENSION, timeoutMs: 100_000 });
	const ends = await Promise.all([start(), start()].map(({ done }) => done));
	for (const { events } of ends) {
		const [result] = toolOutcomes(events);
		assert.equal(result?.text.match(/: completed\n/g)?.length, 4, result?.text);
	}
	assert.equal(seen.most, 1);
	assert.equal(setup.server.requests.filter((request) => !isParent(request)).length, 2 * 4 * 3);
	assert.deepEqual(readdirSync(slotsOf(setup.home, "mock")), [], "no ticket is left");
});

test("A limit of a model and one of its provider both hold, and a model without a limit makes no ticket", async (t) => {
	const setup = await createSetup(t, { settings: { subagents: { maxInFlight: { mock: 2, "mock/mock-2": 1 } } } });
	define(setup, "one", "mock/mock-1");
	define(setup, "two", "mock/mock-2");
	const { seen, child } = countRequests();
	const ofTwo = countRequests();
	const tasks = ["two", "one", "two", "one"].map((preset, index) => ({ preset, task: `task ${index}` }));
	const { results } = await startDelegation(setup.home, setup.server, {
		extension: EXTENSION,
		isParent,
		rounds: [[{ name: "subagent", args: { tasks } }]],
		child(request) {
			if (request.model === "mock-2") ofTwo.child(request);
			return child(request);
		},
		pi: { timeoutMs: 100_000 },
	}).done;
	assert.equal(results[0]?.text.match(/: completed\n/g)?.length, 4, results[0]?.text);
	assert.ok(seen.most <= 2, `${seen.most} of the provider`);
	assert.equal(ofTwo.seen.most, 1);

	const free = await createSetup(t, { settings: { subagents: { maxInFlight: { llama: 1 } } } });
	define(free, "one", "mock/mock-1");
	const [result] = await free.call([{ preset: "one", task: "a task" }], { "a task": [text("done")] });
	assert.equal(result?.text, "done");
	assert.equal(existsSync(join(slotsOf(free.home, "llama"), "..")), false, "no entry, no cost");
});

test("A child that waits for its slot says so, is not timed out, and goes on when it is its turn", async (t) => {
	const setup = await createSetup(t, {
		settings: { subagents: { maxInFlight: { mock: 1 }, extend_timeout_debounce: 0 } },
	});
	define(setup, "one", "mock/mock-1");
	mkdirSync(slotsOf(setup.home, "mock"), { recursive: true, mode: 0o700 });
	const ticket = await takeTicket(slotsOf(setup.home, "mock"), 1, new AbortController().signal, () => {});
	const running = startDelegation(setup.home, setup.server, {
		extension: EXTENSION,
		rounds: [[{ name: "delegate_to_subagents", args: { tasks: [{ name: "map", prompt: "map it", timeout: 2 }] } }]],
		child: () => text("done"),
		pi: { timeoutMs: 60_000 },
	});
	await until(() => waitingEvents(setup).length > 0, "the wait to be told", 60_000);
	assert.deepEqual(waitingEvents(setup)[0], { type: "waiting", for: "mock", before: 1 });
	const shown = () => JSON.stringify(running.parent.events.findLast(({ type }) => type === "tool_execution_update"));
	await until(
		() => shown().includes('"word":"waiting","text":"for mock (1 before it)"'),
		"the wait to be shown",
		60_000,
	);
	const since = performance.now();
	await until(() => performance.now() - since > 2_500, "more than its time to pass");
	ticket.release();
	const { results, childRequests } = await running.done;
	assert.match(results[0]?.text ?? "", /^✓ map: completed /);
	assert.equal(childRequests.length, 1);
});

test("Stopping a call ends the waiting for a slot at once, and leaves the queue", async (t) => {
	const setup = await createSetup(t, { settings: { subagents: { maxInFlight: { mock: 1 } } } });
	define(setup, "one", "mock/mock-1");
	mkdirSync(slotsOf(setup.home, "mock"), { recursive: true, mode: 0o700 });
	const ticket = await takeTicket(slotsOf(setup.home, "mock"), 1, new AbortController().signal, () => {});
	setup.server.use((request) => {
		assert.ok(isParent(request));
		return toolCalls([{ name: "subagent", args: { preset: "one", task: "wait" } }]);
	});
	const pi = runPi(setup.home, { prompt: "go on", mode: "rpc", extension: EXTENSION, timeoutMs: 60_000 });
	await until(() => waitingEvents(setup).length > 0, "the wait to be told", 60_000);
	const at = performance.now();
	pi.send({ type: "abort" });
	await until(() => toolOutcomes(pi.events).length === 1, "the call to end");
	assert.ok(performance.now() - at < 4_000, `${performance.now() - at} ms, before the stop ladder would kill`);
	assert.match(toolOutcomes(pi.events)[0]?.text ?? "", /aborted/);
	assert.equal(readdirSync(slotsOf(setup.home, "mock")).length, 1, "only the ticket of the test");
	ticket.release();
	pi.end();
	await pi.done;
});

/** Of the first run that has any. */
function waitingEvents({ home }: Setup): { type: string }[] {
	const runs = join(home.project, ".pi", "subagents", "runs");
	const names = existsSync(runs) ? readdirSync(runs).filter((name) => /^\d/.test(name)) : [];
	return names.flatMap((name) => {
		const path = join(runs, name, "events.jsonl");
		const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
		return lines
			.filter((line) => line.includes('"type":"waiting"'))
			.map((line) => (JSON.parse(line) as { event: { type: string } }).event);
	});
}
