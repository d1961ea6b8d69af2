import { setTimeout as pause } from "node:timers/promises";

const POLL_MS = 10;
/** For everything that a test waits for: a machine may have far more work than processors. */
export const PATIENCE_MS = 120_000;

/** Resolves as soon as it holds, for what tells nobody when it changes; rejects after `timeoutMs`. */
export async function until(
	holds: () => boolean | Promise<boolean>,
	what: string,
	timeoutMs = PATIENCE_MS,
): Promise<void> {
	const deadline = performance.now() + timeoutMs;
	while (!(await holds())) {
		if (performance.now() > deadline) throw new Error(`Waited ${timeoutMs} ms for ${what}.`);
		await pause(POLL_MS);
	}
}
