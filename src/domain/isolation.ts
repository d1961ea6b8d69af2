/** What a run's processes are kept apart from, loosest first. */
export const ISOLATIONS = ["none", "pid-namespace", "worktree"] as const;
export type IsolationLevel = (typeof ISOLATIONS)[number];

export const isLooser = (one: IsolationLevel, other: IsolationLevel): boolean =>
	ISOLATIONS.indexOf(one) < ISOLATIONS.indexOf(other);

/** Whoever asks for more gets it. */
export const strictest = (one: IsolationLevel, other: IsolationLevel): IsolationLevel =>
	isLooser(one, other) ? other : one;
