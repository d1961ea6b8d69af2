import { chmodSync, existsSync, linkSync, mkdirSync, readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { branchOf, type ChangedFile, type Changes, changesOf, noChanges } from "../domain/changes.ts";
import { messageOf } from "../domain/result.ts";
import { statOf } from "./fingerprint.ts";
import { inOwn, inProject, type Repository } from "./git.ts";
import { projectOf } from "./layers.ts";
import { withMounts } from "./namespace.ts";
import { projectLayerOf } from "./plan.ts";
import { outputOf, pathsIn } from "./program.ts";
import { type Snapshot, takeSnapshot } from "./snapshot.ts";
import { readUpper, type Upper } from "./upper.ts";

/** Which run it was, for the messages of commits. */
export interface CarriedRun {
	readonly runId: string;
	readonly label: string;
}

/**
 * Puts what a run has changed in its layer on a branch of the project's repository. Nothing else of the person's changes: no
 * file, neither index nor HEAD. Never rejects; what cannot be put on a branch stays in the layer, and the reason is told.
 */
export async function carryBack(
	run: CarriedRun,
	runDirectory: string,
	taking: Promise<Snapshot | undefined> | undefined,
): Promise<Changes> {
	const layer = projectLayerOf(runDirectory);
	const up = join(layer, "up");
	const project = projectOf(layer);
	if (project === undefined || !existsSync(up) || readdirSync(up).length === 0) return noChanges();
	try {
		const upper = readUpper(up, project);
		if (upper.written.length + upper.deleted.length + upper.shining.length === 0) return noChanges(0, upper.leftOut);
		const snapshot = await (taking ?? takeSnapshot(project, runDirectory));
		if (!snapshot) return filesOf(upper, project, up);
		return await toBranch(run, snapshot, upper, layer);
	} catch (error) {
		return changesOf({ kind: "stuck", directory: up, why: messageOf(error) }, [], { ignored: 0, leftOut: [] });
	}
}

/** Without a repository, and so without knowing lines: the files themselves. */
function filesOf({ written, deleted, leftOut }: Upper, project: string, up: string): Changes {
	const unknown = { added: undefined, removed: undefined };
	const files: ChangedFile[] = [
		...written.map((path) => ({
			path,
			status: existsSync(join(project, path)) ? ("modified" as const) : ("added" as const),
			...unknown,
		})),
		...deleted.map((path) => ({ path, status: "deleted" as const, ...unknown })),
	].sort((one, other) => (one.path < other.path ? -1 : 1));
	return files.length === 0
		? noChanges(0, leftOut)
		: changesOf({ kind: "layer", directory: up }, files, { ignored: 0, leftOut });
}

async function toBranch(run: CarriedRun, snapshot: Snapshot, upper: Upper, layer: string): Promise<Changes> {
	const { repository } = snapshot;
	const known = await knownPaths(repository);
	const chosen = await choose(snapshot, upper, layer, known);
	const { removed, written, ignored, leftOut } = chosen;
	if (removed.length > 0) {
		await inOwn(repository, ["update-index", "--force-remove", "-z", "--stdin"], { input: removed });
	}
	await inOwn(repository, ["update-index", "--add", "--replace", "-z", "--stdin"], {
		input: written,
		workTree: join(layer, "up"),
	});
	const tree = (await inOwn(repository, ["write-tree", "--missing-ok"])).trim();
	if (tree === snapshot.tree) return noChanges(ignored, leftOut);
	const files = await compare(repository, snapshot.tree, tree);
	const { base, commit } = await makeCommits(run, snapshot, tree);
	handOver(repository);
	const name = branchOf(run.runId);
	const at = await makeBranch(repository, name, commit);
	const raced = racedIn([...written, ...upper.deleted], snapshot, layer);
	return changesOf({ kind: "branch", name, commit: at, base }, files, { ignored, leftOut, raced });
}

/** What was read of these may not be what the run has seen: its layer is older than the last change of the project's file. */
function racedIn(paths: readonly string[], { repository, takenAt }: Snapshot, layer: string): readonly string[] {
	const since = statOf(join(layer, "at"))?.mtimeMs ?? 0;
	return paths.filter((path) => {
		const changedAt = statOf(join(repository.root, path))?.ctimeMs ?? 0;
		return changedAt >= since && changedAt <= takenAt;
	});
}

/** Another process may have done the same for a run whose supervisor is gone: then its branch counts. */
async function makeBranch({ root }: Repository, name: string, commit: string): Promise<string> {
	const ref = `refs/heads/${name}`;
	const asked = ["rev-parse", "--quiet", "--verify", ref];
	const existing = (await inProject(root, asked, { allowed: [1] })).trim();
	if (existing !== "") return existing;
	await inProject(root, ["update-ref", ref, commit, ""]);
	return commit;
}

/** What the snapshot has, and which of it are other repositories. */
async function knownPaths(repository: Repository) {
	const entries = pathsIn(await inOwn(repository, ["ls-files", "--stage", "-z"]));
	const parsed = entries.map((each) => ({ mode: each.slice(0, 6), path: each.slice(each.indexOf("\t") + 1) }));
	return {
		files: parsed.filter(({ mode }) => mode !== "160000").map(({ path }) => path),
		repositories: parsed.filter(({ mode }) => mode === "160000").map(({ path }) => path),
	};
}

async function choose(
	{ repository }: Snapshot,
	upper: Upper,
	layer: string,
	known: { readonly files: readonly string[]; readonly repositories: readonly string[] },
) {
	const isForeign = (path: string) => known.repositories.some((each) => path === each || path.startsWith(`${each}/`));
	const here = (paths: readonly string[]) => paths.filter((path) => !isForeign(path));
	const foreign = [...upper.written, ...upper.deleted].filter(isForeign);
	const remade = await remadeDirectories(upper, layer);
	const gone = new Set(upper.deleted);
	const kept = new Set(upper.written);
	const isGone = (path: string) => ancestors(path).some((each) => gone.has(each) || remade.has(each)) || gone.has(path);
	const removed = known.files.filter((path) => !kept.has(path) && isGone(path));
	const mine = here(upper.written);
	const tracked = new Set(known.files);
	const above = new Set(known.files.flatMap(ancestors));
	const ignored = new Set(
		await ignoredOf(
			repository,
			mine.filter((path) => !tracked.has(path)),
			layer,
		),
	);
	const lost = here(upper.deleted).filter((path) => !tracked.has(path) && !above.has(path));
	return {
		removed,
		written: mine.filter((path) => !ignored.has(path)),
		ignored: ignored.size + lost.length,
		leftOut: [...upper.leftOut, ...foreign],
	};
}

/** The directories above a path, the project itself ("") included. */
function ancestors(path: string): readonly string[] {
	const parts = path.split("/").slice(0, -1);
	return ["", ...parts.map((_part, index) => parts.slice(0, index + 1).join("/"))];
}

/** Directories that were removed and made again: what the project has in them does not show through. */
async function remadeDirectories({ shining }: Upper, layer: string): Promise<ReadonlySet<string>> {
	const visible = new Set(
		await visibleOf(
			shining.map(({ path }) => path),
			layer,
		),
	);
	return new Set(shining.flatMap(({ directory, path }) => (visible.has(path) ? [] : [directory])));
}

/** Prints those of the paths on stdin that there are, also links that lead nowhere. */
const PRINT_EXISTING =
	'xargs -0 sh -c \'for path; do if [ -e "$path" ] || [ -L "$path" ]; then printf "%s\\0" "$path"; fi; done\' sh';

/** Which of these paths there are where the layer and the project are put together. */
async function visibleOf(paths: readonly string[], layer: string): Promise<readonly string[]> {
	if (paths.length === 0) return [];
	const input = paths.map((path) => `./${path}`);
	const found = await outputOf(together(layer, ["sh", "-c", PRINT_EXISTING]), { input });
	return pathsIn(found).map((path) => path.slice(2));
}

const together = (layer: string, program: readonly string[]) =>
	withMounts([{ directory: layer }], "read", program, join(layer, "mnt"));

async function ignoredOf(repository: Repository, paths: readonly string[], layer: string): Promise<readonly string[]> {
	if (paths.length === 0) return [];
	const output = await inOwn(repository, ["check-ignore", "-z", "--stdin"], {
		input: paths,
		workTree: join(layer, "mnt"),
		through: (git) => together(layer, git),
		allowed: [1],
	});
	return pathsIn(output);
}

async function makeCommits({ runId, label }: CarriedRun, { repository, tree: before }: Snapshot, tree: string) {
	const { head } = repository;
	const commit = async (of: string, parent: string | undefined, message: string) =>
		(
			await inOwn(repository, ["commit-tree", of, ...(parent === undefined ? [] : ["-p", parent]), "-m", message])
		).trim();
	const base =
		head?.tree === before
			? head.commit
			: await commit(before, head?.commit, `Working tree when sub-agent run ${runId} started`);
	return { base, commit: await commit(tree, base, `${label.replace(/\s+/g, " ")}: sub-agent run ${runId}`) };
}

/** Gives the repository the objects that it does not have. Their names are their content, so none is ever replaced. */
function handOver({ own, objects }: Repository): void {
	for (const part of readdirSync(join(own, "objects")).filter((name) => /^[0-9a-f]{2}$/.test(name))) {
		mkdirSync(join(objects, part), { recursive: true });
		for (const name of readdirSync(join(own, "objects", part))) {
			const from = join(own, "objects", part, name);
			chmodSync(from, 0o444);
			utimesSync(from, new Date(), new Date()); // git removes old objects that nothing names
			try {
				linkSync(from, join(objects, part, name));
			} catch (error) {
				if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
			}
		}
	}
}

const STATUS: Readonly<Record<string, ChangedFile["status"]>> = { A: "added", D: "deleted" };

async function compare(repository: Repository, before: string, after: string): Promise<readonly ChangedFile[]> {
	const options = ["--raw", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv"];
	const output = await inOwn(repository, ["diff-tree", "-r", "-z", ...options, before, after]);
	const status = new Map<string, ChangedFile["status"]>();
	const files: ChangedFile[] = [];
	const parts = output.split("\0");
	for (let at = 0; at < parts.length; at++) {
		const part = parts[at] ?? "";
		if (part.startsWith(":")) status.set(parts[++at] ?? "", STATUS[part.at(-1) ?? ""] ?? "modified");
		else if (part !== "") files.push(fileOf(part, status));
	}
	return files;
}

function fileOf(line: string, status: ReadonlyMap<string, ChangedFile["status"]>): ChangedFile {
	const [added = "-", removed = "-", ...rest] = line.split("\t");
	const path = rest.join("\t");
	const count = (text: string) => (text === "-" ? undefined : Number(text));
	return { path, status: status.get(path) ?? "modified", added: count(added), removed: count(removed) };
}
