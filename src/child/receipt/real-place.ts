import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";

/** The file that a call of pi's tools means by a path, with no link in the way to it. It need not exist. */
export function realPlace(path: string, cwd: string): string {
	const named = path.replace(/^@/, "").replace(/^~(?=\/|$)/, homedir());
	return withRealParent(resolve(cwd, named));
}

function withRealParent(path: string): string {
	const parent = dirname(path);
	if (parent === path) return path;
	try {
		return join(realpathSync(parent), basename(path));
	} catch {
		return join(withRealParent(parent), basename(path)); // a directory that is to be made, or is gone
	}
}
