import { closeSync, openSync, readSync } from "node:fs";

/** The first line of a session file is short. */
const MAX_HEADER_BYTES = 4_096;

/** When a session of pi began, as its file says; undefined where there is no such file yet. */
export function sessionStart(path: string): number | undefined {
	let fd: number | undefined;
	try {
		fd = openSync(path, "r");
		const head = Buffer.alloc(MAX_HEADER_BYTES);
		const [line = ""] = head.toString("utf8", 0, readSync(fd, head)).split("\n", 1);
		const { timestamp } = JSON.parse(line) as { readonly timestamp?: unknown };
		return Date.parse(String(timestamp)) || undefined;
	} catch {
		return undefined;
	} finally {
		if (fd !== undefined) closeSync(fd);
	}
}
