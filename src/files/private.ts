import { closeSync, constants, fchmodSync, lstatSync, openSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";

/** Whether a directory is this user's alone; one that is not there is nobody's. */
export const isPrivate = (directory: string): boolean => isOwnDirectory(directory, 0o077);

/**
 * Whether what is in a directory can be this user's work alone. That others may read it (a copy, a `chmod -R`) changes
 * nothing about that. One that is not there is nobody's.
 */
export function isTrusted(directory: string): boolean {
	try {
		return isOwnDirectory(directory, 0o022);
	} catch {
		return false; // a directory above it is closed to us
	}
}

function isOwnDirectory(directory: string, closedTo: number): boolean {
	const stat = lstatSync(directory, { throwIfNoEntry: false });
	if (!stat || process.platform === "win32") return true;
	return stat.isDirectory() && stat.uid === process.getuid?.() && (stat.mode & closedTo) === 0;
}

/** Whether another user owns it. Where all of a home has one owner, as in some containers, that owner counts as this user. */
export function isForeign(path: string): boolean {
	const owner = statSync(path, { throwIfNoEntry: false })?.uid;
	return owner !== undefined && owner !== process.getuid?.() && owner !== statSync(homedir()).uid;
}

/** Exclusive creation never follows a link that was put there before; the mode holds under any umask. */
export function createPrivate(path: string, flags = 0): number {
	const fd = openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | flags, 0o600);
	fchmodSync(fd, 0o600);
	return fd;
}

/** A new file with this text. Throws where there is one already. */
export function writePrivate(path: string, text: string): void {
	const fd = createPrivate(path);
	try {
		writeFileSync(fd, text);
	} finally {
		closeSync(fd);
	}
}
