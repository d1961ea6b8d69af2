import { readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

const MAX_LINKS = 40;

/** The file that an absolute path leads to, links resolved, also where it does not exist yet: two spellings are one file. */
export function realTarget(path: string, links = MAX_LINKS): string {
	try {
		return realpathSync.native(path);
	} catch {
		const parent = dirname(path);
		if (parent === path) return path;
		const target = links > 0 ? linkAt(path) : undefined;
		if (target !== undefined) return realTarget(resolve(realTarget(parent), target), links - 1);
		return join(realTarget(parent, links), basename(path));
	}
}

/** Where a link leads that leads nowhere yet. */
function linkAt(path: string): string | undefined {
	try {
		return readlinkSync(path);
	} catch {
		return undefined;
	}
}
