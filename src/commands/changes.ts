import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import type { Application } from "../domain/changes.ts";
import type { Result } from "../domain/result.ts";
import type { RunResult } from "../domain/run-result.ts";
import { sanitizeLine } from "../present/sanitize.ts";
import { readResult } from "../run-directory/result.ts";
import { createFleet, type FleetHost } from "../session/fleet.ts";
import type { Undone } from "../tree/apply.ts";
import { tell } from "./profile-host.ts";
import { locate, wholeOf, wordsOf } from "./steer.ts";

/** What can be done with the changes of a run that had a tree of its own. */
export const CHANGE_VERBS = ["diff", "apply", "undo", "discard"] as const;
type Verb = (typeof CHANGE_VERBS)[number];

export const isAboutChanges = (verb: string): verb is Verb => CHANGE_VERBS.some((each) => each === verb);

export async function actOnChanges(args: string, host: FleetHost, context: ExtensionCommandContext): Promise<void> {
	const { verb = "", id = "" } = wordsOf(args);
	const run = await locate(wholeOf(args, id), createFleet(host));
	if (!run.ok) return tell(context, run.error, "error");
	const { runId, directory } = run.value;
	const result = directory === undefined ? undefined : await readResult(directory);
	if (directory === undefined || !result) return tell(context, `Run ${runId} has not ended`, "error");
	if (!isAboutChanges(verb)) return;
	const said = await carryOut(verb, result, directory);
	if (!said.ok) return tell(context, `Run ${runId}: ${said.error}`, "error");
	tell(context, verb === "diff" ? said.value : `Run ${runId}: ${said.value}`, "info");
}

async function carryOut(verb: Verb, result: RunResult, directory: string): Promise<Result<string>> {
	const { applyChanges, diffOf, discardChanges, undoChanges } = await import("../tree/parent-side.ts");
	switch (verb) {
		case "diff":
			return await diffOf(result, directory);
		case "apply":
			return mapped(await applyChanges(result, directory), appliedWords);
		case "undo":
			return mapped(undoChanges(directory), undoneWords);
		case "discard":
			return mapped(await discardChanges(result, directory), () => "its branch and its layer are gone");
	}
}

const mapped = <T>(result: Result<T>, words: (value: T) => string): Result<string> =>
	result.ok ? { ok: true, value: words(result.value) } : result;

const appliedWords = ({ applied, conflicts, held }: Application): string =>
	[
		applied.length === 0 ? "nothing was applied" : `applied ${named(applied)}`,
		...(conflicts.length === 0 ? [] : [`conflicts, left as they are: ${named(conflicts)}`]),
		...(held.length === 0 ? [] : [`never applied, take them from the branch: ${named(held)}`]),
	].join("; ");

const undoneWords = ({ restored, changed }: Undone): string =>
	[
		restored.length === 0 ? "nothing was restored" : `restored ${named(restored)}`,
		...(changed.length === 0 ? [] : [`changed since, left as they are: ${named(changed)}`]),
	].join("; ");

const MAX_NAMED = 20;
function named(paths: readonly string[]): string {
	const rest = paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : "";
	return `${paths.slice(0, MAX_NAMED).map(sanitizeLine).join(", ")}${rest}`;
}
