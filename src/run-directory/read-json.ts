import { readFile } from "node:fs/promises";

/** For files that we write, at once and whole; one that is not there, or not ours, is none. */
export async function readJson<T extends object>(path: string): Promise<T | undefined> {
	try {
		const value: unknown = JSON.parse(await readFile(path, "utf8"));
		return typeof value === "object" && value !== null ? (value as T) : undefined;
	} catch {
		return undefined;
	}
}
