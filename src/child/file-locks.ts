import { join } from "node:path";
import type { LockRequest } from "./protocol.ts";
import { type Ticket, takeTicket } from "./slot-tickets.ts";

/** How long a sub-agent waits for another one that is changing the same file. */
const MAX_WAIT_MS = 10_000;

/**
 * The files that one run is changing. The supervisor has the locks, because a pid in a namespace of its own means nothing
 * outside. A lock counts while the run's pi lives: nobody takes it from a living one, and a kill frees it.
 */
export interface FileLocks {
	request(request: LockRequest, answer: (got: boolean) => void): void;
	/** The run's pi is gone. */
	release(): void;
}

/** `directory` belongs to the session; `holder` is the pid of the run's pi. */
export function createFileLocks(directory: string, holder: () => number | undefined): FileLocks {
	const held = new Map<string, Ticket>();
	const waiting = new Map<string, AbortController>();
	const take = async (key: string, wait: boolean): Promise<boolean> => {
		const given = new AbortController();
		waiting.set(key, given);
		const signal = AbortSignal.any([given.signal, AbortSignal.timeout(MAX_WAIT_MS)]);
		const onWait = () => (wait ? undefined : given.abort());
		try {
			held.set(key, await takeTicket(join(directory, key), 1, signal, onWait, holder()));
			return true;
		} catch {
			return !signal.aborted; // a directory that cannot be written locks nobody out
		} finally {
			waiting.delete(key);
		}
	};
	const release = (key: string) => {
		waiting.get(key)?.abort();
		held.get(key)?.release();
		held.delete(key);
	};
	return {
		request(request, answer) {
			if ("unlock" in request) return release(request.unlock);
			void take(request.lock, request.wait).then(answer);
		},
		release() {
			for (const key of [...waiting.keys(), ...held.keys()]) release(key);
		},
	};
}
