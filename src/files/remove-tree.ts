import { chmod, lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/**
 * Removes a directory and all that is in it, also directories that their owner has closed to itself: an overlay leaves
 * one of mode 000, and a sub-agent can make others. Rejects where something stays.
 */
export async function removeTree(path: string): Promise<void> {
	try {
		await rm(path, { recursive: true, force: true });
	} catch {
		await open(path);
		await rm(path, { recursive: true, force: true, maxRetries: 3 });
	}
}

async function open(path: string): Promise<void> {
	if (!(await lstat(path).catch(() => undefined))?.isDirectory()) return;
	await chmod(path, 0o700).catch(() => {});
	for (const entry of await readdir(path, { withFileTypes: true }).catch(() => [])) {
		if (entry.isDirectory()) await open(join(path, entry.name));
	}
}
