import { setTimeout as sleep } from "node:timers/promises";
import { presenceOf } from "../child/presence.ts";
import { socketPathOf } from "../child/protocol.ts";
import { allRunProcesses, type RunProcess } from "../child/run-processes.ts";
import { stopOrphans } from "../child/stop-ladder.ts";

/** Processes of a run that nobody watches over any more. */
export interface Leftover {
	readonly runId: string;
	readonly processes: readonly RunProcess[];
}

/** A run that is just ending still clears up after its supervisor's socket is gone. */
const SETTLE_MS = 1_000;

/**
 * Runs that were started from this home, have processes, and no supervisor: seen twice, with a pause in which a run could
 * end by itself.
 */
export async function findLeftovers(): Promise<Leftover[]> {
	const first = await unwatched();
	if (first.length === 0) return [];
	await sleep(SETTLE_MS);
	const known = new Set(first.map(({ runId }) => runId));
	return (await unwatched()).filter(({ runId }) => known.has(runId));
}

/** Looks once more before it kills; returns how many processes it has ended. */
export async function endLeftovers(leftovers: readonly Leftover[]): Promise<number> {
	const still = new Set((await unwatched()).map(({ runId }) => runId));
	const doomed = leftovers.filter(({ runId }) => still.has(runId));
	const ended = await Promise.all(doomed.map(({ runId }) => stopOrphans(runId, undefined, 0)));
	return ended.flat().length;
}

async function unwatched(): Promise<Leftover[]> {
	const runs = new Map<string, { readonly processes: RunProcess[]; readonly sockets: Set<string> }>();
	const processes = (await allRunProcesses()).filter(({ home }) => home === process.env.HOME);
	for (const { runId, temporary, pid, command } of processes) {
		const run = runs.get(runId) ?? { processes: [], sockets: new Set([socketPathOf(runId)]) };
		run.processes.push({ pid, command });
		if (temporary) run.sockets.add(socketPathOf(runId, temporary));
		runs.set(runId, run);
	}
	const checked = await Promise.all(
		[...runs].map(async ([runId, { processes, sockets }]) => {
			const answers = await Promise.all([...sockets].map((socket) => presenceOf(runId, socket)));
			// A doubt kills nothing.
			return answers.every((presence) => presence === "absent") ? [{ runId, processes }] : [];
		}),
	);
	return checked.flat();
}
