import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { RunTimes } from "../../domain/attribution.ts";
import { FILES, isRunId } from "../../run-directory/names.ts";
import { readCallTimes } from "./call-times.ts";

/** The other runs of the project whose commands can have run since then: also those of other sessions, and those that have ended. */
export function readSiblings(directory: string, since: number): readonly RunTimes[] {
	const runs = dirname(directory);
	return namesIn(runs)
		.filter((name) => name !== basename(directory) && isRunId(name))
		.map((name) => join(runs, name))
		.filter((sibling) => isRecent(sibling, since))
		.map((sibling) => ({
			runId: basename(sibling),
			label: labelOf(sibling),
			calls: endedBy(readCallTimes(join(sibling, FILES.callTimes)), endOf(sibling)),
		}));
}

function namesIn(directory: string): readonly string[] {
	try {
		return readdirSync(directory);
	} catch {
		return [];
	}
}

/** A run that has not noted anything since may have a command that began before. */
function isRecent(sibling: string, since: number): boolean {
	const times = lstatSync(join(sibling, FILES.callTimes), { throwIfNoEntry: false });
	if (!times || times.size === 0) return false;
	return times.mtimeMs >= since || (endOf(sibling) ?? Number.POSITIVE_INFINITY) >= since;
}

/** When its result was written: nothing of it runs then. */
const endOf = (sibling: string): number | undefined =>
	lstatSync(join(sibling, FILES.result), { throwIfNoEntry: false })?.mtimeMs;

const endedBy = (calls: RunTimes["calls"], end: number | undefined): RunTimes["calls"] =>
	calls.map((call) => (end === undefined ? call : { ...call, to: Math.min(call.to, end) }));

function labelOf(sibling: string): string {
	try {
		const { label } = JSON.parse(readFileSync(join(sibling, FILES.meta), "utf8")) as { label?: unknown };
		return typeof label === "string" ? label : basename(sibling);
	} catch {
		return basename(sibling);
	}
}
