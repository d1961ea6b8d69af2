import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { socketPathOf } from "./protocol.ts";
import { createLookout, type Lookout, type RunProcess } from "./run-processes.ts";

const PASS_GAP_MS = 20;
const MAX_SWEEP_MS = 2_000;

/** A pi that can be waited for. */
export interface Pi {
	signal(signal: NodeJS.Signals): void;
	/** Resolves to whether pi has ended within the time. */
	endsWithin(ms: number): Promise<boolean>;
}

/**
 * Ends pi. SIGTERM goes to pi alone, because only pi can end the process groups of its bash tool; what else carries the
 * run's marker is for `sweep`, once pi is gone.
 */
export async function stopPi(pi: Pi, graceMs: number): Promise<void> {
	pi.signal("SIGTERM");
	if (!(await pi.endsWithin(graceMs))) pi.signal("SIGKILL");
}

/**
 * Kills what is left of a run and nothing else, until two passes in a row find nothing: a process may fork while we look.
 * Returns what it found.
 */
export async function sweep(look: Lookout): Promise<RunProcess[]> {
	const found = new Map<number, RunProcess>();
	const deadline = performance.now() + MAX_SWEEP_MS;
	for (let empty = 0; empty < 2 && performance.now() < deadline; ) {
		const alive = await tried(look);
		for (const each of alive ?? []) {
			found.set(each.pid, each);
			kill(each.pid, "SIGKILL");
		}
		empty = alive?.length === 0 ? empty + 1 : 0;
		if (empty === 0) await sleep(PASS_GAP_MS);
	}
	return [...found.values()];
}

/** Undefined where nobody could look, for one because too many files are open: that says nothing about the run. */
const tried = (look: Lookout): Promise<RunProcess[] | undefined> => look().catch(() => undefined);

export function kill(pid: number, signal: NodeJS.Signals): void {
	try {
		process.kill(pid, signal);
	} catch {
		// already gone
	}
}

/**
 * The same for a run whose supervisor is gone. The pid may have been given to somebody else since: it is signalled only
 * while it carries the run's marker.
 */
export async function stopOrphans(
	runId: string,
	piPid: number | undefined,
	graceMs: number,
	socket = socketPathOf(runId),
): Promise<RunProcess[]> {
	const look = createLookout(runId);
	const isAlive = async () => (await tried(look))?.some(({ pid }) => pid === piPid) ?? true;
	if (piPid !== undefined && (await isAlive())) {
		kill(piPid, "SIGTERM");
		const deadline = performance.now() + graceMs;
		while (performance.now() < deadline && (await isAlive())) await sleep(PASS_GAP_MS);
	}
	if (process.platform !== "win32") rmSync(socket, { force: true }); // nobody else takes it away now
	return await sweep(look);
}
