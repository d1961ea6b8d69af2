import { printTable } from "../figures.ts";

/** One promise, what was measured, and whether it was kept. */
export interface Verdict {
	readonly promise: string;
	readonly measured: string;
	readonly kept: boolean;
}

export const atMost = (promise: string, measured: number, limit: number, unit: string): Verdict => ({
	promise: `${promise}: at most ${limit} ${unit}`,
	measured: `${measured.toFixed(measured < 100 ? 1 : 0)} ${unit}`,
	kept: measured <= limit,
});

export function printVerdicts(title: string, verdicts: readonly Verdict[]): void {
	const rows = verdicts.map(({ promise, measured, kept }) => [promise, measured, kept ? "kept" : "BROKEN"]);
	printTable(title, [["promise", "measured", ""], ...rows]);
}
