/** How many runs a session has started: a model that delegates without end is stopped here. */
export interface Budget {
	/** Takes so many runs, or says why not. */
	claim(count: number, max: number): string | undefined;
	left(max: number): number;
	/** For a session that has started so many before. */
	reset(used: number): void;
}

export function createBudget(): Budget {
	let used = 0;
	return {
		claim(count, max) {
			if (used + count > max) {
				return `This session has started ${used} sub-agents and may start ${max} in all (setting subagents.maxRunsPerSession)`;
			}
			used += count;
			return undefined;
		},
		left: (max) => Math.max(0, max - used),
		reset(before) {
			used = before;
		},
	};
}
