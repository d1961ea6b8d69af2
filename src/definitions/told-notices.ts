import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const MAX_PROJECTS = 500;

/** What a session was told about a project's definitions when it started. */
export interface Told {
	/** Of the files that the notices are about: while it is the same, nothing has to be read to know them. */
	readonly stamp: string;
	/** About definitions of our own kinds: told in every session. */
	readonly own: string | undefined;
	/** About agents of other programs: told once. */
	readonly foreign: string | undefined;
}

const pathIn = (agentDirectory: string) => join(agentDirectory, "subagents", "told-notices.json");

export function recallNotices(agentDirectory: string, project: string): Told | undefined {
	return readTold(pathIn(agentDirectory))[project];
}

/** Best effort: where nothing can be remembered, definitions are read and notices told every time. */
export function rememberNotices(agentDirectory: string, project: string, told: Told): void {
	const path = pathIn(agentDirectory);
	const { [project]: _before, ...others } = readTold(path);
	write(path, Object.fromEntries([...Object.entries(others).slice(-(MAX_PROJECTS - 1)), [project, told]]));
}

function readTold(path: string): Readonly<Record<string, Told>> {
	try {
		const told: unknown = JSON.parse(readFileSync(path, "utf8"));
		return typeof told === "object" && told !== null ? (told as Record<string, Told>) : {};
	} catch {
		return {};
	}
}

function write(path: string, told: Readonly<Record<string, Told>>): void {
	const temporary = `${path}.${process.pid}`;
	try {
		mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
		writeFileSync(temporary, JSON.stringify(told), { mode: 0o600 });
		renameSync(temporary, path);
	} catch {
		rmSync(temporary, { force: true });
	}
}
