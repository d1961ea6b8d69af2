import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { err, messageOf, ok, type Result } from "../domain/result.ts";

/** Beside the sources in a checkout, beside the bundle in a package. */
const DIRECTORY = fileURLToPath(
	new URL(import.meta.url.endsWith(".ts") ? "../../examples/" : "../examples/", import.meta.url),
);

/** Definitions that come along to be copied. No session ever loads them from here. */
export function exampleNames(): string[] {
	try {
		return readdirSync(DIRECTORY)
			.filter((file) => file.endsWith(".md"))
			.map((file) => basename(file, ".md"))
			.sort();
	} catch {
		return [];
	}
}

export function readExample(name: string): Result<string> {
	const names = exampleNames();
	if (!names.includes(name)) {
		return err(`Unknown example: "${name}". Available examples: ${names.join(", ") || "(none)"}`);
	}
	try {
		return ok(readFileSync(join(DIRECTORY, `${name}.md`), "utf8"));
	} catch (error) {
		return err(messageOf(error));
	}
}
