import { hash } from "node:crypto";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Who changed a file, and when. */
export interface Change {
	/** What a person sees as the run's name; undefined for a command or another program. */
	readonly by?: string | undefined;
	readonly at: number;
}

/** The last change that a sub-agent made to a file. */
export interface WriteEntry extends Change {
	readonly by: string;
	/** The sub-agent's session: its later runs know what the earlier ones did. */
	readonly session: string;
	/** Of the file after the change. */
	readonly version: string;
	/** A change before it that the sub-agent had not read. */
	readonly unread?: Change | undefined;
}

/** Who changed which file: a directory for the sub-agents of one session, with one file for each that they changed. */
export function readEntry(ledger: string, key: string): WriteEntry | undefined {
	try {
		return JSON.parse(readFileSync(join(ledger, `${key}.json`), "utf8")) as WriteEntry;
	} catch {
		return undefined; // nobody has changed it, or whoever did was killed
	}
}

/** To be called by the one that holds the file's lock. Without it the change is noticed all the same, but not who made it. */
export function writeEntry(ledger: string, key: string, entry: WriteEntry): void {
	try {
		mkdirSync(ledger, { recursive: true, mode: 0o700 });
		writeFileSync(join(ledger, `${key}.json`), JSON.stringify(entry), { mode: 0o600 });
	} catch {
		// a full disk costs the name, never the run
	}
}

/** What a file is called in the ledger. */
export const keyOf = (path: string): string => hash("sha1", path);

/** There is no file. */
export const NO_FILE = "none";
const MAX_HASHED_BYTES = 16 * 1024 * 1024;

/** Changes whenever the content of a file does. */
export function versionOf(path: string): string {
	try {
		const stats = statSync(path, { bigint: true });
		if (!stats.isFile()) return NO_FILE; // a pipe would never end
		if (stats.size > MAX_HASHED_BYTES) return `${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`;
		return hash("sha1", readFileSync(path));
	} catch {
		return NO_FILE;
	}
}
