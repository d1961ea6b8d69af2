import { realpathSync } from "node:fs";
import { basename, join } from "node:path";
import { type AgentDefinition, type DefinitionSource, isForeignSource, type Origin } from "../domain/definition.ts";
import { isLiteralKey } from "../domain/key.ts";
import { definitionFiles } from "./definition-files.ts";
import { parseForeign } from "./dialects/read-foreign.ts";
import { frontmatterLines, type Problem } from "./frontmatter.ts";
import { type Parsed, parseDefinition } from "./parse.ts";
import { type Place, realPlace } from "./places.ts";
import { openDefinitionFile, readFileBeside } from "./read-file.ts";

/** What a person should know about a file. */
export interface Diagnostic extends Problem {
	readonly path: string;
}

/** A name that can be called, or that could be if its file were in order. */
export type Entry =
	| {
			readonly kind: "usable";
			readonly name: string;
			/** As its file has it. */
			readonly writtenName: string;
			readonly definition: AgentDefinition;
	  }
	| RejectedEntry;

export interface RejectedEntry {
	/** `not-offered`: a foreign agent that is no sub-agent. */
	readonly kind: "rejected" | "not-offered";
	readonly name: string;
	readonly origin: Origin;
	readonly problem: Problem;
	readonly contradictory: boolean;
}

export const originOf = (entry: Entry): Origin => (entry.kind === "usable" ? entry.definition.origin : entry.origin);

export interface PlaceContent {
	readonly entries: readonly Entry[];
	readonly diagnostics: readonly Diagnostic[];
	/** What is used all the same. */
	readonly warnings: readonly Diagnostic[];
}

/** By path and kind: a file that has not changed is parsed once. */
export type ParsedFiles = Map<string, { readonly stamp: string; readonly parsed: Parsed }>;

/**
 * How much frontmatter one load may still parse, in characters. Counted and not timed: a busy machine must not lose
 * definitions, and a folder full of hostile YAML must not hold up a session.
 */
export interface LoadWork {
	left: number;
}

/** 4,000 definitions of a usual size, or some seconds of the slowest YAML. */
const MAX_WORK = 4 * 1024 * 1024;
const QUADRATIC_FROM = 1024;

export const createLoadWork = (): LoadWork => ({ left: MAX_WORK });

/** YAML with mistakes takes a time that grows with the square of its length. */
function workOf(text: string, parsed: Parsed): number {
	const { length } = frontmatterLines(text);
	return parsed.kind === "definition" ? length : Math.max(length, length ** 2 / QUADRATIC_FROM);
}

/** What one place has now, whether it counts or not. */
export function readPlace(place: Place, trust: Origin["trust"], files: ParsedFiles, work: LoadWork): PlaceContent {
	const real = realPlace(place);
	const nothing: PlaceContent = { entries: [], diagnostics: [], warnings: [] };
	if (real === undefined) return nothing;
	if ("refusal" in real) {
		return { ...nothing, diagnostics: [{ path: place.directory, line: undefined, message: real.refusal }] };
	}
	const root = place.scope === "project" ? realpathSync.native(place.base) : undefined;
	const entries: Entry[] = [];
	const found = definitionFiles(real.path);
	const diagnostics: Diagnostic[] = found.unread.map(({ path, reason }) => {
		return { path: join(place.directory, path), line: undefined, message: reason };
	});
	const warnings: Diagnostic[] = [];
	const named = new Map<string, string>();
	for (const file of found.files) {
		const path = join(place.directory, file);
		const origin: Origin = { kind: place.kind, scope: place.scope, path, base: place.base, trust, shadows: false };
		const content = parseFile(join(real.path, file), root, place.kind, files, work);
		const expected = content.parsed.kind === "other" && /^readme\.md$/i.test(basename(file));
		if (!expected) diagnostics.push(...content.problems.map((problem) => ({ ...problem, path })));
		warnings.push(...warningsOf(content.parsed).map((problem) => ({ ...problem, path })));
		const entry = entryOf(content.parsed, origin);
		if (entry === undefined) continue;
		const first = named.get(entry.name);
		named.set(entry.name, first ?? path);
		// In foreign places the list says which of two is used.
		if (first === undefined || isForeignSource(place.kind)) entries.push(entry);
		else diagnostics.push({ path, line: undefined, message: `the name "${entry.name}" is taken by ${first}` });
	}
	return { entries, diagnostics, warnings };
}

const warningsOf = (parsed: Parsed) => (parsed.kind === "definition" ? parsed.warnings : []);

interface FileContent {
	readonly parsed: Parsed;
	readonly problems: readonly Problem[];
}

function parseFile(
	path: string,
	root: string | undefined,
	kind: DefinitionSource,
	files: ParsedFiles,
	work: LoadWork,
): FileContent {
	const broken = (message: string): FileContent => {
		const problem = { line: undefined, message };
		// Most files of a prompts directory are none of ours.
		return kind === "agent"
			? { parsed: { kind: "other", problem: undefined }, problems: [] }
			: { parsed: { kind: "broken", problem }, problems: [problem] };
	};
	const file = openDefinitionFile(path, root);
	if (!file.ok) return broken(file.error);
	const key = `${kind} ${path}`;
	const known = files.get(key);
	let parsed = known?.stamp === file.value.stamp ? known.parsed : undefined;
	if (parsed === undefined) {
		if (work.left <= 0) return broken("was not read: there is too much frontmatter in the files before it");
		const text = file.value.read();
		if (!text.ok) return broken(text.error);
		let isAlone = true;
		const readBeside = (other: string) => {
			isAlone = false;
			return readFileBeside(path, other, root);
		};
		parsed = isForeignSource(kind)
			? parseForeign(text.value, kind, path)
			: parseDefinition(text.value, kind, readBeside);
		work.left -= workOf(text.value, parsed);
		if (isAlone) files.set(key, { stamp: file.value.stamp, parsed });
	}
	// What a foreign file lacks is said where it is listed: most people did not write these files for us.
	return { parsed, problems: isForeignSource(kind) ? [] : problemsOf(parsed, file.value.mode) };
}

function problemsOf(parsed: Parsed, mode: number): readonly Problem[] {
	switch (parsed.kind) {
		case "rejected":
			return parsed.problems;
		case "not-offered":
		case "broken":
			return [parsed.problem];
		case "other":
			return parsed.problem === undefined ? [] : [parsed.problem];
		case "definition": {
			const { apiKey } = parsed.definition;
			const open = apiKey !== undefined && isLiteralKey(apiKey) && (mode & 0o077) !== 0 && process.platform !== "win32";
			return open ? [{ line: undefined, message: "holds an API key and can be read by others: chmod 600" }] : [];
		}
	}
}

/** The name is the one in the frontmatter: what a file is called takes no name from anybody. */
function entryOf(parsed: Parsed, origin: Origin): Entry | undefined {
	switch (parsed.kind) {
		case "definition":
			return {
				kind: "usable",
				name: parsed.definition.name,
				writtenName: parsed.writtenName,
				definition: { ...parsed.definition, origin },
			};
		case "rejected": {
			const [problem = { line: undefined, message: "cannot be used" }] = parsed.problems;
			return { kind: "rejected", name: parsed.name, origin, problem, contradictory: parsed.contradictory };
		}
		case "not-offered":
			return { kind: "not-offered", name: parsed.name, origin, problem: parsed.problem, contradictory: false };
		case "broken":
		case "other":
			return undefined;
	}
}
