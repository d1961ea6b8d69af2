/** What a run with a tree of its own has changed, and where that is. */
export interface Changes {
	readonly at: ChangesPlace;
	/** The first ones, by path; `count` is how many there are. */
	readonly files: readonly ChangedFile[];
	readonly count: number;
	/** Lines, over all files. */
	readonly added: number;
	readonly removed: number;
	/** Ignored files that were written or deleted: they are not carried back. */
	readonly ignored: number;
	/** Paths that cannot be carried back: inside of other repositories, or neither file nor link. */
	readonly leftOut: readonly string[];
	/** Of its files, those that somebody else changed after the run began and before that state was written down: never applied. */
	readonly raced: readonly string[];
	/** What of it the run put into the project at its end; undefined where it was not to. */
	readonly application: Application | undefined;
}

/** Whether changes only come back, or are put into the project when the run has completed. Strictest first. */
export const CHANGES_POLICIES = ["branch", "apply"] as const;
export type ChangesPolicy = (typeof CHANGES_POLICIES)[number];

/** What became of the files that a run changed. */
export interface Application {
	readonly applied: readonly string[];
	/** Changed by somebody since the run began: they stay as they are. */
	readonly conflicts: readonly string[];
	/** Never put into a project without a person who looks at them. */
	readonly held: readonly string[];
	/** Why nothing could be applied. */
	readonly failure?: string;
}

export type ChangesPlace =
	| { readonly kind: "nowhere" }
	/** `base` is the commit of the state that the run started from. */
	| { readonly kind: "branch"; readonly name: string; readonly commit: string; readonly base: string }
	/** The project has no repository: the files are in this directory. */
	| { readonly kind: "layer"; readonly directory: string }
	/** They could not be put on a branch, and are in this directory. */
	| { readonly kind: "stuck"; readonly directory: string; readonly why: string };

export interface ChangedFile {
	readonly path: string;
	readonly status: "added" | "modified" | "deleted";
	/** Lines; undefined where that is not known, as for binary files. */
	readonly added: number | undefined;
	readonly removed: number | undefined;
}

/** The branch of a run's changes. */
export const branchOf = (runId: string): string => `subagents/${runId}`;

export const noChanges = (ignored = 0, leftOut: readonly string[] = []): Changes => ({
	at: { kind: "nowhere" },
	...{ files: [], count: 0, added: 0, removed: 0, ignored, leftOut, raced: [], application: undefined },
});

const MAX_FILES = 1_000;

export function changesOf(
	at: ChangesPlace,
	files: readonly ChangedFile[],
	rest: Pick<Changes, "ignored" | "leftOut"> & Partial<Pick<Changes, "raced">>,
): Changes {
	const sum = (of: (file: ChangedFile) => number | undefined) => files.reduce((all, each) => all + (of(each) ?? 0), 0);
	const { ignored, leftOut, raced = [] } = rest;
	return {
		at,
		files: files.slice(0, MAX_FILES),
		count: files.length,
		added: sum(({ added }) => added),
		removed: sum(({ removed }) => removed),
		...{ ignored, leftOut: leftOut.slice(0, MAX_FILES), raced, application: undefined },
	};
}
