import { readResult, readSpec } from "./follow.ts";
import { findRun, isOurs } from "./watch.ts";

/**
 * Ends what a run has left behind when all who watched over it died together. One whose supervisor answers, or has seen
 * to it before it ended, is left alone.
 */
export async function endOrphans(runId: string, directory: string): Promise<void> {
	const socket = (await readSpec(directory))?.socket;
	if (socket === undefined || !isOurs({ runId, directory, socket })) return;
	if ((await readResult(directory)) !== undefined) return;
	const found = await findRun({ runId, directory, socket });
	if (found.kind === "alive") found.control.close();
}
