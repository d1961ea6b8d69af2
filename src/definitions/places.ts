import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import {
	type DefinitionKind,
	type DefinitionSource,
	FOREIGN_SOURCES,
	type ForeignSource,
	type Scope,
} from "../domain/definition.ts";
import { isOwn, projectDirectories } from "./ancestors.ts";
import { definitionFiles, isDirectory } from "./definition-files.ts";
import { isInside } from "./read-file.ts";
import { realPath } from "./real-path.ts";

/** A directory that may hold definitions. */
export interface Place {
	readonly kind: DefinitionSource;
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
export function placesOf(
	cwd: string,
	agentDirectory: string,
	sources: readonly ForeignSource[] = FOREIGN_SOURCES,
): Place[] {
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
		...FOREIGN_SOURCES.filter((source) => sources.includes(source)).flatMap((source) =>
			foreignPlaces(source, ancestors, agentDirectory),
		),
	];
}

/** Where other programs keep their agents: in a project, and below the home directory. */
const FOREIGN_DIRECTORIES: Readonly<
	Record<ForeignSource, { readonly project: readonly string[]; readonly home: readonly string[] }>
> = {
	pi: { project: [".pi/agents"], home: [] }, // the global one is in the agent directory
	agents: { project: [".agents/agents"], home: [".agents/agents"] },
	claude: { project: [".claude/agents"], home: [".claude/agents"] },
	opencode: {
		project: [".opencode/agent", ".opencode/agents"],
		home: [".config/opencode/agent", ".config/opencode/agents"],
	},
};

function foreignPlaces(kind: ForeignSource, ancestors: readonly string[], agentDirectory: string): Place[] {
	const { project, home } = FOREIGN_DIRECTORIES[kind];
	const base = ancestors.find((ancestor) => project.some((path) => isDirectory(join(ancestor, path))));
	const inProject = base === undefined ? [] : project.map((path) => ({ path: join(base, path), base }));
	const global = [
		...(kind === "pi" ? [{ path: join(agentDirectory, "agents"), base: agentDirectory }] : []),
		...home.map((path) => ({ path: join(homedir(), path), base: homedir() })),
	];
	return [
		...inProject.map(({ path, base: owner }): Place => ({ kind, scope: "project", directory: path, base: owner })),
		...global.map(({ path, base: owner }): Place => ({ kind, scope: "global", directory: path, base: owner })),
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
