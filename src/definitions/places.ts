import { realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import type { DefinitionKind, Scope } from "../domain/definition.ts";
import { isOwn, projectDirectories } from "./ancestors.ts";
import { definitionFiles, isDirectory } from "./definition-files.ts";
import { isInside } from "./read-file.ts";
import { realPath } from "./real-path.ts";

/** A directory that may hold definitions. */
export interface Place {
	readonly kind: DefinitionKind;
	readonly scope: Scope;
	readonly directory: string;
	/** The project's directory, or the agent directory. */
	readonly base: string;
}

export const DIRECTORY_NAMES: Readonly<Record<DefinitionKind, string>> = {
	profile: "agent-profiles",
	preset: "subagents",
	agent: "prompts",
};

/** Where definitions are looked for, in the order in which they win. */
export function placesOf(cwd: string, agentDirectory: string): Place[] {
	const ancestors = projectDirectories(cwd);
	const nearest = (kind: DefinitionKind, counts: (directory: string) => boolean): Place[] => {
		const base = ancestors.find((ancestor) => counts(projectPlace(ancestor, kind)));
		return base === undefined ? [] : [{ kind, scope: "project", directory: projectPlace(base, kind), base }];
	};
	const global = (kind: DefinitionKind): Place => ({
		kind,
		scope: "global",
		directory: join(agentDirectory, DIRECTORY_NAMES[kind]),
		base: agentDirectory,
	});
	const here = realPath(resolve(cwd));
	const own = ancestors.filter((ancestor) => ancestor === here && isDirectory(join(ancestor, "prompts")));
	return [
		...nearest("profile", isDirectory),
		global("profile"),
		// A directory that only holds runs is not one of presets.
		...nearest("preset", (directory) => definitionFiles(directory).files.length > 0),
		global("preset"),
		...nearest("agent", isDirectory),
		...own.map((base): Place => ({ kind: "agent", scope: "project", directory: join(base, "prompts"), base })),
		global("agent"),
	];
}

/** Where a project keeps its definitions of a kind. */
export const projectPlace = (project: string, kind: DefinitionKind): string =>
	join(project, ".pi", DIRECTORY_NAMES[kind]);

/** The real path of a place, or why nothing is read there; undefined where there is nothing. */
export function realPlace(place: Place): { readonly path: string } | { readonly refusal: string } | undefined {
	try {
		const path = realpathSync.native(place.directory);
		if (place.scope === "global") return { path };
		if (!isInside(realpathSync.native(place.base), path)) return { refusal: "is a link that leaves the project" };
		return isOwn(path) ? { path } : { refusal: "belongs to another user" };
	} catch {
		return undefined;
	}
}
