import { existsSync } from "node:fs";

/** A child has no delegation tools: nothing is even loaded there. */
const isChild = process.env.PI_SUBAGENTS_CHILD === "1" || process.env.PI_SUBAGENT_CHILD === "1";

/** In a checkout pi loads the source, in a published package the bundle. */
export default async function extension(pi) {
	if (isChild) return;
	const inCheckout = existsSync(new URL("./src/index.ts", import.meta.url));
	const { default: register } = await import(inCheckout ? "./src/index.ts" : "./dist/index.js");
	register(pi);
}
