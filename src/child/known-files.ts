import { type Change, keyOf, NO_FILE, readEntry, type WriteEntry, writeEntry } from "../files/write-ledger.ts";
import type { WriteGuard } from "./protocol.ts";

/** What a run knows of a file as it is now. */
export type Knowledge =
	/** It has read it, or nobody else has changed it since the run began. */
	| { readonly kind: "current" }
	/** It is another one than the run has read. */
	| { readonly kind: "stale"; readonly change: Change };

export interface KnownFiles {
	/** `version`: of the file now. To be asked by the one that holds its lock. */
	of(path: string, version: string): Knowledge;
	/** It was read. Where it changed meanwhile, nobody knows what was read. */
	read(path: string, before: string, after: string): void;
	/** The run has changed it, and holds its lock. A `write` knows all of the file, an `edit` no more than before. */
	changed(path: string, version: string, by: { readonly tool: "write" | "edit"; readonly knowledge: Knowledge }): void;
}

/** No version is this one. */
const UNCLEAR = "unclear";

export function createKnownFiles({ ledger, name, session, since }: WriteGuard): KnownFiles {
	const versions = new Map<string, string>();
	const isOwn = (entry: WriteEntry | undefined) => entry?.session === session;
	/** Also what an earlier run or process of the same sub-agent has written. */
	const versionKnown = (path: string, entry: WriteEntry | undefined): string | undefined => {
		const known = versions.get(path);
		if (known !== undefined || !isOwn(entry)) return known;
		return entry?.unread ? UNCLEAR : entry?.version;
	};
	const lastChange = (entry: WriteEntry | undefined, version: string): Change => {
		const change = entry?.version !== version ? undefined : isOwn(entry) ? entry.unread : entry;
		return change ?? { at: Date.now() };
	};
	return {
		of(path, version) {
			if (version === NO_FILE) return { kind: "current" }; // there is nothing to lose
			const entry = readEntry(ledger, keyOf(path));
			const known = versionKnown(path, entry);
			const isCurrent = known === undefined ? entry === undefined || entry.at < since : known === version;
			return isCurrent ? { kind: "current" } : { kind: "stale", change: lastChange(entry, version) };
		},
		read(path, before, after) {
			versions.set(path, before === after ? after : UNCLEAR);
		},
		changed(path, version, { tool, knowledge }) {
			const unread = tool === "edit" && knowledge.kind === "stale" ? knowledge.change : undefined;
			versions.set(path, unread ? UNCLEAR : version);
			writeEntry(ledger, keyOf(path), { by: name, session, at: Date.now(), version, unread });
		},
	};
}
