import type { Entry } from "../domain/state.ts";

export interface Todos {
	readonly done: number;
	readonly total: number;
}

const known = new WeakMap<readonly Entry[], Todos>();

/** Where a sub-agent stands with the list it wrote for itself. */
export function todosOf(entries: readonly Entry[]): Todos {
	const before = known.get(entries);
	if (before) return before;
	let total = 0;
	let done = new Set<unknown>();
	for (const { name, args } of callsOf(entries)) {
		if (name === "write_todos" && Array.isArray(args.todos)) {
			total = args.todos.length;
			done = new Set(args.todos.flatMap((todo, index) => (isDone(todo) ? [index] : [])));
		} else if (name === "edit_todos" && args.action === "complete" && Array.isArray(args.indices)) {
			for (const index of args.indices) done.add(index);
		}
	}
	const todos = { done: Math.min(done.size, total), total };
	known.set(entries, todos);
	return todos;
}

function callsOf(entries: readonly Entry[]): { name: string; args: Readonly<Record<string, unknown>> }[] {
	return entries.flatMap((entry) => {
		if (entry.kind !== "message" || entry.message.role !== "assistant") return [];
		return entry.message.content.flatMap((part) =>
			part.type === "toolCall" && part.name.endsWith("_todos") ? [{ name: part.name, args: part.arguments ?? {} }] : [],
		);
	});
}

function isDone(todo: unknown): boolean {
	const { status, done, completed } = (todo ?? {}) as Record<string, unknown>;
	return status === "completed" || status === "done" || done === true || completed === true;
}
