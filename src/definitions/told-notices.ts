import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const MAX_PROJECTS = 500;

/**
 * Whether a project's notice has changed since it was last told, and remembers it. Where nothing can be remembered it is
 * news every time: that is better than never.
 */
export function isNews(agentDirectory: string, project: string, notice: string | undefined): boolean {
	const path = join(agentDirectory, "subagents", "told-notices.json");
	const told = readTold(path);
	if (told[project] === notice) return false;
	const { [project]: _before, ...others } = told;
	const kept = Object.entries(others).slice(-(MAX_PROJECTS - 1));
	write(path, Object.fromEntries(notice === undefined ? kept : [...kept, [project, notice]]));
	return true;
}

function readTold(path: string): Readonly<Record<string, string>> {
	try {
		const told: unknown = JSON.parse(readFileSync(path, "utf8"));
		return typeof told === "object" && told !== null ? (told as Record<string, string>) : {};
	} catch {
		return {};
	}
}

function write(path: string, told: Readonly<Record<string, string>>): void {
	const temporary = `${path}.${process.pid}`;
	try {
		mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
		writeFileSync(temporary, JSON.stringify(told), { mode: 0o600 });
		renameSync(temporary, path);
	} catch {
		rmSync(temporary, { force: true });
	}
}
