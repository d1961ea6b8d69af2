import { err, ok, type Result } from "../../domain/result.ts";
import { bodyOf, type Frontmatter, frontmatterLines, type Problem, readFrontmatter } from "../frontmatter.ts";

export interface LenientFrontmatter extends Frontmatter {
	readonly warnings: readonly Problem[];
}

/** A field begins at the start of a line. */
const FIELD = /^["']?([A-Za-z][\w-]*)["']?[ \t]*:(?:[ \t]|$)/;

/**
 * Frontmatter as people write it: a text with an unquoted colon, which is no YAML, is taken as it stands, with a warning.
 * Fields that must not be lost are read strictly. `isField` says which words at the start of a line are fields: an example
 * in a description has lines such as `user: …` too.
 */
export function readLeniently(
	text: string,
	isField: (name: string) => boolean,
	isText: (name: string) => boolean,
): Result<LenientFrontmatter, Problem> | undefined {
	const strict = readFrontmatter(text);
	if (strict === undefined) return undefined;
	if (strict.ok) return ok({ ...strict.value, warnings: [] });
	const lines = frontmatterLines(text).split("\n").slice(1);
	const fields: Record<string, unknown> = {};
	const lineOf = new Map<string, number>();
	const warnings: Problem[] = [];
	for (const { name, first, text: chunk } of chunksOf(lines, isField)) {
		const parsed = readFrontmatter(`---\n${chunk}\n---\n`);
		if (parsed?.ok) Object.assign(fields, parsed.value.fields);
		else if (isText(name) && name !== "name" && !hidesField(chunk)) {
			fields[name] = plainText(chunk);
			warnings.push({ line: first, message: `${name} is not valid YAML: put quotes around it` });
		} else return strict;
		lineOf.set(name, first);
	}
	if (lineOf.size === 0) return err(strict.error);
	return ok({ fields, body: bodyOf(text), lineOf: (field) => lineOf.get(field), warnings });
}

interface Chunk {
	readonly name: string;
	/** Of the file. */
	readonly first: number;
	readonly text: string;
}

/** The frontmatter, cut before every line that begins a field. */
function chunksOf(lines: readonly string[], isField: (name: string) => boolean): Chunk[] {
	const chunks: { name: string; first: number; lines: string[] }[] = [];
	for (const [at, line] of lines.entries()) {
		const name = FIELD.exec(line)?.[1];
		if (name !== undefined && isField(name)) chunks.push({ name, first: at + 2, lines: [line] });
		else chunks.at(-1)?.lines.push(line);
	}
	return chunks.map((chunk) => ({ ...chunk, text: chunk.lines.join("\n") }));
}

/** A line that is set in may be meant as a field: a restriction must not be taken for a part of a text. */
const hidesField = (chunk: string): boolean =>
	chunk
		.split("\n")
		.slice(1)
		.some((line) => RESTRICTING.test(FIELD.exec(line.trim())?.[1] ?? ""));
const RESTRICTING = /tools$|^permission|^mode$|^read-?only$|^den(?:y|ied)/i;

/** What stands after the colon, without quotes around all of it; `\n` is a line in most of these files. */
function plainText(chunk: string): string {
	const value = chunk.slice(chunk.indexOf(":") + 1).trim();
	const quoted = /^(["'])(.*)\1$/s.exec(value)?.[2] ?? value.replace(/^[|>][+-]?\s*\n/, "");
	return quoted.replaceAll("\\n", "\n").trim();
}
