import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Amounts } from "../domain/budget.ts";

/** What one run of a session has used so far, and whether it goes on: with its parent, without it, or not any more. */
export interface Spent {
	readonly tokens: number;
	readonly cost: number;
	readonly live: "foreground" | "background" | "no";
	/** Up to where it may go on using, whatever the others do. */
	readonly reserved: Pick<Amounts, "tokens" | "cost"> | undefined;
}

/**
 * What all runs of a session have used: a directory with one file per run. A run writes its own file and then adds up all
 * of them, so of two that write at the same time at least the later one sees both.
 */
export function writeSpent(directory: string, runId: string, spent: Spent): void {
	mkdirSync(directory, { recursive: true, mode: 0o700 });
	const draft = join(directory, `.${runId}-${process.pid}`);
	writeFileSync(draft, JSON.stringify(spent), { mode: 0o600 });
	renameSync(draft, join(directory, runId));
}

/** By run; empty where nothing has been spent. */
export function readSpent(directory: string): ReadonlyMap<string, Spent> {
	const spent = new Map<string, Spent>();
	for (const name of namesIn(directory)) {
		try {
			spent.set(name, JSON.parse(readFileSync(join(directory, name), "utf8")) as Spent);
		} catch {
			// no run's file
		}
	}
	return spent;
}

function namesIn(directory: string): string[] {
	try {
		return readdirSync(directory).filter((name) => !name.startsWith("."));
	} catch {
		return []; // nothing has been spent
	}
}

export const usedBy = (spent: ReadonlyMap<string, Spent>): Amounts => sum([...spent.values()]);

/** What is used, or reserved by runs that still go on. */
export const totalOf = (spent: ReadonlyMap<string, Spent>): Amounts =>
	sum(
		[...spent.values()].map(({ tokens, cost, live, reserved }) => ({
			tokens: Math.max(tokens, live === "no" ? 0 : (reserved?.tokens ?? 0)),
			cost: Math.max(cost, live === "no" ? 0 : (reserved?.cost ?? 0)),
		})),
	);

const sum = (amounts: readonly Pick<Amounts, "tokens" | "cost">[]): Amounts => ({
	tokens: amounts.reduce((total, { tokens }) => total + tokens, 0),
	cost: amounts.reduce((total, { cost }) => total + cost, 0),
	turns: 0,
});
