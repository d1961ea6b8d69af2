import { createHash } from "node:crypto";
import { join } from "node:path";
import { type Amounts, describeUse, reachedLimit } from "../domain/budget.ts";
import type { KeptRun } from "../domain/kept-run.ts";
import type { RunSpec } from "../domain/spec.ts";
import { readSpent, totalOf, writeSpent } from "../files/spending-ledger.ts";

export interface SessionLimits {
	readonly maxSessionTokens: number | undefined;
	readonly maxSessionCost: number | undefined;
}

/** The budget that all runs of a session share, and where they note what they use; undefined where there is no limit. */
export function sessionBudgetOf(
	{ maxSessionTokens, maxSessionCost }: SessionLimits,
	sessionId: string,
	directory: string,
): RunSpec["sessionBudget"] {
	if (maxSessionTokens === undefined && maxSessionCost === undefined) return undefined;
	return {
		limit: { tokens: maxSessionTokens ?? 0, cost: maxSessionCost ?? 0, turns: 0 },
		ledger: ledgerOf("spending", sessionId, directory),
	};
}

/** Where the runs of a session note something for each other. */
export const ledgerOf = (what: "spending" | "writes", sessionId: string, directory: string): string =>
	join(directory, what, createHash("sha256").update(sessionId).digest("hex").slice(0, 16));

/** Why no run may start any more; undefined where one may. */
export function spentRefusal(budget: RunSpec["sessionBudget"]): string | undefined {
	const usedUp = budget && reachedLimit(totalOf(readSpent(budget.ledger)), budget.limit, "session");
	return usedUp && `Not started: the session's budget for sub-agents is used up (${describeUse(usedUp)})`;
}

/** Notes a run that is about to start: one that shares what is left must know of it before its supervisor is at work. */
export function noteStart({ runId, lifetime, sessionBudget }: RunSpec): void {
	if (sessionBudget)
		writeSpent(sessionBudget.ledger, runId, { tokens: 0, cost: 0, live: lifetime, reserved: undefined });
}

/**
 * Notes what earlier runs of the session have used, as its entries tell it, for a start after a reboot or a limit that was
 * set later. Runs that are older than the session are those of the session that it was forked from.
 */
export function noteEarlierRuns(
	budget: RunSpec["sessionBudget"],
	runs: readonly KeptRun[],
	sessionSince: number,
): void {
	if (!budget) return;
	const noted = readSpent(budget.ledger);
	for (const { runId, startedAt, progress } of runs) {
		if (progress.kind !== "ended" || startedAt < sessionSince || noted.get(runId)?.live === "no") continue;
		const { totalTokens: tokens, cost } = progress.usage;
		if (tokens > 0) writeSpent(budget.ledger, runId, { tokens, cost: cost.total, live: "no", reserved: undefined });
	}
}

/** What all runs have used of it, and reserved; undefined where there is no limit. */
export const spentOf = (budget: RunSpec["sessionBudget"]): Amounts | undefined =>
	budget && totalOf(readSpent(budget.ledger));
