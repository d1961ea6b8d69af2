import { sanitizeLine } from "./sanitize.ts";

const MAX_NAMES = 10;

/** What an agent is told of files that it had read and that have changed since; undefined where there are none. */
export function changedFilesText(names: readonly string[]): string | undefined {
	if (names.length === 0) return undefined;
	const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
	const list = `${names.slice(0, MAX_NAMES).map(sanitizeLine).join(", ")}${more}`;
	return names.length === 1
		? `Changed since you read it: ${list}. Read it again before you rely on it.`
		: `Changed since you read them: ${list}. Read them again before you rely on them.`;
}
