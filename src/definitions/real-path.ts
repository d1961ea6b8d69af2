import { realpathSync } from "node:fs";

/** Where a path really leads: a link, or a slash at the end, makes no other directory. One that leads nowhere is itself. */
export function realPath(path: string): string {
	try {
		return realpathSync(path);
	} catch {
		return path;
	}
}
