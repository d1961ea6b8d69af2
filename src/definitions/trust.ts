import { hasTrustRequiringProjectResources, ProjectTrustStore } from "@earendil-works/pi-coding-agent";
import { realPath } from "./real-path.ts";

/**
 * What is known about a project's directory.
 * - `refused`: pi ignores what the project brings, or somebody said no.
 * - `trusted`: somebody said yes.
 * - `unasked`: the project has nothing that pi would ask about, and nobody has decided.
 */
export type Trust = "refused" | "trusted" | "unasked";

/** What is known of the session that asks. */
export interface TrustContext {
	readonly cwd: string;
	/** Where pi keeps its trust decisions: always its own agent directory. */
	readonly agentDirectory: string;
	/** pi's answer for `cwd`; true, too, where it had nothing to ask about. */
	readonly isProjectTrusted: boolean;
	/** `--approve` or `--no-approve` of this process. */
	readonly flag: "approve" | "no-approve" | undefined;
	/** The person's setting `defaultProjectTrust` is "always". */
	readonly trustsByDefault: boolean;
}

/** Decided for the directory that holds the files in question, which may be an ancestor of the session's. */
export function trustOf(directory: string, context: TrustContext): Trust {
	const own = realPath(directory) === realPath(context.cwd);
	const asked = hasTrustRequiringProjectResources(directory);
	if (context.flag !== undefined) return context.flag === "approve" ? "trusted" : "refused";
	if (own && !context.isProjectTrusted) return "refused";
	if (own && asked) return "trusted";
	const stored = storedDecision(directory, context.agentDirectory);
	if (stored !== undefined) return stored ? "trusted" : "refused";
	if (context.trustsByDefault) return "trusted";
	return asked ? "refused" : "unasked";
}

/** What the command line of this pi says about trust; the last flag wins, as in pi. */
export function trustFlagOf(argv: readonly string[]): TrustContext["flag"] {
	const last = argv.findLast((argument) => ["--approve", "-a", "--no-approve", "-na"].includes(argument));
	if (last === undefined) return undefined;
	return last === "--approve" || last === "-a" ? "approve" : "no-approve";
}

function storedDecision(directory: string, agentDirectory: string): boolean | undefined {
	try {
		return new ProjectTrustStore(agentDirectory).get(directory) ?? undefined;
	} catch {
		return undefined; // pi reports a broken trust store itself
	}
}
