import { createHash } from "node:crypto";
import { lstatSync } from "node:fs";
import { type ForeignSource, isForeignSource } from "../domain/definition.ts";
import { definitionFiles } from "./definition-files.ts";
import { type Place, placesOf } from "./places.ts";
import { createLoadWork, type Diagnostic, type Entry, originOf, type ParsedFiles, readPlace } from "./read-place.ts";
import { type TrustContext, trustOf } from "./trust.ts";

export const describeDiagnostic = ({ path, line, message }: Diagnostic): string =>
	`${path}${line === undefined ? "" : `:${line}`}: ${message}`;

/** Everything that can be called from one directory. */
export interface Catalog {
	/** By name, sorted: all that have it, in the order in which they win. See lookup.ts for what a word reaches. */
	readonly entries: ReadonlyMap<string, readonly Entry[]>;
	/** Names that an untrusted project has definitions of: they count for nothing, but whoever asks for one is told. */
	readonly ignored: ReadonlySet<string>;
	readonly diagnostics: readonly Diagnostic[];
	/** About files that are used all the same. */
	readonly warnings: readonly Diagnostic[];
}

export interface Library {
	/** What the directory has now, or had in the last five seconds. */
	load(context: CatalogContext): Catalog;
	/** Changes whenever a file that `load` would read does, and is found without reading any. */
	stamp(context: CatalogContext): string;
	/** After a file was changed. */
	invalidate(): void;
}

export interface CatalogContext {
	readonly agentDirectory: string;
	/** Whose definitions are read beside ours. */
	readonly sources: readonly ForeignSource[];
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
		stamp: stampOf,
		invalidate: () => catalogs.clear(),
	};
}

function stampOf(context: CatalogContext): string {
	const parts = [JSON.stringify(context)];
	for (const place of placesOf(context.trust.cwd, context.agentDirectory, context.sources)) {
		const verdict = place.scope === "global" ? "trusted" : trustOf(place.base, context.trust);
		parts.push(`${verdict} ${place.directory}`);
		for (const file of definitionFiles(place.directory).files) {
			const stats = lstatSync(`${place.directory}/${file}`, { throwIfNoEntry: false });
			parts.push(`${file} ${stats?.size} ${stats?.mtimeMs} ${stats?.ctimeMs}`);
		}
	}
	return createHash("sha256").update(parts.join("\n")).digest("hex");
}

function loadCatalog({ agentDirectory, sources, trust }: CatalogContext, files: ParsedFiles): Catalog {
	const work = createLoadWork();
	const diagnostics: Diagnostic[] = [];
	const warnings: Diagnostic[] = [];
	const untrusted = new Set<string>();
	const found = placesOf(trust.cwd, agentDirectory, sources).flatMap((place) => {
		const verdict = place.scope === "global" ? "trusted" : trustOf(place.base, trust);
		const read = readPlace(place, verdict === "unasked" ? "unasked" : "trusted", files, work);
		if (verdict !== "refused") {
			diagnostics.push(...read.diagnostics);
			warnings.push(...read.warnings);
			return read.entries;
		}
		if (read.entries.length > 0) diagnostics.push(ignored(place, read.entries.length));
		for (const { name } of read.entries) untrusted.add(name);
		return [];
	});
	return { entries: byName(found), ignored: untrusted, diagnostics, warnings };
}

const ignored = ({ directory }: Place, count: number): Diagnostic => ({
	path: directory,
	line: undefined,
	message: `${count === 1 ? "1 definition is" : `${count} definitions are`} ignored, because this project is not trusted (${HOW_TO_TRUST})`,
});

export const HOW_TO_TRUST = "trust it with /trust, or start pi with --approve";
export const IGNORED_FOR_TRUST = `ignored, because the project is not trusted (${HOW_TO_TRUST})`;

/** What a project brought that nobody has decided about: a foreign file of it hides nothing of the person's own. */
const comesLast = (entry: Entry): boolean => {
	const { kind, scope, trust } = originOf(entry);
	return isForeignSource(kind) && scope === "project" && trust === "unasked";
};

function byName(entries: readonly Entry[]): Map<string, readonly Entry[]> {
	const ordered = [...entries.filter((entry) => !comesLast(entry)), ...entries.filter(comesLast)];
	const named = Map.groupBy(ordered, ({ name }) => name);
	return new Map([...named].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, all]) => [name, all.map(shadowing(all))]));
}

/** A project's definition that takes the place of a global one of its kind says so. */
const shadowing =
	(all: readonly Entry[]) =>
	(entry: Entry): Entry => {
		const { kind, scope } = originOf(entry);
		const hides = all.some((each) => originOf(each).kind === kind && originOf(each).scope === "global");
		if (scope !== "project" || !hides || comesLast(entry)) return entry;
		const origin = { ...originOf(entry), shadows: true };
		return entry.kind === "usable" ? { ...entry, definition: { ...entry.definition, origin } } : { ...entry, origin };
	};

/** What one place has now, whether it counts or not. */
export const entriesIn = (place: Place): readonly Entry[] =>
	readPlace(place, "trusted", new Map(), createLoadWork()).entries;
