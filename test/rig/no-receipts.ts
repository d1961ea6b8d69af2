import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Settings without receipts: they add a line to every result, and tests that are about something else do without. */
export const NO_RECEIPTS = { subagents: { receipts: false } } as const;

/** Makes an agent directory with these settings. */
export function makeAgentDirectory(path: string): string {
	mkdirSync(path, { recursive: true });
	writeFileSync(join(path, "settings.json"), JSON.stringify(NO_RECEIPTS));
	return path;
}
