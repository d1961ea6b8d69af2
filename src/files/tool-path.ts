import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const UNICODE_SPACES = /[\u00A0\u2000-\u200A\u202F\u205F\u3000]/g;

/** The path that pi's own tools make of what a model has written. */
export function resolveToolPath(written: string, cwd: string): string {
	const path = written.replace(UNICODE_SPACES, " ").replace(/^@/, "");
	if (path === "~" || path.startsWith("~/")) return join(homedir(), path.slice(1));
	return resolve(cwd, path.startsWith("file://") ? pathOfUrl(path) : path);
}

function pathOfUrl(url: string): string {
	try {
		return fileURLToPath(url);
	} catch {
		return url; // pi refuses it
	}
}
