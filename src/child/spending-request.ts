import type { Amounts, UsedUp } from "../domain/budget.ts";
import type { SpendingAnswer, SpendingRequest } from "./protocol.ts";

const MAX_INTERVAL_MS = 2 ** 31 - 1;

/** Tells the supervisor what the run has used, and learns whether the session's budget is used up. */
export interface SpendingRequests {
	spend(used: Amounts): Promise<UsedUp | undefined>;
	answered(answer: SpendingAnswer): void;
}

export function createSpendingRequests(ask: (request: SpendingRequest) => void): SpendingRequests {
	let last = 0;
	let settle = (_answer: UsedUp | undefined) => {};
	return {
		async spend(used) {
			const id = ++last;
			const waits = setInterval(() => {}, MAX_INTERVAL_MS); // nothing else may keep this process alive meanwhile
			const answer = await new Promise<UsedUp | undefined>((resolve) => {
				settle = resolve;
				ask({ id, used });
			});
			clearInterval(waits);
			return answer;
		},
		answered({ id, usedUp }) {
			if (id === last) settle(usedUp ?? undefined);
		},
	};
}
