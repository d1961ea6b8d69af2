import { glob, stat } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { cut } from "../domain/messages.ts";
import type { Result } from "../domain/result.ts";
import { MAX_PART_BYTES, type Part, type PartProblem, readPart } from "./file-part.ts";

/** Files, or parts of them, that go in front of a prompt: a path, or a pattern with `*`, `?`, `[…]` or `{…}`. */
export type FileRequest = Part & { readonly path: string };

/** What stands before a prompt, and what the caller is told if something is missing there. */
export interface Attachments {
	/** In order. What cannot be read is named in its place and fails nothing. */
	readonly blocks: readonly string[];
	/** `2 of 3 files attached: …`; undefined where all were. */
	readonly shortfall: string | undefined;
}

/** One file, or what is said in its place. */
interface Block {
	readonly text: string;
	readonly problem: string | undefined;
}

const MAX_MATCHES = 50;
/** A pattern that would walk through a whole disk is given up. */
const MAX_VISITED = 200_000;
const MAX_PROBLEMS = 3;
const MAX_PATH_CHARS = 100;

export async function readFiles(requests: readonly FileRequest[], cwd: string): Promise<Attachments> {
	const found = await Promise.all(requests.map((request) => blocksOf(request, cwd)));
	const blocks = found.flatMap(({ files }) => files);
	const others = found.reduce((sum, { more }) => sum + more, 0);
	const attached = blocks.filter(({ problem }) => problem === undefined).length;
	const problems = [
		...blocks.flatMap(({ problem }) => problem ?? []),
		...found.flatMap(({ more }, at) => (more === 0 ? [] : [`${more} more match ${quoted(requests[at]?.path ?? "")}`])),
	];
	const rest = problems.length - MAX_PROBLEMS;
	const said = [...problems.slice(0, MAX_PROBLEMS), ...(rest > 0 ? [`${rest} more`] : [])].join("; ");
	return {
		blocks: blocks.map(({ text }) => text),
		shortfall: problems.length === 0 ? undefined : `${attached} of ${blocks.length + others} files attached: ${said}`,
	};
}

interface Found {
	readonly files: readonly Block[];
	/** That match the pattern, and are left out. */
	readonly more: number;
}

/** A file of that very name wins over the pattern. */
async function blocksOf(request: FileRequest, cwd: string): Promise<Found> {
	const { path } = request;
	const exists = await stat(resolve(cwd, path)).then(
		() => true,
		() => false,
	);
	if (exists || !/[*?[{]/.test(path)) return { files: [await blockOf(request, cwd)], more: 0 };
	const matches = await matchesOf(path, cwd);
	if (matches.length === 0) {
		return { files: [{ text: `[file not found: ${path}]`, problem: `${quoted(path)} matches no file` }], more: 0 };
	}
	const shown = matches.slice(0, MAX_MATCHES);
	const files = await Promise.all(shown.map((match) => blockOf({ ...request, path: match }, cwd)));
	return { files, more: matches.length - shown.length };
}

/** Sorted. What is installed, or git's own, is found only by a pattern that names it. */
async function matchesOf(pattern: string, cwd: string): Promise<string[]> {
	const hidden = ["node_modules", ".git"].filter((name) => !pattern.includes(name));
	const matches: string[] = [];
	let visited = 0;
	try {
		const entries = glob(pattern, {
			cwd,
			withFileTypes: true,
			exclude: ({ name }) => ++visited > MAX_VISITED || hidden.includes(name),
		});
		for await (const entry of entries) {
			const path = resolve(entry.parentPath, entry.name);
			const isFile = entry.isFile() || (entry.isSymbolicLink() && (await stat(path).catch(() => undefined))?.isFile());
			if (isFile) matches.push(pattern.startsWith("/") ? path : relative(cwd, path));
		}
	} catch {
		// a pattern that is none, or a directory that cannot be read
	}
	return matches.sort();
}

async function blockOf(request: FileRequest, cwd: string): Promise<Block> {
	const { path } = request;
	const absolute = resolve(cwd, path);
	const missing = (text: string, why: string): Block => ({ text: `[${text}]`, problem: `${quoted(path)} ${why}` });
	const unreadable = missing(`could not read file: ${path}`, "could not be read");
	try {
		if (!(await stat(absolute)).isFile()) return unreadable;
		const part: Result<string, PartProblem> = await readPart(absolute, request);
		if (part.ok) return { text: `=== ${path} ===\n${part.value}`, problem: undefined };
		const { error } = part;
		if (error.kind === "unreadable") return unreadable;
		if (error.kind === "binary") return missing(`not attached: ${path} is ${error.what}`, `is ${error.what}`);
		if (error.kind === "no-lines")
			return missing(`no such lines in ${path}: ${error.why}`, `has no such lines: ${error.why}`);
		const size = `${Math.round(error.bytes / 1024)}KB, limit ${MAX_PART_BYTES / 1024}KB`;
		return missing(`file too large: ${path} (${size})`, `is too large (${size})`);
	} catch (error) {
		const isMissing = ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "");
		return isMissing ? missing(`file not found: ${path}`, "was not found") : unreadable;
	}
}

const quoted = (path: string): string => `"${cut(path, MAX_PATH_CHARS)}${path.length > MAX_PATH_CHARS ? "…" : ""}"`;
