import { readSpec } from "../run-directory/read.ts";
import { readResult } from "../run-directory/result.ts";
import { endUnwatched, findRun, isOurs } from "./watch.ts";

/**
 * Ends what a run has left behind when all who watched over it died together. One whose supervisor answers, or has seen
 * to it before it ended, is left alone.
 */
export async function endOrphans(runId: string, directory: string): Promise<void> {
	const socket = (await readSpec(directory))?.socket;
	const run = { runId, directory, socket: socket ?? "", distrusted: false };
	if (socket === undefined || !isOurs(run)) return;
	if ((await readResult(directory)) !== undefined) return;
	const found = await findRun(run);
	if (found.kind === "alive") found.control.close();
	if (found.kind === "unwatched") await endUnwatched(run, found.state);
}
