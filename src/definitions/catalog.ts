import type { DefinitionKind } from "../domain/definition.ts";
import { type Place, placesOf } from "./places.ts";
import { createLoadWork, type Diagnostic, type Entry, originOf, type ParsedFiles, readPlace } from "./read-place.ts";
import { type TrustContext, trustOf } from "./trust.ts";

export const describeDiagnostic = ({ path, line, message }: Diagnostic): string =>
	`${path}${line === undefined ? "" : `:${line}`}: ${message}`;

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

function loadCatalog({ agentDirectory, trust }: CatalogContext, files: ParsedFiles): Catalog {
	const work = createLoadWork();
	const diagnostics: Diagnostic[] = [];
	const untrusted = new Set<string>();
	const found = placesOf(trust.cwd, agentDirectory).map((place) => {
		const verdict = place.scope === "global" ? "trusted" : trustOf(place.base, trust);
		const read = readPlace(place, verdict === "unasked" ? "unasked" : "trusted", files, work);
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
	readPlace(place, "trusted", new Map(), createLoadWork()).entries;
