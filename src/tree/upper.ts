import { chmodSync, existsSync, lstatSync, readdirSync, type Stats } from "node:fs";
import { join } from "node:path";
import { isOwnPath } from "./snapshot.ts";

/** What a layer holds. Paths are relative to the project. */
export interface Upper {
	/** Files and links that were written. */
	readonly written: readonly string[];
	/** Paths that were deleted, with all that was below them. */
	readonly deleted: readonly string[];
	/**
	 * One path of each changed directory that shows through it, unless the directory was made anew: then nothing of the old
	 * one is there any more.
	 */
	readonly shining: readonly { readonly directory: string; readonly path: string }[];
	/** What cannot be carried back. */
	readonly leftOut: readonly string[];
}

type Kind = "directory" | "written" | "deleted" | "left out" | "nothing";

/** Reads a layer, and opens what the run has closed to itself. */
export function readUpper(up: string, project: string): Upper {
	const found: { readonly path: string; readonly kind: Kind }[] = [];
	const shining: { directory: string; path: string }[] = [];
	const visit = (directory: string): void => {
		const names = namesInOpened(join(up, directory));
		const known = new Set(names);
		const through = namesIn(join(project, directory)).find((name) => !known.has(name));
		if (through !== undefined) shining.push({ directory, path: join(directory, through) });
		for (const name of names) {
			const path = join(directory, name);
			const kind = kindOf(path, up, project);
			if (kind === "directory") visit(path);
			else found.push({ path, kind });
		}
	};
	visit("");
	const paths = (wanted: Kind) => found.filter(({ kind }) => kind === wanted).map(({ path }) => path);
	return { written: paths("written"), deleted: paths("deleted"), shining, leftOut: paths("left out") };
}

/** What became of a path. The kernel marks one that was deleted by a device with the number 0. */
function kindOf(path: string, up: string, project: string): Kind {
	if (/(?:^|\/)\.git$/i.test(path)) return "nothing";
	const stat = lstatSync(join(up, path));
	if (isOwnPath(path)) return stat.isDirectory() && !hasFiles(join(up, path)) ? "nothing" : "left out";
	if (stat.isDirectory()) return isRepository(up, project, path) ? "left out" : "directory";
	if (stat.isCharacterDevice() && stat.rdev === 0) return "deleted";
	if (stat.isFile()) open(join(up, path), stat);
	return stat.isFile() || stat.isSymbolicLink() ? "written" : "left out";
}

function open(path: string, { mode }: Stats): void {
	if ((mode & 0o400) === 0) chmodSync(path, mode | 0o400);
}

const hasFiles = (directory: string): boolean =>
	readdirSync(directory, { withFileTypes: true }).some(
		(entry) => !entry.isDirectory() || hasFiles(join(directory, entry.name)),
	);

const isRepository = (up: string, project: string, path: string) =>
	[up, project].some((base) => existsSync(join(base, path, ".git")));

function namesInOpened(directory: string): readonly string[] {
	try {
		return readdirSync(directory).sort();
	} catch {
		chmodSync(directory, 0o700);
		return readdirSync(directory).sort();
	}
}

function namesIn(directory: string): readonly string[] {
	try {
		return readdirSync(directory);
	} catch {
		return []; // it is new, or took the place of a file
	}
}
