import { realpathSync } from "node:fs";
import { join } from "node:path";
import type { AgentDefinition, DefinitionKind, Origin } from "../domain/definition.ts";
import { isLiteralKey } from "../domain/key.ts";
import type { Problem } from "./frontmatter.ts";
import { type Parsed, parseDefinition } from "./parse.ts";
import { markdownFiles, type Place, placesOf, realPlace } from "./places.ts";
import { openDefinitionFile } from "./read-file.ts";
import { type TrustContext, trustOf } from "./trust.ts";

/** What a person should know about a file. */
export interface Diagnostic extends Problem {
	readonly path: string;
}

export const describeDiagnostic = ({ path, line, message }: Diagnostic): string =>
	`${path}${line === undefined ? "" : `:${line}`}: ${message}`;

/** A name that can be called, or that could be if its file were in order. */
export type Entry =
	| { readonly kind: "usable"; readonly name: string; readonly definition: AgentDefinition }
	| RejectedEntry;

export interface RejectedEntry {
	readonly kind: "rejected";
	readonly name: string;
	readonly origin: Origin;
	readonly problem: Problem;
	readonly contradictory: boolean;
}

/** Everything that can be called from one directory. */
export interface Catalog {
	/** Per kind, by name, sorted; a project's entry has taken the place of a global one. */
	readonly kinds: Readonly<Record<DefinitionKind, ReadonlyMap<string, Entry>>>;
	/** Names that an untrusted project has definitions of: they count for nothing, but whoever asks for one is told. */
	readonly ignored: ReadonlySet<string>;
	readonly diagnostics: readonly Diagnostic[];
}

export interface Library {
	/** What the directory has now, or had in the last five seconds. */
	load(context: CatalogContext): Catalog;
	/** After a file was changed. */
	invalidate(): void;
}

export interface CatalogContext {
	readonly agentDirectory: string;
	readonly trust: TrustContext;
}

const TTL_MS = 5_000;
/** A directory full of files that take long to understand must not hold up a session. */
const MAX_LOAD_MS = 5_000;

/** Reads definitions and remembers them: a file that has not changed is parsed once. */
export function createLibrary(now: () => number = () => performance.now()): Library {
	const catalogs = new Map<string, { readonly at: number; readonly catalog: Catalog }>();
	const files: ParsedFiles = new Map();
	return {
		load(context) {
			const key = JSON.stringify(context);
			const known = catalogs.get(key);
			if (known && now() - known.at < TTL_MS) return known.catalog;
			const catalog = loadCatalog(context, files);
			catalogs.set(key, { at: now(), catalog });
			return catalog;
		},
		invalidate: () => catalogs.clear(),
	};
}

/** By path and kind. */
type ParsedFiles = Map<string, { readonly stamp: string; readonly parsed: Parsed }>;

function loadCatalog({ agentDirectory, trust }: CatalogContext, files: ParsedFiles): Catalog {
	const deadline = performance.now() + MAX_LOAD_MS;
	const diagnostics: Diagnostic[] = [];
	const untrusted = new Set<string>();
	const found = placesOf(trust.cwd, agentDirectory).map((place) => {
		const verdict = place.scope === "global" ? "trusted" : trustOf(place.base, trust);
		const read = readPlace(place, verdict === "unasked" ? "unasked" : "trusted", files, deadline);
		if (verdict !== "refused") {
			diagnostics.push(...read.diagnostics);
			return read.entries;
		}
		if (read.entries.length > 0) diagnostics.push(ignored(place, read.entries.length));
		for (const { name } of read.entries) untrusted.add(name);
		return [];
	});
	const ofKind = (kind: DefinitionKind) =>
		new Map(
			merge(found.flat().filter((entry) => originOf(entry).kind === kind))
				.sort((a, b) => (a.name < b.name ? -1 : 1))
				.map((entry) => [entry.name, entry]),
		);
	const kinds = { profile: ofKind("profile"), preset: ofKind("preset"), agent: ofKind("agent") };
	return { kinds, ignored: untrusted, diagnostics };
}

export const originOf = (entry: Entry): Origin => (entry.kind === "usable" ? entry.definition.origin : entry.origin);

const ignored = ({ directory }: Place, count: number): Diagnostic => ({
	path: directory,
	line: undefined,
	message: `${count === 1 ? "1 definition is" : `${count} definitions are`} ignored, because this project is not trusted (${HOW_TO_TRUST})`,
});

export const HOW_TO_TRUST = "trust it with /trust, or start pi with --approve";
export const IGNORED_FOR_TRUST = `ignored, because the project is not trusted (${HOW_TO_TRUST})`;

/** The first of a name wins; if that is a project's and hides a global one, it says so. */
function merge(entries: readonly Entry[]): Entry[] {
	const merged = new Map<string, Entry>();
	for (const entry of entries) {
		const winner = merged.get(entry.name);
		if (winner === undefined) merged.set(entry.name, entry);
		else if (originOf(winner).scope === "project" && originOf(entry).scope === "global") {
			merged.set(entry.name, shadowing(winner));
		}
	}
	return [...merged.values()];
}

function shadowing(entry: Entry): Entry {
	const origin = { ...originOf(entry), shadows: true };
	return entry.kind === "usable" ? { ...entry, definition: { ...entry.definition, origin } } : { ...entry, origin };
}

/** What one place has now, whether it counts or not. */
export const entriesIn = (place: Place): readonly Entry[] =>
	readPlace(place, "trusted", new Map(), performance.now() + MAX_LOAD_MS).entries;

interface PlaceContent {
	readonly entries: readonly Entry[];
	readonly diagnostics: readonly Diagnostic[];
}

function readPlace(place: Place, trust: Origin["trust"], files: ParsedFiles, deadline: number): PlaceContent {
	const real = realPlace(place);
	if (real === undefined) return { entries: [], diagnostics: [] };
	if ("refusal" in real) {
		return { entries: [], diagnostics: [{ path: place.directory, line: undefined, message: real.refusal }] };
	}
	const root = place.scope === "project" ? realpathSync.native(place.base) : undefined;
	const named = new Map<string, Entry>();
	const diagnostics: Diagnostic[] = [];
	for (const file of markdownFiles(real.path)) {
		const path = join(place.directory, file);
		const origin: Origin = { kind: place.kind, scope: place.scope, path, base: place.base, trust, shadows: false };
		const content = parseFile(join(real.path, file), root, place.kind, files, deadline);
		const expected = content.parsed.kind === "other" && /^readme\.md$/i.test(file);
		if (!expected) diagnostics.push(...content.problems.map((problem) => ({ ...problem, path })));
		const entry = entryOf(content.parsed, origin);
		if (entry === undefined) continue;
		const first = named.get(entry.name);
		if (first === undefined) named.set(entry.name, entry);
		else
			diagnostics.push({
				path,
				line: undefined,
				message: `the name "${entry.name}" is taken by ${originOf(first).path}`,
			});
	}
	return { entries: [...named.values()], diagnostics };
}

interface FileContent {
	readonly parsed: Parsed;
	readonly problems: readonly Problem[];
}

function parseFile(
	path: string,
	root: string | undefined,
	kind: DefinitionKind,
	files: ParsedFiles,
	deadline: number,
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
	let parsed = files.get(key)?.stamp === file.value.stamp ? files.get(key)?.parsed : undefined;
	if (parsed === undefined) {
		if (performance.now() > deadline) return broken("was not read: the definitions before it took too long");
		const text = file.value.read();
		if (!text.ok) return broken(text.error);
		parsed = parseDefinition(text.value, kind);
		files.set(key, { stamp: file.value.stamp, parsed });
	}
	return { parsed, problems: problemsOf(parsed, file.value.mode) };
}

function problemsOf(parsed: Parsed, mode: number): readonly Problem[] {
	switch (parsed.kind) {
		case "rejected":
			return parsed.problems;
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
			return { kind: "usable", name: parsed.definition.name, definition: { ...parsed.definition, origin } };
		case "rejected": {
			const [problem = { line: undefined, message: "cannot be used" }] = parsed.problems;
			return { kind: "rejected", name: parsed.name, origin, problem, contradictory: parsed.contradictory };
		}
		case "broken":
		case "other":
			return undefined;
	}
}
