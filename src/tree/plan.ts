import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";
import { err, ok, type Result } from "../domain/result.ts";

/** One directory that a run sees as it is, and whose changes go to a layer of the run. */
export interface Layer {
	/** The real path of the directory. */
	readonly at: string;
	/** Holds `up` (what was changed), `work` (the kernel's), `mnt` (where both are put together), `lower` (a link to `at`) and `at` (the path). */
	readonly directory: string;
}

/** What a run with a tree of its own can write to. All but `project` is thrown away. */
export interface TreePlan {
	readonly project: Layer;
	readonly others: readonly Layer[];
	/** Where pi keeps its settings and credentials. */
	readonly agentDirectory: string;
}

/** Below a run's directory. */
export const layersOf = (runDirectory: string): string => join(runDirectory, "layers");
export const projectLayerOf = (runDirectory: string): string => join(layersOf(runDirectory), "project");

export const isWithin = (path: string, directory: string): boolean =>
	path === directory || path.startsWith(directory === sep ? sep : directory + sep);

/** Which directories get a layer; an error where the project cannot have one. Reads, and changes nothing. */
export function planTree(cwd: string, runDirectory: string): Result<TreePlan> {
	const root = projectRoot(realpathSync(cwd));
	const home = realOf(homedir());
	if (root === sep) return err("the project is the root directory");
	if (root === home) return err(`the project is your home directory, ${home}`);
	if (isWithin(home, root)) return err(`the project, ${root}, holds your home directory`);
	const agentDirectory = realOf(agentDirectoryOf(process.env));
	const layers = layersOf(runDirectory);
	const project: Layer = { at: root, directory: projectLayerOf(runDirectory) };
	// What pi writes beside its settings must not be among the project's changes, wherever it is.
	const agentIsHome = isWithin(agentDirectory, home) && !(isWithin(agentDirectory, root) && isWithin(root, home));
	const git = gitDirectoryOf(root);
	const gitIsCovered = git === undefined || isWithin(git, root) || isWithin(git, home);
	return ok({
		project,
		others: [
			{ at: home, directory: join(layers, "home") },
			...(agentIsHome ? [] : [{ at: agentDirectory, directory: join(layers, "agent") }]),
			...(gitIsCovered ? [] : [{ at: git, directory: join(layers, "git") }]),
		],
		agentDirectory,
	});
}

/** The layer that holds what the run wrote to a path: the innermost one. */
export function layerAt({ project, others }: TreePlan, path: string): Layer | undefined {
	return [project, ...others]
		.filter(({ at }) => isWithin(path, at))
		.sort((one, other) => other.at.length - one.at.length)[0];
}

/** The repository that a directory is in, as git finds it, else the directory itself. Nothing of the project is run for this. */
function projectRoot(cwd: string): string {
	for (let directory = cwd; ; directory = dirname(directory)) {
		if (existsSync(join(directory, ".git"))) return directory;
		if (directory === dirname(directory)) return cwd;
	}
}

/**
 * Where a repository keeps its objects and branches; undefined where there is none. A linked worktree and a submodule have a
 * file `.git` that names another place.
 */
function gitDirectoryOf(root: string): string | undefined {
	const path = join(root, ".git");
	try {
		if (statSync(path).isDirectory()) return realpathSync(path);
		const named = /^gitdir: (.+?)\n?$/.exec(readFileSync(path, "utf8"))?.[1];
		if (named === undefined) return undefined;
		const directory = realpathSync(resolve(root, named));
		const common = join(directory, "commondir");
		return existsSync(common) ? realpathSync(resolve(directory, readFileSync(common, "utf8").trim())) : directory;
	} catch {
		return undefined;
	}
}

/** As pi finds it. */
function agentDirectoryOf({ PI_CODING_AGENT_DIR: given }: NodeJS.ProcessEnv): string {
	if (given === undefined || given === "") return join(homedir(), ".pi", "agent");
	const path = given.replace(/^~(?=\/|$)/, homedir());
	return isAbsolute(path) ? path : resolve(path);
}

/** The real path, also of what is not there yet. */
export function realOf(path: string): string {
	try {
		return realpathSync(path);
	} catch {
		const parent = dirname(path);
		return parent === path ? path : join(realOf(parent), path.slice(parent === sep ? 1 : parent.length + 1));
	}
}
