import { fileURLToPath } from "node:url";

/** A program that runs outside of the parent: beside this file in a checkout, beside the bundle in a package. */
export function scriptPath(name: "supervisor" | "extension"): string {
	const inSource = import.meta.url.endsWith(".ts");
	return fileURLToPath(new URL(inSource ? `./${name}.ts` : `./${name}.js`, import.meta.url));
}

/** Node 22 prints a warning when it strips types; nobody reads it there. */
export const NODE_FLAGS: readonly string[] = ["--disable-warning=ExperimentalWarning"];
