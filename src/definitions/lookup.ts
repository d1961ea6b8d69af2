import {
	type AgentDefinition,
	DEFINITION_KINDS,
	type DefinitionKind,
	type DefinitionSource,
	type Origin,
} from "../domain/definition.ts";
import { cut } from "../domain/messages.ts";
import { nearestNames } from "../domain/nearest-names.ts";
import { err, ok, type Result } from "../domain/result.ts";
import { type Catalog, describeDiagnostic, IGNORED_FOR_TRUST } from "./catalog.ts";
import { type Entry, originOf, type RejectedEntry } from "./read-place.ts";

const IGNORED = `. The project has one of this name, which is ${IGNORED_FOR_TRUST}`;

/** Of a name that nobody knows, which may be a whole text. */
export const MAX_ECHOED = 200;

/** `contradictory`: the whole call is refused, not one task alone. */
export interface LookupFailure {
	readonly kind: "unknown" | "rejected" | "contradictory";
	readonly message: string;
}

export function findDefinition(
	catalog: Catalog,
	word: DefinitionKind,
	name: string,
): Result<AgentDefinition, LookupFailure> {
	const entry = findEntry(catalog, word, name);
	if (entry === undefined) {
		const available = callable(catalog, word).map((each) => each.name);
		return err({
			kind: "unknown",
			message: `Unknown ${word}: "${cut(name, MAX_ECHOED)}". Available ${word}s: ${
				nearestNames(name, available) || "(none)"
			}${catalog.ignored.has(name) ? IGNORED : ""}`,
		});
	}
	if (entry.kind === "usable") return ok(entry.definition);
	if (entry.contradictory) return err({ kind: "contradictory", message: entry.problem.message });
	if (entry.kind === "not-offered") {
		return err({ kind: "rejected", message: `The ${word} "${name}" is no sub-agent: ${whatIsWrong(entry)}` });
	}
	return err({ kind: "rejected", message: `The ${word} "${name}" cannot be used: ${whatIsWrong(entry)}` });
}

/** With the file that has to be mended. */
export const whatIsWrong = ({ problem, origin }: RejectedEntry): string =>
	describeDiagnostic({ ...problem, path: origin.path });

/** Why a call that names these must not start at all; undefined where nothing speaks against it. */
export function contradictionAmong(
	catalog: Catalog,
	word: DefinitionKind,
	names: readonly (string | undefined)[],
): string | undefined {
	for (const name of names) {
		const found = name === undefined ? undefined : findDefinition(catalog, word, name);
		if (found && !found.ok && found.error.kind === "contradictory") return found.error.message;
	}
	return undefined;
}

/** One definition per name, sorted by name: what the word reaches, or where that cannot be used, what another word does. */
export function callable(catalog: Catalog, word: DefinitionKind): AgentDefinition[] {
	return [...catalog.entries.values()].flatMap((all) => {
		const entries = [reachedBy(word, all), ...reachable(all)];
		return entries.flatMap((entry) => (entry?.kind === "usable" ? [entry.definition] : [])).slice(0, 1);
	});
}

/** Names that no word reaches a usable definition by, and why: what a call of one would say. */
export function uncallable(catalog: Catalog): RejectedEntry[] {
	return [...catalog.entries.values()].flatMap((all) => {
		const entries = reachable(all);
		if (entries.some(({ kind }) => kind === "usable")) return [];
		return entries.flatMap((entry) => (entry.kind === "usable" ? [] : [entry])).slice(0, 1);
	});
}

/** Foreign agents that are no sub-agents, where their name stands for nothing else. */
export const notOffered = (catalog: Catalog): RejectedEntry[] =>
	[...catalog.entries.values()].flatMap(([first]) => (first?.kind === "not-offered" ? [first] : []));

/** Definitions of other kinds with the same name: what the other words would reach. */
export function namesakes(catalog: Catalog, { name, origin }: AgentDefinition): AgentDefinition[] {
	return reachable(catalog.entries.get(name) ?? []).flatMap((entry) =>
		entry.kind === "usable" && originOf(entry).path !== origin.path ? [entry.definition] : [],
	);
}

/** Where the definitions are that nobody reaches, because their name is taken. */
export function hiddenBy(catalog: Catalog, { name }: AgentDefinition): Origin[] {
	const all = catalog.entries.get(name) ?? [];
	const reached = reachable(all);
	return all.filter((entry) => !reached.includes(entry)).map(originOf);
}

/** Also one that cannot be used: it is not passed over for another of its name. */
export function findEntry(catalog: Catalog, word: DefinitionKind, name: string): Entry | undefined {
	const all = catalog.entries.get(name);
	return all ? reachedBy(word, all) : findWritten(catalog, name);
}

/** Of our kinds: the definition that counts in this one. */
export const countingEntry = (catalog: Catalog, kind: DefinitionSource, name: string): Entry | undefined =>
	catalog.entries.get(name)?.find((entry) => originOf(entry).kind === kind);

/** A name as a foreign file has it, where only one has it. */
function findWritten(catalog: Catalog, written: string): Entry | undefined {
	const fitting = [...catalog.entries.values()]
		.map(([first]) => first)
		.filter((entry) => entry?.kind === "usable" && entry.writtenName === written);
	return fitting.length === 1 ? fitting[0] : undefined;
}

/** Each word looks in its own kind first, then in all, in their order. */
const reachedBy = (word: DefinitionKind, all: readonly Entry[]): Entry | undefined =>
	all.find((entry) => originOf(entry).kind === word) ?? all[0];

/** What any of the words reaches. */
const reachable = (all: readonly Entry[]): Entry[] => {
	const entries = DEFINITION_KINDS.map((word) => reachedBy(word, all));
	return [...new Set(entries.filter((entry) => entry !== undefined))];
};
