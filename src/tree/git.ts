import { copyFileSync, existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Invocation } from "../domain/spec.ts";
import { outputOf, type ProgramOptions, pathsIn } from "./program.ts";

/**
 * A repository, and beside it a git directory of ours that reads its objects and has a copy of its index. All that looks at
 * files is done there: it has no hooks, no filters, no file system monitor and no signing, whatever the project's configuration says.
 */
export interface Repository {
	/** The top of the working tree. */
	readonly root: string;
	readonly gitDirectory: string;
	readonly objects: string;
	/** The commit that is checked out, and its tree; undefined where there is none yet. */
	readonly head: { readonly commit: string; readonly tree: string } | undefined;
	/** Ours. */
	readonly own: string;
	/** Settings of the person that say what a file is; none of them names a program. */
	readonly settings: readonly string[];
}

export interface GitOptions extends Pick<ProgramOptions, "input" | "allowed"> {
	readonly workTree?: string;
	/** How git is started where it sees other mounts. */
	readonly through?: (program: readonly string[]) => Invocation;
}

/** git with nothing of the environment that could point it elsewhere. */
function environment(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
	const rest = Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_"));
	return {
		...Object.fromEntries(rest),
		...{ LC_ALL: "C", GIT_TERMINAL_PROMPT: "0", GIT_OPTIONAL_LOCKS: "0", ...more },
	};
}

/** In the project's own repository: only for what neither looks at files nor runs anything of its configuration. */
export const inProject = (root: string, args: readonly string[], options: GitOptions = {}): Promise<string> =>
	outputOf({ command: "git", args: [...HARMLESS, ...args] }, { ...options, cwd: root, env: environment() });

const HARMLESS = ["safe.directory=*", "core.hooksPath=/dev/null", "core.logAllRefUpdates=false"].flatMap((each) => [
	"-c",
	each,
]);

/** In our own git directory. */
export function inOwn(repository: Repository, args: readonly string[], options: GitOptions = {}): Promise<string> {
	const { own, root, settings } = repository;
	const git = [...settings, "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false", ...args];
	const workTree = options.workTree ?? root;
	return outputOf(options.through?.(["git", ...git]) ?? { command: "git", args: git }, {
		...options,
		cwd: options.through ? root : workTree,
		env: environment({
			...{ GIT_DIR: own, GIT_WORK_TREE: workTree, GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" },
			...AUTHOR,
		}),
	});
}

const AUTHOR = Object.fromEntries(
	["AUTHOR", "COMMITTER"].flatMap((who) => [
		[`GIT_${who}_NAME`, "pi-subagents"],
		[`GIT_${who}_EMAIL`, "pi-subagents@localhost"],
	]),
);

const SETTINGS = "^core\\.(autocrlf|eol|safecrlf|filemode|symlinks|ignorecase|excludesfile|precomposeunicode)$";

/** Undefined where the directory is not in a repository. Makes our git directory where it is not there. */
export async function openRepository(root: string, own: string): Promise<Repository | undefined> {
	if (!existsSync(join(root, ".git"))) return undefined;
	const paths = ["--git-dir", ...["objects", "index", "info/exclude"].flatMap((name) => ["--git-path", name])];
	const asked = ["rev-parse", "--path-format=absolute", "--show-object-format", ...paths];
	const said = (await inProject(root, asked)).trimEnd().split("\n");
	const [format = "", gitDirectory = "", objects = "", index = "", exclude = ""] = said;
	const head = (await inProject(root, ["rev-parse", "--quiet", "HEAD^{commit}", "HEAD^{tree}"], { allowed: [1, 128] }))
		.trim()
		.split("\n");
	const [commit, tree] = head;
	const configured = await inProject(root, ["config", "-z", "--get-regexp", SETTINGS], { allowed: [1] });
	const settings = pathsIn(configured).flatMap((each) => ["-c", each.replace("\n", "=")]);
	if (!existsSync(own)) makeOwn(own, { format, objects, index, exclude });
	return {
		...{ root, gitDirectory, objects, own, settings },
		head: commit !== undefined && tree !== undefined ? { commit, tree } : undefined,
	};
}

function makeOwn(own: string, of: { format: string; objects: string; index: string; exclude: string }): void {
	for (const part of ["refs", "info", join("objects", "info")]) mkdirSync(join(own, part), { recursive: true });
	writeFileSync(join(own, "HEAD"), "ref: refs/heads/none\n");
	const extension = of.format === "sha1" ? "" : `[extensions]\n\tobjectFormat = ${of.format}\n`;
	writeFileSync(join(own, "config"), `[core]\n\trepositoryformatversion = 1\n\tbare = false\n${extension}`);
	writeFileSync(join(own, "objects", "info", "alternates"), `${of.objects}\n`);
	if (existsSync(of.exclude)) copyFileSync(of.exclude, join(own, "info", "exclude"));
	if (!existsSync(of.index)) return;
	copyFileSync(of.index, join(own, "index"));
	// git compares the times of files with that of the index: a copy that seems younger would hide changes.
	const { mtimeMs } = statSync(of.index);
	utimesSync(join(own, "index"), Math.floor(mtimeMs / 1_000), Math.floor(mtimeMs / 1_000));
	for (const name of readdirSync(dirname(of.index)).filter((each) => each.startsWith("sharedindex."))) {
		copyFileSync(join(dirname(of.index), name), join(own, name));
	}
}

/** The branches that hold changes of runs. None where there is no repository. */
export async function runBranches(cwd: string): Promise<readonly string[]> {
	const asked = ["for-each-ref", "--format=%(refname:short)", "refs/heads/subagents"];
	const output = await inProject(cwd, asked).catch(() => "");
	return output.split("\n").filter((name) => name !== "");
}
