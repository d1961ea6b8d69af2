import { createUpdateBudget } from "./update-budget.ts";

/**
 * How updates of a call are sent: returns the milliseconds to wait where it is too early for one. A terminal draws them and
 * sends nothing to anybody; any other client gets the arguments of the call with each.
 */
export function createUpdates<T>(
	mode: string,
	requests: readonly object[],
	make: () => T,
	send: ((update: T) => void) | undefined,
): () => number {
	const budget = mode === "tui" ? undefined : createUpdateBudget();
	const argumentBytes = budget
		? Buffer.byteLength(JSON.stringify(requests, ["label", "task", "definition", "files", "path"]))
		: 0;
	return () => {
		const update = make();
		const wait = budget?.ask(argumentBytes + Buffer.byteLength(JSON.stringify(update))) ?? 0;
		if (wait === 0) send?.(update);
		return wait;
	};
}
