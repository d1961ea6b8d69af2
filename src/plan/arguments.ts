import type { Trust } from "../definitions/trust.ts";
import type { Invocation } from "../domain/spec.ts";

/** How the child of a run is started. Prompts and keys are never arguments: everybody can read those. */
export interface ChildOptions {
	readonly pi: Invocation;
	/** Ours, in the order in which pi loads them. */
	readonly extensions: readonly string[];
	readonly session: { readonly kind: "none" } | { readonly kind: "file"; readonly path: string };
	/** Undefined where the child's directory is not the project that the decision is about. */
	readonly trust: Trust | undefined;
	/** What the model, the definition and the tools come to. */
	readonly agentArgs: readonly string[];
}

export function planArguments(options: ChildOptions): Invocation {
	const { pi, session, trust } = options;
	return {
		command: pi.command,
		args: [
			...pi.args,
			...["--mode", "json", "-p"],
			...(session.kind === "none" ? ["--no-session"] : ["--session", session.path]),
			...options.extensions.flatMap((path) => ["-e", path]),
			...(trust === "trusted" ? ["--approve"] : trust === "refused" ? ["--no-approve"] : []),
			...options.agentArgs,
		],
	};
}
