/**
 * How many sub-agents of a session run at the same time, over all of its calls: a script, or a model that writes several
 * calls in one message, must not start more. Calls that wait take turns, so that a long one does not hold up a short one.
 */
export interface Turns {
	/** The tasks of one call, in order, with the limit that holds for that call. */
	join(limit: number): Line;
}

export interface Line {
	/** Resolves when the task's turn has come, with the function that ends it; at once, and without one, once stopped. */
	turn(stop: AbortSignal): Promise<() => void>;
}

interface Waiting {
	readonly limit: number;
	readonly tasks: Set<() => void>;
}

export function createTurns(): Turns {
	let running = 0;
	/** Calls with tasks that wait; the first one is next. */
	const lines: Waiting[] = [];

	const startNext = () => {
		for (const line of lines) {
			const [start] = line.tasks;
			if (!start || running >= line.limit) continue;
			line.tasks.delete(start);
			lines.splice(lines.indexOf(line), 1);
			if (line.tasks.size > 0) lines.push(line);
			running++;
			start();
			return startNext();
		}
	};
	const end = () => {
		running--;
		startNext();
	};
	return {
		join(limit) {
			const line: Waiting = { limit, tasks: new Set() };
			return {
				turn: (stop) =>
					new Promise((resolve) => {
						const leave = () => {
							line.tasks.delete(start);
							resolve(() => {});
						};
						const start = () => {
							stop.removeEventListener("abort", leave);
							resolve(once(end));
						};
						if (stop.aborted) return leave();
						stop.addEventListener("abort", leave, { once: true });
						line.tasks.add(start);
						if (!lines.includes(line)) lines.push(line);
						startNext();
					}),
			};
		},
	};
}

function once(action: () => void): () => void {
	let done = false;
	return () => {
		if (done) return;
		done = true;
		action();
	};
}
