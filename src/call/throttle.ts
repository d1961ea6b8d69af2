const FIRST_MS = 20;
const INTERVAL_MS = 100;
const TICK_MS = 1_000;

export interface Throttle {
	/** Something changed. */
	request(): void;
	/** No further calls, and no timer left. */
	dispose(): void;
}

/**
 * Calls at most ten times a second: the first change after a quiet time is seen within 50 ms. With a clock it also calls
 * every second, for whoever shows how long something has been running.
 */
export function createThrottle(emit: () => void, clock: "clock" | "no clock"): Throttle {
	let timer: NodeJS.Timeout | undefined;
	let last = Number.NEGATIVE_INFINITY;
	const request = () => {
		if (timer) return;
		const wait = Math.max(FIRST_MS, last + INTERVAL_MS - performance.now());
		timer = setTimeout(() => {
			timer = undefined;
			last = performance.now();
			try {
				emit();
			} catch {
				// A frame that cannot be drawn is left out: thrown here it would end the whole of pi.
			}
		}, wait);
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
