import type { Changes } from "../domain/changes.ts";
import type { RunEvent } from "../domain/event.ts";
import { messageOf } from "../domain/result.ts";
import type { Outcome } from "../domain/run-result.ts";
import type { RunSpec } from "../domain/spec.ts";
import { applyChanges } from "./apply.ts";
import { carryBack } from "./carry-back.ts";
import { keepTokens } from "./credentials.ts";
import { clearLayers } from "./layers.ts";
import { planTree } from "./plan.ts";
import { type Snapshot, takeSnapshot } from "./snapshot.ts";

/** The tree of a run that may have one of its own. */
export interface OwnTree {
	observe(event: RunEvent): void;
	/** Brings back what the run changed. To be called when none of its processes is left. Undefined where it has no tree. */
	end(provider: string | undefined, outcome: Outcome["kind"]): Promise<Changes | undefined>;
}

/** Of pi's own. */
const READ_ONLY_TOOLS: readonly string[] = ["read", "grep", "find", "ls"];

export const NO_TREE: OwnTree = { observe() {}, end: async () => undefined };

/**
 * What the project is when the run starts is written down when the run first calls a tool that can change something: until
 * then it sees every change of the person's, and a run that only reads costs nothing.
 */
export function ownTree(spec: RunSpec, runDirectory: string): OwnTree {
	if (spec.isolation !== "worktree") return NO_TREE;
	const startedAt = Date.now();
	let taking: Promise<Snapshot | undefined> | undefined;
	return {
		observe(event) {
			if (taking || event.type !== "tool-started" || READ_ONLY_TOOLS.includes(event.name)) return;
			const tree = planTree(spec.cwd, runDirectory);
			if (!tree.ok) return;
			taking = takeSnapshot(tree.value.project.at, runDirectory);
			taking.catch(() => {}); // told when the changes are brought back
		},
		async end(provider, outcome) {
			const changes = await carryBack(spec, runDirectory, taking);
			const mayApply = spec.changes === "apply" && outcome === "completed";
			const applied = mayApply ? await withApplication(changes, startedAt, runDirectory) : changes;
			await tidy(spec, runDirectory, provider, changes);
			return applied;
		},
	};
}

/** The same for a run whose supervisor is gone: it has not completed, so nothing is applied. */
export async function endTree(
	spec: RunSpec,
	runDirectory: string,
	provider: string | undefined,
): Promise<Changes | undefined> {
	if (spec.isolation !== "worktree") return undefined;
	const changes = await carryBack(spec, runDirectory, undefined);
	await tidy(spec, runDirectory, provider, changes);
	return changes;
}

async function withApplication(changes: Changes, startedAt: number, runDirectory: string): Promise<Changes> {
	if (changes.at.kind !== "branch" && changes.at.kind !== "layer") return changes;
	const applied = await applyChanges({ startedAt, changes }, runDirectory);
	const nothing = { applied: [], conflicts: [], held: [] };
	return { ...changes, application: applied.ok ? applied.value : { ...nothing, failure: applied.error } };
}

async function tidy(
	spec: RunSpec,
	runDirectory: string,
	provider: string | undefined,
	changes: Changes,
): Promise<void> {
	try {
		const tree = planTree(spec.cwd, runDirectory);
		if (tree.ok && provider !== undefined) await keepTokens(tree.value, provider);
	} catch (error) {
		process.emitWarning(messageOf(error));
	}
	await clearLayers(runDirectory, changes.at.kind === "nowhere" ? "nothing" : "project");
}
