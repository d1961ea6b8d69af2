import { setFlagsFromString } from "node:v8";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

/** While these are on, V8 gives a WebAssembly module its baseline compiler for good. */
const BASELINE: readonly string[] = ["--liftoff-only"];
/** V8's defaults. `--liftoff-only` implies the opposite of the other two, and taking it back does not bring them back. */
const DEFAULTS: readonly string[] = ["--no-liftoff-only", "--wasm-tier-up", "--wasm-dynamic-tiering"];

/**
 * `fetch` parses HTTP with a WebAssembly module. From the second request on V8 would optimize that in the background: 100 ms
 * of processor time, for which a pi that is done has to wait before it can exit, and which the few headers of a child never
 * earn back. So the module gets the baseline compiler. It is compiled with the first connection, and the flags hold until the
 * first answer: Node rejects compiled code that it has cached under other flags, and other modules (images, codemode) are
 * worth optimizing.
 */
export function keepHttpParserSimple(pi: ExtensionAPI): void {
	let asked = false;
	pi.on("before_provider_headers", () => {
		if (!asked) useFlags(BASELINE);
		asked = true;
	});
	pi.on("message_start", ({ message }) => {
		if (message.role === "assistant") useFlags(DEFAULTS);
	});
	process.once("exit", () => useFlags(DEFAULTS)); // Node writes its cache after this
}

/** The same for a connection that is made ahead of the first request. */
export async function withSimpleHttpParser(connect: () => Promise<void>): Promise<void> {
	useFlags(BASELINE);
	try {
		await connect();
	} finally {
		useFlags(DEFAULTS);
	}
}

let current = DEFAULTS;

function useFlags(flags: readonly string[]): void {
	if (current === flags || process.versions.bun !== undefined) return; // Bun has another engine
	current = flags;
	for (const flag of flags) setFlagsFromString(flag);
}
