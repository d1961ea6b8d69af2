import { setTimeout as pause } from "node:timers/promises";

const POLL_MS = 10;

/** Resolves as soon as it holds, for what tells nobody when it changes; rejects after `timeoutMs`. */
export async function until(holds: () => boolean | Promise<boolean>, what: string, timeoutMs = 20_000): Promise<void> {
	const deadline = performance.now() + timeoutMs;
	while (!(await holds())) {
		if (performance.now() > deadline) throw new Error(`Waited ${timeoutMs} ms for ${what}.`);
		await pause(POLL_MS);
	}
}
