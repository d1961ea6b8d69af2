import type { ReceiptFile } from "./receipt.ts";

/** A call that can have changed files, from before it ran until after it had ended: both cut to whole milliseconds. */
export interface CallTime {
	readonly from: number;
	/** Infinity where it has not ended, or where something that it started may go on. */
	readonly to: number;
	/** The one file that it writes; undefined where it can write any. */
	readonly path: string | undefined;
}

/** When a run's calls ran. */
export interface RunTimes {
	readonly runId: string;
	readonly label: string;
	readonly calls: readonly CallTime[];
}

/** A file that is not what it was when the run began. */
export interface Sighting {
	/** Absolute. */
	readonly path: string;
	readonly change: ReceiptFile["change"];
	/** When it changed: at that time, by its inode; or not later than that, where no inode is left or the inode only moved. */
	readonly when: { readonly kind: "at" | "until"; readonly time: number };
}

/** A kernel stamps files with a clock that may lag so many milliseconds behind. */
export const CLOCK_LAG_MS = 20;

/**
 * Who can have changed a file: the runs with a command at that time. A write or edit call of another run that names the file at
 * that time explains it, and nobody else is put down for it. Empty where the run itself cannot have done it.
 */
export function candidatesFor(
	{ path, when }: Sighting,
	own: RunTimes,
	others: readonly RunTimes[],
	since: number,
): readonly RunTimes[] {
	const isWithin = ({ from, to }: CallTime) =>
		when.kind === "at"
			? from - CLOCK_LAG_MS <= when.time && when.time < to + 1
			: from - CLOCK_LAG_MS <= when.time && to >= since;
	const canHave = ({ calls }: RunTimes) => calls.some((call) => call.path === undefined && isWithin(call));
	if (!canHave(own)) return [];
	const namesIt = ({ calls }: RunTimes) => calls.some((call) => call.path === path && isWithin(call));
	if (when.kind === "at" && others.some(namesIt)) return [];
	return [own, ...others.filter((each) => canHave(each) || namesIt(each))];
}

/** Names of runs; those that share one have their ids too. */
export function namesOf(runs: readonly RunTimes[]): readonly string[] {
	return runs.map(({ label, runId }) =>
		runs.some((other) => other.label === label && other.runId !== runId) ? `${label} (${runId})` : label,
	);
}
