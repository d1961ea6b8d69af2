import { join } from "node:path";
import type { LockAnswer, LockRequest, WriteGuard } from "./protocol.ts";
import { takeFreeTicket } from "./slot-tickets.ts";

const MAX_INTERVAL_MS = 2 ** 31 - 1;

/** The files that this run is changing. */
export interface LockRequests {
	/** Whether the file may be changed: nobody else is changing it, or was when its turn came. */
	take(key: string, signal: AbortSignal | undefined): Promise<boolean>;
	/** One of the calls that took it has ended. */
	release(key: string): void;
	answered(answer: LockAnswer): void;
}

/** Where the locks of a session's files are. */
export const locksOf = (ledger: string): string => join(ledger, "locks");

/**
 * A free file is locked here; for another one the supervisor waits. A lock belongs to the run: calls of the same message
 * share it. While the run holds one it does not wait for another, and calls ask one after the other, so that no two runs
 * ever wait for each other.
 */
export function createLockRequests(
	{ ledger, holder }: Pick<WriteGuard, "ledger" | "holder">,
	ask: (request: LockRequest) => void,
): LockRequests {
	const held = new Map<string, { calls: number; release(): void }>();
	let last = 0;
	let settle = (_got: boolean) => {};
	let turn: Promise<unknown> = Promise.resolve();

	const wait = async (key: string, signal: AbortSignal | undefined): Promise<boolean> => {
		const id = ++last;
		const waits = setInterval(() => {}, MAX_INTERVAL_MS); // nothing else keeps this process alive meanwhile
		const got = await new Promise<boolean>((resolve) => {
			settle = resolve;
			signal?.addEventListener("abort", () => resolve(false), { once: true });
			ask({ lock: key, id, wait: held.size === 0 });
		});
		clearInterval(waits);
		if (!got) ask({ unlock: key }); // it may have been given meanwhile
		return got;
	};
	const request = async (key: string, signal: AbortSignal | undefined): Promise<boolean> => {
		const own = held.get(key);
		if (own) {
			own.calls++;
			return true;
		}
		if (signal?.aborted) return false;
		const free = takeFreeTicket(join(locksOf(ledger), key), holder);
		if (!free && !(await wait(key, signal))) return false;
		held.set(key, { calls: 1, release: free?.release ?? (() => ask({ unlock: key })) });
		return true;
	};
	return {
		take(key, signal) {
			const taken = turn.then(() => request(key, signal));
			turn = taken;
			return taken;
		},
		release(key) {
			const lock = held.get(key);
			if (!lock || --lock.calls > 0) return;
			held.delete(key);
			lock.release();
		},
		answered({ id, got }) {
			if (id === last) settle(got);
		},
	};
}
