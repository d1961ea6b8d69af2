const FIRST_MS = 50;
const INTERVAL_MS = 100;

export interface Throttle {
	/** Something changed. */
	request(): void;
	/** No further calls, and no timer left. */
	dispose(): void;
}

/** Calls at most ten times a second: the first change after a quiet time is seen within 50 ms. */
export function createThrottle(emit: () => void): Throttle {
	let timer: NodeJS.Timeout | undefined;
	let last = Number.NEGATIVE_INFINITY;
	return {
		request() {
			if (timer) return;
			const wait = Math.max(FIRST_MS, last + INTERVAL_MS - performance.now());
			timer = setTimeout(() => {
				timer = undefined;
				last = performance.now();
				emit();
			}, wait);
		},
		dispose() {
			clearTimeout(timer);
		},
	};
}
