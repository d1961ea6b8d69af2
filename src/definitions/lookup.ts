import { type AgentDefinition, DEFINITION_KINDS, type DefinitionKind } from "../domain/definition.ts";
import { cut } from "../domain/messages.ts";
import { nearestNames } from "../domain/nearest-names.ts";
import { err, ok, type Result } from "../domain/result.ts";
import { type Catalog, describeDiagnostic, IGNORED_FOR_TRUST } from "./catalog.ts";
import type { Entry, RejectedEntry } from "./read-place.ts";

/** Each word looks in its own kind first. */
const ORDER: Readonly<Record<DefinitionKind, readonly DefinitionKind[]>> = {
	profile: ["profile", "preset", "agent"],
	preset: ["preset", "profile", "agent"],
	agent: ["agent", "profile", "preset"],
};

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
	const names = new Set(DEFINITION_KINDS.flatMap((kind) => [...catalog.kinds[kind].keys()]));
	return [...names].sort().flatMap((name) => {
		const entries = entriesOf(catalog, word, name);
		return entries.flatMap((entry) => (entry.kind === "usable" ? [entry.definition] : [])).slice(0, 1);
	});
}

/** Definitions of other kinds with the same name: what the other words would reach. */
export function namesakes(catalog: Catalog, { name, origin }: AgentDefinition): AgentDefinition[] {
	return DEFINITION_KINDS.filter((kind) => kind !== origin.kind).flatMap((kind) => {
		const entry = catalog.kinds[kind].get(name);
		return entry?.kind === "usable" ? [entry.definition] : [];
	});
}

/** Also one that cannot be used: it is not passed over for another of its name. */
export function findEntry(catalog: Catalog, word: DefinitionKind, name: string): Entry | undefined {
	return entriesOf(catalog, word, name)[0];
}

function entriesOf(catalog: Catalog, word: DefinitionKind, name: string): Entry[] {
	return ORDER[word].map((kind) => catalog.kinds[kind].get(name)).filter((entry) => entry !== undefined);
}
