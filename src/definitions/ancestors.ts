import { statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, resolve } from "node:path";
import { realPath } from "./real-path.ts";

/**
 * Where a project's files may be: the directory and its ancestors, nearest first, up to but not including the home
 * directory. Directories of other users are left out: on a shared machine anybody can make `/tmp/.pi`.
 */
export function projectDirectories(cwd: string): string[] {
	const home = realPath(homedir());
	const directories: string[] = [];
	for (let directory = realPath(resolve(cwd)); directory !== home; ) {
		if (isOwn(directory)) directories.push(directory);
		const parent = dirname(directory);
		if (parent === directory) break;
		directory = parent;
	}
	return directories;
}

/** Whether the directory belongs to this user; one that cannot be looked at does not. */
export function isOwn(directory: string): boolean {
	const uid = process.getuid?.();
	if (uid === undefined) return true;
	try {
		return statSync(directory).uid === uid;
	} catch {
		return false;
	}
}
