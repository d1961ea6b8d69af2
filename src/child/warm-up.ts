import { readdirSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * Loads what pi would load for its first request in this dialect of a provider: the provider's client, which pi keeps in a
 * file of its own, and Node's fetch. Best effort; pi loads what is not found here when it needs it.
 */
export async function warmUp(dialect: string): Promise<void> {
	await Promise.allSettled([loadClient(dialect), fetch("data:,")]);
}

async function loadClient(dialect: string): Promise<void> {
	const chunks = join(dirname(realpathSync(process.argv[1] ?? "")), "chunks");
	const name = readdirSync(chunks).find((each) => /^(.+)-[0-9A-Z]+\.js$/.exec(each)?.[1] === dialect);
	if (name !== undefined) await import(pathToFileURL(join(chunks, name)).href);
}
