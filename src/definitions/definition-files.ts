import { type Dirent, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** What lies in a directory of definitions. Paths are relative to it. */
export interface DefinitionFiles {
	/** Files that may be definitions, sorted. */
	readonly files: readonly string[];
	/** What could hold definitions and is not read, and why. */
	readonly unread: readonly { readonly path: string; readonly reason: string }[];
}

const MAX_DEPTH = 5;
/** Files and folders that are looked at in one place: a folder with a whole source tree in it must not hold up a session. */
const MAX_ENTRIES = 20_000;

/**
 * The markdown files of a directory and of its subfolders, five levels deep. Links to directories are not followed, and
 * `runs`, where runs may be kept, is never entered.
 */
export function definitionFiles(root: string): DefinitionFiles {
	const files: string[] = [];
	const unread: { path: string; reason: string }[] = [];
	const folders = [{ path: "", depth: 0 }];
	let left = MAX_ENTRIES;
	for (const { path: folder, depth } of folders) {
		if (depth > MAX_DEPTH) {
			unread.push({ path: folder, reason: `lies more than ${MAX_DEPTH} folders deep: its files are not read` });
			continue;
		}
		const entries = entriesOf(join(root, folder));
		left -= entries.length;
		if (left < 0) {
			unread.push({ path: folder, reason: `is not read: there are more than ${MAX_ENTRIES} files in all` });
			break;
		}
		for (const entry of entries) {
			const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
			switch (natureOf(entry, root, path)) {
				case "file":
					files.push(path);
					break;
				case "folder":
					folders.push({ path, depth: depth + 1 });
					break;
				case "link to a folder":
					unread.push({ path, reason: "is a link to a directory: its files are not read" });
			}
		}
	}
	return { files: files.sort(), unread };
}

function natureOf(entry: Dirent, root: string, path: string): "file" | "folder" | "link to a folder" | undefined {
	const { name } = entry;
	if (name.startsWith(".") || name === RUNS) return undefined;
	if (entry.isDirectory()) return "folder";
	if (entry.isSymbolicLink() && isDirectory(join(root, path))) return "link to a folder";
	return name.endsWith(".md") ? "file" : undefined;
}

const RUNS = "runs";

function entriesOf(directory: string): Dirent[] {
	try {
		return readdirSync(directory, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
	} catch {
		return [];
	}
}

/** A link that leads in a circle is none, nor is what may not be looked at. */
export function isDirectory(path: string): boolean {
	try {
		return statSync(path).isDirectory();
	} catch {
		return false;
	}
}
