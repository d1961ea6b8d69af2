import assert from "node:assert/strict";
import { test } from "node:test";
import { createThrottle } from "../../src/call/throttle.ts";

const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;

/** Emits until there were `count` calls, changing something all the time when `busy`. */
async function callsOf(count: number, clock: "clock" | "no clock", busy: boolean): Promise<number[]> {
	const at: number[] = [];
	let noise: NodeJS.Timeout | undefined;
	await new Promise<void>((resolve) => {
		const throttle = createThrottle(() => {
			at.push(performance.now());
			if (at.length < count) return 0;
			throttle.dispose();
			clearInterval(noise);
			resolve();
			return 0;
		}, clock);
		if (busy) noise = setInterval(throttle.request, 1);
	});
	return at;
}

test("At most ten updates a second, however much happens (X26, A116)", async () => {
	const at = await callsOf(6, "no clock", true);
	const gaps = at.slice(1).map((time, index) => time - (at[index] ?? 0));
	// A timer may be a millisecond early.
	assert.ok(
		gaps.every((gap) => gap >= 98),
		gaps.join(", "),
	);
});

test("The first change after a quiet time is shown within 50 ms, the next ones within 100 ms [X26]", (t) => {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	let calls = 0;
	const throttle = createThrottle(() => {
		calls++;
		return 0;
	}, "no clock");
	throttle.request();
	t.mock.timers.tick(50);
	assert.equal(calls, 1);
	throttle.request();
	t.mock.timers.tick(100);
	assert.equal(calls, 2);
	throttle.dispose();
});

test("With a clock an update comes every second, though nothing happens (A112)", async () => {
	const start = performance.now();
	const at = await callsOf(2, "clock", false);
	assert.ok((at[1] ?? 0) - start >= 1_900);
});

test("No timer is left after the end (X26)", () => {
	const before = timers();
	for (const clock of ["clock", "no clock"] as const) {
		const throttle = createThrottle(() => assert.fail("emitted after the end"), clock);
		throttle.request();
		assert.ok(timers() > before);
		throttle.dispose();
		assert.equal(timers(), before);
	}
});

test("An update that cannot be made is left out, and pi goes on", async () => {
	let calls = 0;
	await new Promise<void>((resolve) => {
		const throttle = createThrottle(() => {
			calls++;
			if (calls === 1) {
				setImmediate(throttle.request);
				throw new Error("a frame that cannot be drawn");
			}
			throttle.dispose();
			resolve();
			return 0;
		}, "no clock");
		throttle.request();
	});
	assert.equal(calls, 2);
});
