import { join } from "node:path";
import { cut } from "../domain/messages.ts";
import type { RunResult } from "../domain/run-result.ts";
import { isPrivate } from "../files/private.ts";
import { freeReserve, writeOnce } from "../files/write-once.ts";
import { FILES } from "./names.ts";
import { readJson } from "./read-json.ts";

/** Of an answer for which there is hardly any room. */
const SHORT_CHARS = 8_000;

/**
 * Writes result.json, unless somebody was faster: the supervisor, or whoever finds that there is none any more. On a full
 * disk the reserve makes room; where that is not enough, an answer that is cut is better than none. Returns what went wrong.
 */
export function writeResult(directory: string, result: RunResult): string | undefined {
	const write = (value: RunResult) => writeOnce(directory, FILES.result, JSON.stringify(value));
	const failed = write(result);
	freeReserve(directory);
	if (failed === undefined || write(result) === undefined) return undefined;
	const { outcome } = result;
	const shortened: RunResult = {
		...result,
		text: cut(result.text, SHORT_CHARS),
		outcome: outcome.kind === "completed" ? { ...outcome, text: cut(outcome.text, SHORT_CHARS) } : outcome,
		artifactErrors: [...result.artifactErrors, failed],
	};
	return write(shortened) === undefined ? undefined : failed;
}

/**
 * Leaves the result of a run that has no supervisor, or never had one, where that would have. To be called only when it is
 * sure that none will write any more. What is there already, from the supervisor or from another who found out first,
 * counts: the result that everybody will see is given back.
 */
export async function leaveResult(directory: string, result: RunResult): Promise<RunResult> {
	if (!isPrivate(directory)) return result; // somebody has put another, or a link, in its place
	return writeResult(directory, result) === undefined ? result : ((await readResult(directory)) ?? result);
}

/** Undefined, too, where somebody else has written it: whoever shows a result relies on these. */
export async function readResult(directory: string): Promise<RunResult | undefined> {
	const result = await readJson<Partial<RunResult>>(join(directory, FILES.result));
	const { outcome, exit, usage, runId } = result ?? {};
	const known = outcome?.kind === "completed" || (outcome?.kind === "failed" && outcome.failure?.kind !== undefined);
	const whole = known && exit?.kind !== undefined && usage?.cost !== undefined && runId !== undefined;
	return whole ? (result as RunResult) : undefined;
}
