import { writeResult } from "../child/result-file.ts";
import type { RunResult } from "../domain/state.ts";
import { isPrivate } from "../files/private.ts";
import { readResult } from "./follow.ts";

/**
 * Leaves the result of a run that has no supervisor, or never had one, where that would have. To be called only when it is
 * sure that none will write any more. What is there already, from the supervisor or from another who found out first,
 * counts: the result that everybody will see is given back.
 */
export async function leaveResult(directory: string, result: RunResult): Promise<RunResult> {
	if (!isPrivate(directory)) return result; // somebody has put another, or a link, in its place
	return writeResult(directory, result) === undefined ? result : ((await readResult(directory)) ?? result);
}
