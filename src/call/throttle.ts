const FIRST_MS = 20;
const INTERVAL_MS = 100;
const TICK_MS = 1_000;
/** A timer of more than 24.8 days would fire at once. */
const MAX_TIMER_MS = 24 * 60 * 60 * 1_000;

export interface Throttle {
	/** Something changed. */
	request(): void;
	/** No further calls, and no timer left. */
	dispose(): void;
}

/**
 * Calls at most ten times a second: the first change after a quiet time is seen within 50 ms. With a clock it also calls
 * every second, because a terminal shows how long something has been running. `emit` returns the milliseconds after which it wants to
 * be called again, because it was too early: 0 for never mind, Infinity to be left alone from then on.
 */
export function createThrottle(emit: () => number, clock: "clock" | "no clock"): Throttle {
	let timer: NodeJS.Timeout | undefined;
	let last = Number.NEGATIVE_INFINITY;
	let closed = false;
	const run = () => {
		timer = undefined;
		last = performance.now();
		try {
			const again = emit();
			closed = again === Number.POSITIVE_INFINITY;
			if (again > 0 && !closed) timer = setTimeout(run, Math.min(again, MAX_TIMER_MS));
		} catch {
			// A frame that cannot be drawn is left out: thrown here it would end the whole of pi.
		}
	};
	const request = () => {
		if (timer || closed) return;
		timer = setTimeout(run, Math.max(FIRST_MS, last + INTERVAL_MS - performance.now()));
	};
	const ticks = clock === "clock" ? setInterval(request, TICK_MS) : undefined;
	return {
		request,
		dispose() {
			clearTimeout(timer);
			clearInterval(ticks);
		},
	};
}
