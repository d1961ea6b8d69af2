import { parseFrontmatter } from "@earendil-works/pi-coding-agent";
import { err, messageOf, ok, type Result } from "../domain/result.ts";
import { readPlainFields } from "./plain-fields.ts";

/** What is wrong with a file, and where. */
export interface Problem {
	readonly line: number | undefined;
	readonly message: string;
}

export interface Frontmatter {
	readonly fields: Readonly<Record<string, unknown>>;
	readonly body: string;
	/** The line of a field, for messages about it. */
	lineOf(field: string): number | undefined;
}

/** YAML that is full of mistakes takes time out of proportion: about half a second for this much. */
const MAX_FRONTMATTER_CHARS = 32 * 1024;
/** The frontmatter's first line is the second of the file. */
const LINES_BEFORE = 1;

/** Undefined where the text has no frontmatter at all. Never throws, whatever the text is. */
export function readFrontmatter(text: string): Result<Frontmatter, Problem> | undefined {
	const normalized = normalize(text);
	if (!/^---[ \t]*\n/.test(normalized)) return undefined;
	const end = normalized.indexOf("\n---", 3);
	if (end === -1) return err({ line: 1, message: 'the frontmatter is never closed: a line "---" is missing' });
	if (end > MAX_FRONTMATTER_CHARS) {
		return err({ line: 1, message: `the frontmatter is longer than ${MAX_FRONTMATTER_CHARS / 1024} KB` });
	}
	const plain = normalized.startsWith("---\n") ? readPlainFields(normalized.slice(4, end)) : undefined;
	const lines = normalized.slice(0, end).split("\n");
	if (plain !== undefined && Object.keys(plain).length > 0) {
		const body = normalized.slice(end + 4).trim();
		return ok({ fields: plain, body, lineOf: (field) => lineOfField(lines, field) });
	}
	// YAML takes the word for a tag and drops it. What stands further in may be a part of a longer text.
	const tagged = lines.findIndex((line) => /^(?:-|["']?[\w-]+["']?\s*:)\s+!/.test(line));
	if (tagged !== -1) return err({ line: tagged + 1, message: 'put quotes around a value that begins with "!"' });
	try {
		const { frontmatter, body } = parseFrontmatter(normalized) as { frontmatter: unknown; body: string };
		if (typeof frontmatter !== "object" || frontmatter === null || Array.isArray(frontmatter)) {
			return err({ line: LINES_BEFORE + 1, message: 'the frontmatter must consist of "field: value" lines' });
		}
		const lineOf = (field: string) => lineOfField(lines, field);
		return ok({ fields: frontmatter as Record<string, unknown>, body, lineOf });
	} catch (error) {
		return err(problemOf(error));
	}
}

/** The text below the frontmatter, also of a file whose frontmatter cannot be understood. */
export function bodyOf(text: string): string {
	const frontmatter = readFrontmatter(text);
	if (frontmatter?.ok) return frontmatter.value.body;
	const normalized = normalize(text);
	const end = frontmatter ? normalized.indexOf("\n---", 3) : -1;
	return (end === -1 ? normalized : normalized.slice(end + 4)).trim();
}

/** The lines of a frontmatter that cannot be understood; one that is never closed goes to the first empty line. */
export function frontmatterLines(text: string): string {
	const normalized = normalize(text);
	const end = normalized.indexOf("\n---", 3);
	return end === -1 ? (normalized.split(/\n[ \t]*\n/, 1)[0] ?? "") : normalized.slice(0, end);
}

const normalize = (text: string) => text.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n");

function lineOfField(lines: readonly string[], field: string): number | undefined {
	const index = lines.findIndex((line) => /^["']?([\w-]+)["']?\s*:/.exec(line)?.[1] === field);
	return index === -1 ? undefined : index + 1;
}

function problemOf(error: unknown): Problem {
	const { linePos } = (typeof error === "object" && error !== null ? error : {}) as {
		linePos?: readonly { readonly line: number }[];
	};
	const [message = ""] = messageOf(error).split(/ at line \d+|\n/);
	const line = linePos?.[0]?.line;
	const hint = /compact mappings|implicit keys|cannot start with|plain value/i.test(message)
		? " (put quotes around the value)"
		: "";
	return { line: line === undefined ? undefined : line + LINES_BEFORE, message: `${message}${hint}` };
}
