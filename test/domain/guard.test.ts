import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { RunEvent, StopCause } from "../../src/domain/event.ts";
import { canonical, createGuard, type Guard } from "../../src/domain/guard.ts";
import type { Limits } from "../../src/domain/spec.ts";

const limits: Limits = { timeoutMs: 0, idleGraceMs: 0, repeatedCalls: 5 };
const call = (name: string, args: unknown = {}): RunEvent => ({
	type: "tool-started",
	callId: "1",
	name,
	args,
	nested: false,
});

/** A guard, and the first thing that it asks for. */
function watch(changes: Partial<Limits>): { guard: Guard; asked: Promise<StopCause>; causes: StopCause[] } {
	const causes: StopCause[] = [];
	const asked = Promise.withResolvers<StopCause>();
	const guard = createGuard({ ...limits, ...changes }, (cause) => {
		causes.push(cause);
		asked.resolve(cause);
	});
	return { guard, asked: asked.promise, causes };
}

describe("the timeout", { concurrency: true }, () => {
	test("With an idle time of 0 a run is stopped at its timeout, busy or not (A63)", async () => {
		const { guard, asked } = watch({ timeoutMs: 200 });
		const at = performance.now();
		const busy = setInterval(() => guard.observe(call("read", { at: performance.now() })), 20);
		assert.deepEqual(await asked, { kind: "timeout", afterMs: 200 });
		clearInterval(busy);
		guard.dispose();
		assert.ok(performance.now() - at >= 195);
	});

	test("Then the idle time runs; the cause still names the timeout (A62, A64)", async () => {
		const { guard, asked } = watch({ timeoutMs: 100, idleGraceMs: 300 });
		const at = performance.now();
		assert.deepEqual(await asked, { kind: "timeout", afterMs: 100 });
		guard.dispose();
		assert.ok(performance.now() - at >= 390);
	});

	test("Every tool call starts the idle time anew; A65: nothing else does (A62)", async () => {
		const busy = watch({ timeoutMs: 100, idleGraceMs: 1_000 });
		const chatty = watch({ timeoutMs: 100, idleGraceMs: 1_000 });
		let calls = 0;
		const timer = setInterval(() => {
			busy.guard.observe(call("read", { call: calls++ }));
			chatty.guard.observe({ type: "delta", text: "still here" });
		}, 50);
		await chatty.asked;
		assert.deepEqual(busy.causes, []);
		clearInterval(timer);
		assert.deepEqual(await busy.asked, { kind: "timeout", afterMs: 100 });
		busy.guard.dispose();
		chatty.guard.dispose();
	});

	test("Time in which this process did not run is not charged to the run (F55)", async () => {
		const { guard, asked, causes } = watch({ timeoutMs: 400 });
		const at = performance.now();
		const asleep = performance.now() + 1_000;
		while (performance.now() < asleep) {
			// nothing ticks meanwhile
		}
		await new Promise((resolve) => setTimeout(resolve, 60));
		assert.deepEqual(causes, []);
		await asked;
		guard.dispose();
		assert.ok(performance.now() - at >= 1_200);
	});

	test("0 is no timeout, and a guard that is disposed of asks for nothing (X15)", async () => {
		const never = watch({ timeoutMs: 0 });
		const disposed = watch({ timeoutMs: 50 });
		disposed.guard.dispose();
		const later = watch({ timeoutMs: 150 });
		await later.asked;
		later.guard.dispose();
		assert.deepEqual([never.causes, disposed.causes], [[], []]);
	});
});

describe("the loop", () => {
	const feed = (changes: Partial<Limits>, ...events: RunEvent[]) => {
		const { guard, causes } = watch(changes);
		for (const event of events) guard.observe(event);
		return causes;
	};
	const same = (count: number, args: unknown = { path: "a" }) =>
		Array.from({ length: count }, () => call("read", args));

	test("So many identical calls in a row are a loop (A66, R3)", () => {
		assert.deepEqual(feed({}, ...same(4)), []);
		assert.deepEqual(feed({}, ...same(5)), [{ kind: "loop", tool: "read" }]);
		assert.deepEqual(feed({ repeatedCalls: 2 }, ...same(2)), [{ kind: "loop", tool: "read" }]);
	});

	test("Calls that a script makes are not counted: a script may well ask the same thing in a loop", () => {
		const nested = same(9).map((event) => ({ ...event, nested: true }) as RunEvent);
		assert.deepEqual(feed({}, ...nested), []);
		assert.deepEqual(feed({}, ...same(4), ...nested, ...same(1)), [{ kind: "loop", tool: "read" }]);
	});

	test("Only consecutive ones count, of the same tool, with the same arguments (A66, R4)", () => {
		assert.deepEqual(feed({}, ...same(4), call("ls"), ...same(4)), []);
		assert.deepEqual(feed({}, ...same(4), call("write", { path: "a" })), []);
		assert.deepEqual(feed({}, ...same(4), call("read", { path: "b" })), []);
		const turns = Array.from({ length: 20 }, () => [call("read", { path: "a" }), call("read", { path: "b" })]).flat();
		assert.deepEqual(feed({}, ...turns), [], "two calls in turn are not identical consecutive ones");
		const text: RunEvent = { type: "delta", text: "between" };
		assert.equal(feed({}, ...same(3), text, ...same(2)).length, 1);
	});

	test("0 switches it off (A67)", () => {
		assert.deepEqual(feed({ repeatedCalls: 0 }, ...same(100)), []);
	});

	test("A difference at any depth is a difference (A68, W6)", () => {
		const edit = (newText: string) => call("edit", { path: "a.ts", edits: [{ oldText: "x", newText }] });
		assert.deepEqual(feed({}, ..."abcdefgh".split("").map(edit)), []);
		assert.equal(feed({}, ..."aaaaa".split("").map(edit)).length, 1);
	});

	test("The order of keys makes no difference (X15)", () => {
		const one = { a: 1, b: { c: [{ d: 1, e: 2 }], f: null } };
		const other = { b: { f: null, c: [{ e: 2, d: 1 }] }, a: 1 };
		assert.equal(canonical(one), canonical(other));
		assert.equal(feed({ repeatedCalls: 2 }, call("x", one), call("x", other)).length, 1);
	});

	test("The signature is the value and nothing but the value (X15)", () => {
		const shuffled = (value: unknown): unknown => {
			if (Array.isArray(value)) return value.map(shuffled);
			if (typeof value !== "object" || value === null) return value;
			return Object.fromEntries(
				Object.entries(value)
					.toReversed()
					.map(([key, inner]) => [key, shuffled(inner)]),
			);
		};
		const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown);
		fc.assert(
			fc.property(json, (value) => {
				assert.equal(canonical(value), canonical(shuffled(value)));
				assert.deepEqual(JSON.parse(canonical(value)), value);
			}),
		);
		assert.equal(canonical(undefined), "undefined");
	});
});
