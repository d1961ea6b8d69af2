/** What updates may take of a client's line: they are a convenience, and pi repeats all arguments of a call in each. */
const MAX_BYTES = 5_000_000;
const MAX_BYTES_PER_SECOND = 200_000;
/** At this pace the curve below begins. */
const HALF_TIME_MS = (MAX_BYTES / MAX_BYTES_PER_SECOND) * 1_000;

export interface UpdateBudget {
	/**
	 * Milliseconds until an update of this size may be sent: 0 means now, and then it counts as sent. Infinity: never in this
	 * call.
	 */
	ask(bytes: number): number;
}

/**
 * Spreads the updates of one call: after a time t all of them together have at most MAX_BYTES * t / (t + HALF_TIME) bytes. So
 * they begin fast, become rarer, and never come to an end while they are small. The first one does not count.
 */
export function createUpdateBudget(now: () => number = () => performance.now()): UpdateBudget {
	let startedAt: number | undefined;
	let sent = 0;
	return {
		ask(bytes) {
			if (startedAt === undefined) {
				startedAt = now();
				return 0;
			}
			const total = sent + bytes;
			if (total >= MAX_BYTES) return Number.POSITIVE_INFINITY;
			const allowedAt = startedAt + (HALF_TIME_MS * total) / (MAX_BYTES - total);
			const wait = allowedAt - now();
			if (wait > 0) return wait;
			sent = total;
			return 0;
		},
	};
}
