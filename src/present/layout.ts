/** Divides rows among tasks that would like to show so many each: one after the other gets one more. */
export function shareRows(wishes: readonly number[], room: number): number[] {
	const granted = wishes.map(() => 0);
	let left = Math.min(
		room,
		wishes.reduce((sum, wish) => sum + wish, 0),
	);
	while (left > 0) {
		for (const [index, wish] of wishes.entries()) {
			const has = granted[index] ?? 0;
			if (left === 0 || has >= wish) continue;
			granted[index] = has + 1;
			left--;
		}
	}
	return granted;
}

/** A row of a block, for a task or for several that have something in common. */
export type Item<T> =
	| { readonly kind: "task"; readonly task: T }
	| { readonly kind: "group"; readonly state: GroupState; readonly tasks: readonly T[] };

export type GroupState = "running" | "queued" | "done" | "failed" | "stopped";

/** The states that a row can have, in the order in which they are shown. */
export interface Sorted<T> {
	readonly running: readonly T[];
	readonly failed: readonly T[];
	readonly done: readonly T[];
	readonly stopped: readonly T[];
	readonly queued: readonly T[];
}

/**
 * The rows of a block that may have `room` of them. What runs comes first and is the last to be put together in one row;
 * what is done goes first.
 */
export function itemsWithin<T>(sorted: Sorted<T>, room: number): Item<T>[] {
	const each = (tasks: readonly T[]): Item<T>[] => tasks.map((task) => ({ kind: "task", task }));
	const group = (state: GroupState, tasks: readonly T[]): Item<T>[] => {
		if (tasks.length === 1) return each(tasks);
		return tasks.length > 0 ? [{ kind: "group", state, tasks }] : [];
	};
	const queued = sorted.queued.length > 0 ? [{ kind: "group", state: "queued", tasks: sorted.queued } as const] : [];
	const { running, failed, done, stopped } = sorted;
	const attempts: (() => Item<T>[])[] = [
		() => [...each(running), ...each(failed), ...each(done), ...group("stopped", stopped), ...queued],
		() => [...each(running), ...each(failed), ...group("done", done), ...group("stopped", stopped), ...queued],
		() => [...each(running), ...group("failed", failed), ...group("done", done), ...queued],
		() => [...each(running), ...group("failed", failed), ...queued],
		() => [...each(running), ...group("failed", failed)],
		() => each(running),
	];
	for (const attempt of attempts) {
		const items = attempt();
		if (items.length <= room) return items;
	}
	const shown = Math.max(0, room - 1);
	return [...each(running.slice(0, shown)), ...group("running", running.slice(shown))].slice(0, Math.max(0, room));
}
