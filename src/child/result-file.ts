import { cut } from "../domain/messages.ts";
import type { RunResult } from "../domain/state.ts";
import { freeReserve, writeOnce } from "../files/write-once.ts";
import { FILES } from "../run-directory/names.ts";

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
