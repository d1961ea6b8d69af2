import { closeSync, fsyncSync, linkSync, renameSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../domain/result.ts";
import { createPrivate } from "./private.ts";

/**
 * A reader sees all of the file or none, after a crash too, and the first writer wins: `link` refuses a name that is taken.
 * Returns what went wrong.
 */
export function writeOnce(directory: string, name: string, text: string): string | undefined {
	const temporary = join(directory, `.${name}.${process.pid}`);
	try {
		writeWhole(temporary, Buffer.from(text), fsyncSync);
		publish(temporary, join(directory, name));
		return undefined;
	} catch (error) {
		return `${join(directory, name)}: ${messageOf(error)}`;
	} finally {
		remove(temporary);
	}
}

/** Some file systems have no hard links: there the name is claimed by another file first. */
function publish(temporary: string, path: string): void {
	try {
		linkSync(temporary, path);
	} catch (error) {
		if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes((error as NodeJS.ErrnoException).code ?? ""))
			throw error;
		closeSync(createPrivate(`${path}.claim`));
		renameSync(temporary, path);
	}
}

const RESERVE_FILE = ".reserve";
const RESERVE_BYTES = 64 * 1024;

/** Keeps room on the disk. Best effort: where it is full already there is nothing to keep. */
export function keepReserve(directory: string): void {
	const path = join(directory, RESERVE_FILE);
	try {
		writeWhole(path, Buffer.alloc(RESERVE_BYTES), () => {}); // it need not survive a crash
	} catch {
		remove(path);
	}
}

export const freeReserve = (directory: string): void => remove(join(directory, RESERVE_FILE));

function writeWhole(path: string, data: Buffer, finish: (fd: number) => void): void {
	const fd = createPrivate(path);
	try {
		for (let done = 0; done < data.length; ) done += writeSync(fd, data, done);
		finish(fd);
	} finally {
		closeSync(fd);
	}
}

function remove(path: string): void {
	try {
		unlinkSync(path);
	} catch {
		// never created, or gone
	}
}
