import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";

/** A file, or a part of it, that goes in front of a prompt. */
export type FileRequest =
	| { readonly kind: "all"; readonly path: string }
	| { readonly kind: "range"; readonly path: string; readonly start: number; readonly end: number }
	| { readonly kind: "head"; readonly path: string; readonly lines: number }
	| { readonly kind: "tail"; readonly path: string; readonly lines: number };

const MAX_FILE_BYTES = 1024 * 1024;

/** The blocks that stand before a prompt, in order. What cannot be read is named in its place and fails nothing. */
export async function readFiles(requests: readonly FileRequest[], cwd: string): Promise<string[]> {
	return await Promise.all(requests.map((request) => readBlock(request, cwd)));
}

async function readBlock(request: FileRequest, cwd: string): Promise<string> {
	const { path } = request;
	const absolute = resolve(cwd, path);
	try {
		const found = await stat(absolute);
		if (!found.isFile()) return `[could not read file: ${path}]`;
		if (found.size > MAX_FILE_BYTES) {
			return `[file too large: ${path} (${Math.round(found.size / 1024)}KB, limit ${MAX_FILE_BYTES / 1024}KB)]`;
		}
		const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await readFile(absolute));
		return `=== ${path} ===\n${select(request, text.replace(/\r?\n$/, ""))}`;
	} catch (error) {
		const missing = ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "");
		return missing ? `[file not found: ${path}]` : `[could not read file: ${path}]`;
	}
}

function select(request: FileRequest, text: string): string {
	const lines = text.split("\n");
	switch (request.kind) {
		case "all":
			return text;
		case "range":
			return lines.slice(Math.max(0, request.start - 1), Math.max(0, request.end)).join("\n");
		case "head":
			return lines.slice(0, request.lines).join("\n");
		case "tail":
			return lines.slice(-request.lines).join("\n");
	}
}
