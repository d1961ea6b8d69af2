import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, realpathSync, type Stats } from "node:fs";
import { dirname, isAbsolute, relative, resolve } from "node:path";
import { err, ok, type Result } from "../domain/result.ts";

export interface DefinitionFile {
	/** Changes whenever the file does. */
	readonly stamp: string;
	/** Permission bits. */
	readonly mode: number;
	read(): Result<string>;
}

export const MAX_FILE_BYTES = 1024 * 1024;

/** Looks at a file without reading it. `root`: no link may lead out of there. */
export function openDefinitionFile(path: string, root: string | undefined): Result<DefinitionFile> {
	try {
		const own = lstatSync(path);
		const isLink = own.isSymbolicLink();
		const real = isLink ? realpathSync.native(path) : path;
		if (isLink && root !== undefined && !isInside(root, real)) return err("is a link that leaves the project");
		const stats = isLink ? lstatSync(real) : own;
		const refusal = refusalOf(stats);
		if (refusal !== undefined) return err(refusal);
		return ok({ stamp: stampOf(stats), mode: stats.mode & 0o777, read: () => readText(real) });
	} catch (error) {
		return err(reasonOf(error));
	}
}

/** A file that a definition names; the path starts from the definition's own file. */
export function readFileBeside(definition: string, path: string, root: string | undefined): Result<string> {
	try {
		const real = realpathSync.native(resolve(dirname(definition), path));
		if (root !== undefined && !isInside(root, real)) return err("lies outside of the project");
		const file = openDefinitionFile(real, root);
		return file.ok ? file.value.read() : file;
	} catch (error) {
		return err(reasonOf(error));
	}
}

/** Both paths are real ones. */
export function isInside(root: string, path: string): boolean {
	const within = relative(root, path);
	return within !== ".." && !within.startsWith("../") && !within.startsWith("..\\") && !isAbsolute(within);
}

function refusalOf(stats: Stats): string | undefined {
	if (!stats.isFile()) return "is not a file";
	return stats.size > MAX_FILE_BYTES ? `is larger than ${MAX_FILE_BYTES / 1024} KB` : undefined;
}

const stampOf = ({ ino, size, mtimeMs, ctimeMs }: Stats) => `${ino} ${size} ${mtimeMs} ${ctimeMs}`;

/** What was looked at may have been exchanged since: no link is followed, nothing is waited for, no more is read. */
function readText(path: string): Result<string> {
	let fd: number | undefined;
	try {
		fd = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
		const stats = fstatSync(fd);
		const refusal = refusalOf(stats);
		if (refusal !== undefined) return err(refusal);
		const buffer = Buffer.allocUnsafe(stats.size);
		let length = 0;
		for (let count = -1; count !== 0 && length < stats.size; length += count) {
			count = readSync(fd, buffer, length, stats.size - length, null);
		}
		return ok(new TextDecoder("utf-8", { fatal: true }).decode(buffer.subarray(0, length)));
	} catch (error) {
		return err(error instanceof TypeError ? "is not UTF-8 text" : reasonOf(error));
	} finally {
		if (fd !== undefined) closeSync(fd);
	}
}

function reasonOf(error: unknown): string {
	const { code } = error as NodeJS.ErrnoException;
	switch (code) {
		case "ELOOP":
			return "is a link that leads in a circle";
		case "ENOENT":
			return "leads nowhere";
		case "EACCES":
		case "EPERM":
			return "may not be read";
		default:
			return `could not be read (${code ?? "unknown reason"})`;
	}
}
