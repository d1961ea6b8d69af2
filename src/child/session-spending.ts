import { type Amounts, reachedLimit, type UsedUp } from "../domain/budget.ts";
import type { RunSpec } from "../domain/spec.ts";
import { readSpent, type Spent, totalOf, usedBy, writeSpent } from "../files/spending-ledger.ts";

/** What a run adds to what its session has used, and whether that is all that the session may use. */
export interface SessionSpending {
	/** Notes what the run has used. Returns the limit that this, or another run of the session, has reached. */
	spend(used: Amounts): UsedUp | undefined;
	/** From here on nobody watches over the sum: the run gets an equal share of what is left as a limit of its own. */
	parentLeft(): void;
	end(used: Amounts): void;
}

export function createSessionSpending({ runId, sessionBudget, lifetime }: RunSpec): SessionSpending {
	if (!sessionBudget) return { spend: () => undefined, parentLeft() {}, end() {} };
	const { ledger, limit } = sessionBudget;
	let own: Amounts = { tokens: 0, cost: 0, turns: 0 };
	let live: Spent["live"] = lifetime;
	let share: Amounts | undefined;
	const note = () => {
		try {
			writeSpent(ledger, runId, { tokens: own.tokens, cost: own.cost, live, reserved: share });
		} catch {
			// A full disk costs the sum this run's part of it, never the run.
		}
	};
	note();
	return {
		spend(used) {
			own = used;
			note();
			return share ? reachedLimit(own, share, "session") : reachedLimit(totalOf(readSpent(ledger)), limit, "session");
		},
		parentLeft() {
			live = "background";
			note();
			const spent = readSpent(ledger);
			const total = usedBy(spent);
			const others = [...spent.values()].filter((each) => each.live === "background").length;
			const part = (unit: "tokens" | "cost") =>
				limit[unit] === 0 ? 0 : own[unit] + Math.max(0, limit[unit] - total[unit]) / Math.max(1, others);
			// A share of nothing is used up by the next token; 0 would mean that there is no limit.
			share = {
				tokens: Math.floor(part("tokens")) || (limit.tokens && 1),
				cost: part("cost") || (limit.cost && 1e-6),
				turns: 0,
			};
			note();
		},
		end(used) {
			own = used;
			live = "no";
			note();
		},
	};
}
