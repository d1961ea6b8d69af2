import type { LockAnswer, LockRequest } from "./protocol.ts";

const MAX_INTERVAL_MS = 2 ** 31 - 1;

/** The files that this run is changing, asked of its supervisor. */
export interface LockRequests {
	/** Whether the file may be changed: nobody else is changing it, or was when its turn came. */
	take(key: string, signal: AbortSignal | undefined): Promise<boolean>;
	/** One of the calls that took it has ended. */
	release(key: string): void;
	answered(answer: LockAnswer): void;
}

/**
 * A lock belongs to the run: calls of the same message share it. While the run holds one it does not wait for another, and
 * calls ask one after the other, so that no two runs ever wait for each other.
 */
export function createLockRequests(ask: (request: LockRequest) => void): LockRequests {
	const held = new Map<string, number>();
	let last = 0;
	let settle = (_got: boolean) => {};
	let turn: Promise<unknown> = Promise.resolve();

	const request = async (key: string, signal: AbortSignal | undefined): Promise<boolean> => {
		const calls = held.get(key);
		if (calls !== undefined) {
			held.set(key, calls + 1);
			return true;
		}
		if (signal?.aborted) return false;
		const id = ++last;
		const waits = setInterval(() => {}, MAX_INTERVAL_MS); // nothing else keeps this process alive meanwhile
		const got = await new Promise<boolean>((resolve) => {
			settle = resolve;
			signal?.addEventListener("abort", () => resolve(false), { once: true });
			ask({ lock: key, id, wait: held.size === 0 });
		});
		clearInterval(waits);
		if (got) held.set(key, 1);
		else ask({ unlock: key }); // it may have been given meanwhile
		return got;
	};
	return {
		take(key, signal) {
			const taken = turn.then(() => request(key, signal));
			turn = taken;
			return taken;
		},
		release(key) {
			const calls = held.get(key) ?? 0;
			if (calls > 1) return void held.set(key, calls - 1);
			if (held.delete(key)) ask({ unlock: key });
		},
		answered({ id, got }) {
			if (id === last) settle(got);
		},
	};
}
