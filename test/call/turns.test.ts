import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createTurns, type Line } from "../../src/call/turns.ts";

const NEVER = new AbortController().signal;

/** Tasks that take part in turns, and who runs at the moment. */
function createTasks() {
	const running = new Map<string, () => void>();
	return {
		running: () => [...running.keys()],
		add(name: string, line: Line, stop: AbortSignal = NEVER) {
			void line.turn(stop).then((end) => running.set(name, end));
		},
		async end(name: string) {
			const end = running.get(name);
			assert.ok(end, `${name} runs`);
			running.delete(name);
			end();
			await nextTurn();
			return [...running.keys()];
		},
	};
}

describe("turns", () => {
	test("The limit counts the running tasks of all calls, and the calls take turns [X35]", async () => {
		const turns = createTurns();
		const { add, end, running } = createTasks();
		const [first, second] = [turns.join(2), turns.join(2)];
		for (const name of ["a1", "a2", "a3", "a4"]) add(name, first);
		for (const name of ["b1", "b2"]) add(name, second);
		await nextTurn();
		assert.deepEqual(running(), ["a1", "a2"]);
		assert.deepEqual(await end("a1"), ["a2", "a3"]);
		assert.deepEqual(await end("a2"), ["a3", "b1"]);
		assert.deepEqual(await end("a3"), ["b1", "a4"]);
		assert.deepEqual(await end("b1"), ["a4", "b2"]);
		assert.deepEqual(await end("a4"), ["b2"]);
		assert.deepEqual(await end("b2"), []);
	});

	test("A call that is stopped leaves at once, and takes no turn from the others", async () => {
		const turns = createTurns();
		const { add, end, running } = createTasks();
		const stop = new AbortController();
		add("a1", turns.join(1));
		const stopped = turns.join(1);
		for (const name of ["b1", "b2"]) add(name, stopped, stop.signal);
		add("c1", turns.join(1));
		await nextTurn();
		assert.deepEqual(running(), ["a1"]);
		stop.abort();
		await nextTurn();
		assert.deepEqual(running(), ["a1", "b1", "b2"], "they go on at once, to say that they were stopped");
		assert.deepEqual(await end("b1"), ["a1", "b2"], "which makes no room for anybody");
		assert.deepEqual(await end("a1"), ["b2", "c1"]);
	});

	test("Each call has the limit of its own settings, and ending twice makes room once", async () => {
		const turns = createTurns();
		const { add, running } = createTasks();
		const ends: (() => void)[] = [];
		for (const line of [turns.join(3), turns.join(3)]) ends.push(await line.turn(NEVER));
		const one = turns.join(1);
		add("alone", one);
		ends[0]?.();
		ends[0]?.();
		await nextTurn();
		assert.deepEqual(running(), []);
		ends[1]?.();
		await nextTurn();
		assert.deepEqual(running(), ["alone"]);
	});
});
