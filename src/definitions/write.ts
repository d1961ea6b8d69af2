import {
	chmodSync,
	linkSync,
	mkdirSync,
	realpathSync,
	renameSync,
	rmSync,
	statSync,
	unlinkSync,
	writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { err, messageOf, ok, type Result } from "../domain/result.ts";
import { FIELDS, type Field } from "./fields.ts";

/** What a field is set to; undefined = the field goes. */
export type FieldValue = string | readonly string[] | boolean | number | undefined;

export interface Changes {
	readonly fields: ReadonlyMap<Field, FieldValue>;
	/** Undefined = stays as it is. */
	readonly body: string | undefined;
}

/** A new file. */
export async function renderDefinition(name: string, { fields, body }: Changes): Promise<string> {
	const { Document } = await import("yaml");
	const document = new Document({ name });
	apply(document, fields);
	return fileOf(document.toString(STYLE), body ?? "");
}

/** The same file with some fields changed: comments, order and fields of other programs stay. */
export async function renderChanged(text: string, { fields, body }: Changes): Promise<Result<string>> {
	const { parseDocument } = await import("yaml");
	const normalized = text.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n");
	const end = normalized.indexOf("\n---", 3);
	if (!normalized.startsWith("---") || end === -1) return err("it has no frontmatter");
	const document = parseDocument(normalized.slice(normalized.indexOf("\n") + 1, end + 1));
	if (document.errors.length > 0) return err("its frontmatter cannot be understood");
	apply(document, fields);
	return ok(fileOf(document.toString(STYLE), body ?? normalized.slice(end + 4).trim()));
}

/** A long line stays one. */
const STYLE = { lineWidth: 0 } as const;

interface Settable {
	set(key: unknown, value: unknown): void;
	delete(key: unknown): boolean;
	createNode(value: unknown): unknown;
}

function apply(document: Settable, fields: Changes["fields"]): void {
	for (const field of FIELDS) {
		if (!fields.has(field)) continue;
		const value = fields.get(field);
		if (value === undefined) document.delete(field);
		else document.set(field, quotedWhereNeeded(document, value));
	}
}

/** Some characters, and white space at the ends of lines, survive only in double quotes, where they are escaped. */
const isFragile = (text: string) =>
	/[^\P{C}\n]|[\u2028\u2029]/u.test(text) || (text.includes("\n") && (/^\s/.test(text) || /[^\S\n]$/m.test(text)));

function quotedWhereNeeded(document: Settable, value: NonNullable<FieldValue>): unknown {
	const quote = (text: unknown) => {
		const node = document.createNode(text) as { type?: string };
		if (typeof text === "string" && isFragile(text)) node.type = "QUOTE_DOUBLE";
		return node;
	};
	if (!Array.isArray(value)) return quote(value);
	const list = document.createNode([]) as { items: unknown[] };
	list.items = value.map(quote);
	return list;
}

function fileOf(yaml: string, body: string): string {
	const text = body.trim();
	return `---\n${yaml.endsWith("\n") ? yaml : `${yaml}\n`}---\n${text === "" ? "" : `\n${text}\n`}`;
}

/** Only for the person where it may hold a key; as the umask says where it belongs to a project. */
export type Privacy = "private" | "shared";

/** Fails where the file is there already. Readers never see half of it. */
export function createFile(path: string, text: string, privacy: Privacy): Result<undefined> {
	return replacing(path, text, privacy === "private" ? 0o600 : undefined, (temporary) => {
		linkSync(temporary, path);
		rmSync(temporary);
	});
}

/** Keeps the file's mode, and the link if it is one. */
export function replaceFile(path: string, text: string): Result<undefined> {
	try {
		const real = realpathSync(path);
		return replacing(real, text, statSync(real).mode & 0o777, (temporary) => renameSync(temporary, real));
	} catch (error) {
		return err(messageOf(error));
	}
}

function replacing(
	path: string,
	text: string,
	mode: number | undefined,
	finish: (temporary: string) => void,
): Result<undefined> {
	const temporary = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`);
	try {
		mkdirSync(dirname(path), { recursive: true });
		writeFileSync(temporary, text, { flag: "wx", mode: mode ?? 0o666 });
		if (mode !== undefined) chmodSync(temporary, mode);
		finish(temporary);
		return ok(undefined);
	} catch (error) {
		rmSync(temporary, { force: true });
		const taken = (error as NodeJS.ErrnoException).code === "EEXIST";
		return err(taken ? `${path} exists already` : messageOf(error));
	}
}

export function deleteFile(path: string): Result<undefined> {
	try {
		unlinkSync(path);
		return ok(undefined);
	} catch (error) {
		return err(messageOf(error));
	}
}
