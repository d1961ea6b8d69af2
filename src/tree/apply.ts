import { createHash } from "node:crypto";
import {
	existsSync,
	mkdirSync,
	readFileSync,
	readlinkSync,
	renameSync,
	rmdirSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { socketPathOf } from "../child/protocol.ts";
import { takeTicket } from "../child/slot-tickets.ts";
import type { Application, ChangedFile, Changes } from "../domain/changes.ts";
import { err, messageOf, ok, type Result } from "../domain/result.ts";
import type { RunResult } from "../domain/run-result.ts";
import { fingerprint, gitEntry, put, statOf } from "./fingerprint.ts";
import { inProject } from "./git.ts";
import { clearLayers, projectOf } from "./layers.ts";
import { isWithin, projectLayerOf } from "./plan.ts";
import { pathsIn } from "./program.ts";

type EndedRun = Pick<RunResult, "startedAt" | "changes">;

interface Change {
	readonly path: string;
	readonly kind: "write" | "delete";
	/** Whether the project's file is still what it was when the run began. */
	isAsBefore(): boolean;
}

/** Which files were put into the project, so that this can be undone. Written before the first one is. */
interface AppliedFile {
	readonly path: string;
	/** What is there after it was applied. */
	readonly after: string;
	/** Where what was there before is; undefined where there was nothing. */
	readonly backup: string | undefined;
}

interface Note {
	readonly root: string;
	readonly files: readonly AppliedFile[];
}

const noteOf = (runDirectory: string) => join(runDirectory, "applied.json");
const BACKUPS = "before-apply";

/** Puts what a run changed into the project, file by file, where that is still as it was. */
export async function applyChanges(
	{ startedAt, changes }: EndedRun,
	runDirectory: string,
): Promise<Result<Application>> {
	const layer = projectLayerOf(runDirectory);
	const root = projectOf(layer);
	const up = join(layer, "up");
	if (!changes || changes.at.kind === "nowhere") return err("this run changed nothing in a tree of its own");
	if (root === undefined || !existsSync(up)) return err("its changes were already applied or discarded");
	const turn = await takeTicket(queueOf(root), 1, new AbortController().signal, () => {});
	try {
		const all = await changesIn(changes, root, up, startedAt);
		const held = all.filter(({ path, kind }) => isHeld(path, kind, root, up));
		const open = all.filter((each) => !held.includes(each) && fingerprint(join(root, each.path)) !== goal(each, up));
		const fitting = open.filter((each) => !changes.raced.includes(each.path) && each.isAsBefore());
		note(fitting, root, up, runDirectory);
		const done = [...fitting.filter(isDeletion), ...fitting.filter((each) => !isDeletion(each))].filter((each) =>
			applyOne(each, root, up),
		);
		const conflicts = open.filter((each) => !done.includes(each));
		if (conflicts.length + held.length === 0) await clearLayers(runDirectory, "nothing");
		return ok({ applied: pathsOf(done), conflicts: pathsOf(conflicts), held: pathsOf(held) });
	} catch (error) {
		return err(messageOf(error));
	} finally {
		turn.release();
	}
}

/** Runs that end at the same time come one after the other: else both would find a file as it was. */
const queueOf = (root: string) =>
	join(dirname(socketPathOf("")), "apply", createHash("sha256").update(root).digest("hex").slice(0, 16));

const pathsOf = (changes: readonly Change[]) => changes.map(({ path }) => path).sort();
const isDeletion = ({ kind }: Change) => kind === "delete";
const goal = ({ path, kind }: Change, up: string) => (kind === "delete" ? "missing" : fingerprint(join(up, path)));

async function changesIn(changes: Changes, root: string, up: string, startedAt: number): Promise<readonly Change[]> {
	if (changes.at.kind === "branch") return await changesOnBranch(changes.at, root);
	if (changes.count > changes.files.length) throw new Error(`there are too many of them: copy them from ${up}`);
	// Without a repository only the time tells: that of a file's last change of any kind cannot be set by hand.
	const isAsBefore = ({ path, status }: ChangedFile) => {
		const stat = statOf(join(root, path));
		return status === "added"
			? stat === undefined
			: stat !== undefined && !stat.isDirectory() && stat.ctimeMs < startedAt;
	};
	return changes.files.map((file) => ({
		path: file.path,
		kind: file.status === "deleted" ? "delete" : "write",
		isAsBefore: () => isAsBefore(file),
	}));
}

async function changesOnBranch(
	{ base, commit }: Extract<Changes["at"], { kind: "branch" }>,
	root: string,
): Promise<readonly Change[]> {
	const parts = pathsIn(await inProject(root, ["diff-tree", "-r", "-z", "--raw", "--no-renames", base, commit]));
	return parts.flatMap((part, index): Change[] => {
		const path = parts[index + 1];
		if (!part.startsWith(":") || index % 2 === 1 || path === undefined) return [];
		const [oldMode = "", , oldName = "", , status] = part.slice(1).split(" ");
		const before = status === "A" ? "missing" : `${oldMode} ${oldName}`;
		const algorithm = oldName.length === 64 ? "sha256" : "sha1";
		const isAsBefore = () => {
			const now = gitEntry(join(root, path), algorithm);
			return now === before || (before === "missing" && now === "directory"); // which may be gone when its files are
		};
		return [{ path, kind: status === "D" ? "delete" : "write", isAsBefore }];
	});
}

const CONFIGURATION = /^(?:\.git.*|\.pi|\.claude|\.agents|\.opencode)$/i;

/** What programs read and run, what would be written elsewhere, and links that lead elsewhere. */
function isHeld(path: string, kind: Change["kind"], root: string, up: string): boolean {
	const parts = path.split("/");
	if (parts.some((part) => CONFIGURATION.test(part))) return true;
	const above = parts.slice(0, -1).map((_part, index) => join(root, ...parts.slice(0, index + 1)));
	if (above.some((directory) => statOf(directory)?.isSymbolicLink())) return true;
	if (kind === "delete" || !statOf(join(up, path))?.isSymbolicLink()) return false;
	const target = readlinkSync(join(up, path));
	return isAbsolute(target) || !isWithin(resolve(dirname(join(root, path)), target), root);
}

/** Deletions come before what may take their place. */
function applyOne({ path, kind }: Change, root: string, up: string): boolean {
	const target = join(root, path);
	try {
		if (kind === "write") put(join(up, path), target);
		else remove(target, root);
		return true;
	} catch {
		return false; // a directory that is not empty, or one that cannot be written
	}
}

/** With the directories that are empty then, as git does it. */
function remove(path: string, root: string): void {
	rmSync(path);
	for (let directory = dirname(path); directory !== root; directory = dirname(directory)) {
		try {
			rmdirSync(directory);
		} catch {
			return; // not empty
		}
	}
}

function note(changes: readonly Change[], root: string, up: string, runDirectory: string): void {
	const earlier = readNote(runDirectory)?.files ?? [];
	const files = changes.map((change, index): AppliedFile => {
		const { path } = change;
		const hadFile = !["missing", "directory"].includes(fingerprint(join(root, path)));
		const backup = hadFile ? join(runDirectory, BACKUPS, String(earlier.length + index)) : undefined;
		if (backup !== undefined) put(join(root, path), backup);
		return { path, after: goal(change, up), backup };
	});
	writeNote(runDirectory, { root, files: [...earlier, ...files] });
}

function readNote(runDirectory: string): Note | undefined {
	try {
		return JSON.parse(readFileSync(noteOf(runDirectory), "utf8")) as Note;
	} catch {
		return undefined;
	}
}

function writeNote(runDirectory: string, note: Note): void {
	mkdirSync(join(runDirectory, BACKUPS), { recursive: true, mode: 0o700 });
	const path = noteOf(runDirectory);
	writeFileSync(`${path}.new`, JSON.stringify(note), { mode: 0o600 });
	renameSync(`${path}.new`, path);
}

export interface Undone {
	readonly restored: readonly string[];
	/** Changed since they were applied. */
	readonly changed: readonly string[];
}

const byBackup = (one: AppliedFile, other: AppliedFile) =>
	Number(one.backup !== undefined) - Number(other.backup !== undefined);

/** Restores the files that are still as they were applied; the others are named and stay as they are. */
export function undoChanges(runDirectory: string): Result<Undone> {
	const { root, files } = readNote(runDirectory) ?? { root: "", files: [] };
	if (files.length === 0) return err("nothing of this run is applied");
	const restored: string[] = [];
	const changed: string[] = [];
	// What took the place of a deleted directory goes before the files of that directory come back.
	for (const { path, after, backup } of files.toSorted(byBackup)) {
		const target = join(root, path);
		const isApplied = fingerprint(target) === after && !isBelowLink(path, root);
		(isApplied && restore(target, backup, root) ? restored : changed).push(path);
	}
	writeNote(runDirectory, { root, files: files.filter(({ path }) => changed.includes(path)) });
	return ok({ restored: restored.sort(), changed: changed.sort() });
}

const isBelowLink = (path: string, root: string) =>
	path
		.split("/")
		.slice(0, -1)
		.some((_part, index, parts) => statOf(join(root, ...parts.slice(0, index + 1)))?.isSymbolicLink());

function restore(target: string, backup: string | undefined, root: string): boolean {
	try {
		if (backup === undefined) remove(target, root);
		else put(backup, target);
		return true;
	} catch {
		return false;
	}
}

const MAX_DIFF_CHARS = 20_000;

/** What a run changed, as git shows it; the first part of it where it is long. */
export async function diffOf({ changes }: EndedRun, runDirectory: string): Promise<Result<string>> {
	const root = projectOf(projectLayerOf(runDirectory)) ?? readNote(runDirectory)?.root;
	if (changes?.at.kind !== "branch" || root === undefined) return err("this run has no branch");
	const { name, base, commit } = changes.at;
	const options = ["diff-tree", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color"];
	try {
		const diff = await inProject(root, [...options, base, commit]);
		const rest = `\n… the rest: git diff ${name}~1 ${name}`;
		return ok(diff.length <= MAX_DIFF_CHARS ? diff.trimEnd() : `${diff.slice(0, MAX_DIFF_CHARS)}${rest}`);
	} catch (error) {
		return err(messageOf(error));
	}
}

/** Deletes the branch and the layer of a run. A branch that somebody has moved since is left alone. */
export async function discardChanges({ changes }: EndedRun, runDirectory: string): Promise<Result<undefined>> {
	const root = projectOf(projectLayerOf(runDirectory)) ?? readNote(runDirectory)?.root;
	if (!changes || changes.at.kind === "nowhere" || root === undefined) return err("there is nothing to discard");
	try {
		if (changes.at.kind === "branch") {
			await inProject(root, ["update-ref", "-d", `refs/heads/${changes.at.name}`, changes.at.commit]);
		}
		await clearLayers(runDirectory, "nothing");
		return ok(undefined);
	} catch (error) {
		return err(messageOf(error));
	}
}
