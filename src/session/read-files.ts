import { statSync } from "node:fs";
import { relative } from "node:path";
import { resolveToolPath } from "../files/tool-path.ts";

/** The files that the session's agent has read, and whether they are still what it has read. */
export interface ReadFiles {
	/** A tool of the agent begins. */
	started(callId: string, tool: string, args: unknown, cwd: string): void;
	/** It has ended. */
	ended(callId: string, outcome: "done" | "failed"): void;
	/** Files that have changed since the agent read them: each change is told once. */
	takeChanged(cwd: string): readonly string[];
	/** Another session begins. */
	clear(): void;
}

/** More than an agent remembers. */
const MAX_FILES = 2_000;
const GONE = "gone";

interface OpenCall {
	readonly tool: "read" | "write" | "edit";
	readonly path: string;
	readonly before: string;
}

export function createReadFiles(): ReadFiles {
	const stamps = new Map<string, string>();
	const open = new Map<string, OpenCall>();
	const remember = (path: string, stamp: string) => {
		stamps.delete(path);
		stamps.set(path, stamp);
		const [oldest] = stamps.keys();
		if (stamps.size > MAX_FILES && oldest !== undefined) stamps.delete(oldest);
	};
	return {
		started(callId, tool, args, cwd) {
			const { path: written } = (args ?? {}) as { readonly path?: unknown };
			if ((tool !== "read" && tool !== "write" && tool !== "edit") || typeof written !== "string") return;
			const path = resolveToolPath(written, cwd);
			open.set(callId, { tool, path, before: stampOf(path) });
		},
		ended(callId, outcome) {
			const call = open.get(callId);
			open.delete(callId);
			if (!call || outcome === "failed") return;
			const { tool, path, before } = call;
			// A file that changes while it is read counts as changed. So does one that somebody had changed before an edit.
			if (tool === "read") remember(path, before);
			else if (tool === "write" || !stamps.has(path) || stamps.get(path) === before) remember(path, stampOf(path));
		},
		takeChanged(cwd) {
			const changed = [...stamps].filter(([path, stamp]) => stampOf(path) !== stamp).map(([path]) => path);
			for (const path of changed) stamps.delete(path); // it has to be read again to count again
			return changed.map((path) => nameIn(cwd, path)).sort();
		},
		clear() {
			stamps.clear();
			open.clear();
		},
	};
}

/** Changes with every change of the file; times can be set back, but not this one. */
function stampOf(path: string): string {
	try {
		const { dev, ino, size, ctimeNs } = statSync(path, { bigint: true });
		return `${dev} ${ino} ${size} ${ctimeNs}`;
	} catch {
		return GONE;
	}
}

function nameIn(cwd: string, path: string): string {
	const name = relative(cwd, path);
	return name === "" || name.startsWith("..") ? path : name;
}
