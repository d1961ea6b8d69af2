import { createHash } from "node:crypto";
import {
	chmodSync,
	copyFileSync,
	lstatSync,
	mkdirSync,
	readFileSync,
	readlinkSync,
	renameSync,
	rmSync,
	type Stats,
	symlinkSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

/** What is at a path, so that two of them can be compared: "missing", or "directory" or "other" where it is neither file nor link. */
export function fingerprint(path: string): string {
	const stat = statOf(path);
	if (!stat) return "missing";
	if (stat.isSymbolicLink()) return `link ${readlinkSync(path)}`;
	return stat.isFile() ? `file ${stat.mode & 0o100} ${hash("sha256", readFileSync(path))}` : restOf(stat);
}

/** The same as git has it in a tree: mode and name of the content, "missing" where there is nothing. */
export function gitEntry(path: string, algorithm: "sha1" | "sha256"): string {
	const stat = statOf(path);
	if (!stat) return "missing";
	const blob = (content: Buffer) => hash(algorithm, Buffer.concat([Buffer.from(`blob ${content.length}\0`), content]));
	if (stat.isSymbolicLink()) return `120000 ${blob(readlinkSync(path, "buffer"))}`;
	return stat.isFile() ? `${stat.mode & 0o100 ? "100755" : "100644"} ${blob(readFileSync(path))}` : restOf(stat);
}

const restOf = (stat: Stats) => (stat.isDirectory() ? "directory" : "other");

export function statOf(path: string) {
	try {
		return lstatSync(path);
	} catch {
		return undefined; // nothing, or below a file
	}
}

const hash = (algorithm: string, content: Buffer) => createHash(algorithm).update(content).digest("hex");

/** Puts a file or link in the place of another one, whole or not at all. */
export function put(from: string, to: string): void {
	mkdirSync(dirname(to), { recursive: true });
	const temporary = join(dirname(to), `.${basename(to).slice(0, 100)}.subagents-${process.pid}`);
	const source = lstatSync(from);
	if (source.isSymbolicLink()) symlinkSync(readlinkSync(from), temporary);
	else {
		const before = statOf(to);
		copyFileSync(from, temporary);
		const mode = before?.isFile() ? before.mode : source.mode;
		const executable = mode | ((mode & 0o444) >> 2);
		chmodSync(temporary, (source.mode & 0o100 ? executable : mode & ~0o111) & 0o777);
	}
	try {
		renameSync(temporary, to);
	} catch (error) {
		rmSync(temporary, { force: true });
		throw error;
	}
}
