import type { BackgroundRun } from "../domain/kept-run.ts";

/** Which ends of background runs are news: who waits for one, and which the model has not seen yet. */
export interface EndNews {
	/** A run of this session has ended while this process looked on. */
	ended(run: BackgroundRun): void;
	/** Whether somebody waits for this end and will tell it: then it is not announced. */
	isAwaited(runId: string): boolean;
	/** Waits for these runs, and keeps their ends from being announced meanwhile. */
	await(runIds: readonly string[]): Awaited;
	/** Ends that were announced since the model was last asked. */
	readonly unseen: ReadonlySet<string>;
	/** The model is asked, and sees this one. */
	seen(runId: string): void;
	/** Called after each end that was announced. Returns how to leave. */
	subscribe(listener: () => void): () => void;
	/** All have been seen. */
	clear(): void;
}

export interface Awaited {
	/** Resolves when all of them have ended, or the signal is aborted. */
	all(signal: AbortSignal): Promise<void>;
	/** From here on their ends are announced again. Returns those whose announcement was kept back. */
	leave(): readonly BackgroundRun[];
}

interface Waiter {
	readonly ids: ReadonlySet<string>;
	readonly ended: Map<string, BackgroundRun>;
	wake(): void;
}

export function createEndNews(): EndNews {
	const waiters = new Set<Waiter>();
	const unseen = new Set<string>();
	const listeners = new Set<() => void>();
	return {
		unseen,
		ended(run) {
			const awaiting = [...waiters].filter(({ ids }) => ids.has(run.runId));
			for (const waiter of awaiting) {
				waiter.ended.set(run.runId, run);
				waiter.wake();
			}
			if (awaiting.length > 0) return;
			unseen.add(run.runId);
			for (const listener of [...listeners]) listener();
		},
		isAwaited: (runId) => [...waiters].some(({ ids }) => ids.has(runId)),
		await(runIds) {
			const waiter = { ids: new Set(runIds), ended: new Map<string, BackgroundRun>(), wake: () => {} };
			waiters.add(waiter);
			return {
				async all(signal) {
					const wake = () => waiter.wake();
					signal.addEventListener("abort", wake);
					while (!signal.aborted && waiter.ended.size < waiter.ids.size) {
						await new Promise<void>((resolve) => {
							waiter.wake = resolve;
						});
					}
					signal.removeEventListener("abort", wake);
				},
				leave() {
					waiters.delete(waiter);
					return [...waiter.ended.values()];
				},
			};
		},
		seen: (runId) => void unseen.delete(runId),
		subscribe(listener) {
			listeners.add(listener);
			return () => void listeners.delete(listener);
		},
		clear: () => unseen.clear(),
	};
}
