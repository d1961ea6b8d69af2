import type { ToolPolicy } from "../domain/definition.ts";
import { FINALIZE_TOOL } from "../domain/finalized.ts";
import { err, ok, type Result, unreachable } from "../domain/result.ts";
import type { ToolDemand } from "../domain/spec.ts";

/** What the session that asks has. */
export interface SessionTools {
	/** Every tool, active or not. */
	readonly all: readonly string[];
	readonly active: readonly string[];
}

export interface ToolRequest {
	readonly policy: ToolPolicy;
	/** What a definition without a word about tools gets: pi's defaults, or what the parent uses now. */
	readonly unrestricted: "defaults" | "active";
	/** The child has tools that the parent cannot know: it loads extensions of its own, or works elsewhere. */
	readonly hasOthers: { readonly extensions: boolean; readonly cwd: boolean };
	/** Tools that every child of this contract has. */
	readonly internal: readonly string[];
}

export interface ToolPlan {
	readonly args: readonly string[];
	/** What the child is limited to; undefined = no limit. */
	readonly names: readonly string[] | undefined;
	/** It is asked, before its first request. */
	readonly demand: ToolDemand;
}

const NO_DEMAND: ToolDemand = { kind: "has", names: [] };

/** No child has any of these: it could start children of its own. */
export const PACKAGE_TOOLS: readonly string[] = [
	"delegate_to_subagents",
	"get_subagent_output",
	"get_subagent_session",
	"list_subagent_profiles",
	"subagent",
	"background_agent",
	"background_agent_status",
];
const BUILT_IN: readonly string[] = ["read", "bash", "powershell", "edit", "write", "grep", "find", "ls"];

/** `tools` is asked only where it matters. */
export function planTools(request: ToolRequest, tools: () => SessionTools): Result<ToolPlan> {
	const { policy, internal } = request;
	switch (policy.kind) {
		case "inherit":
			if (request.unrestricted === "defaults") return ok({ args: [], names: undefined, demand: NO_DEMAND });
			return ok(limitedTo(inheritable(tools().active), internal));
		case "none":
			return ok(limitedTo([], internal));
		case "allow":
			return planAllowed(policy.names, request, tools());
		case "deny":
			return planDenied(policy, request, tools());
		default:
			return unreachable(policy);
	}
}

function planAllowed(asked: readonly string[], request: ToolRequest, tools: SessionTools): Result<ToolPlan> {
	const names = [...new Set(asked)].filter((name) => name !== FINALIZE_TOOL);
	const own = names.filter((name) => PACKAGE_TOOLS.includes(name));
	if (own.length > 0)
		return err(`No sub-agent can have the tools ${quoted(own)}: it could start sub-agents of its own`);
	const { extensions, cwd } = request.hasOthers;
	const unknown = extensions || cwd ? [] : names.filter((name) => !isKnown(name, tools));
	if (unknown.length > 0) return err(unknownTools(unknown, tools));
	return ok({ ...limitedTo(names, request.internal), demand: { kind: "has", names } });
}

function planDenied(
	{ names, from }: Extract<ToolPolicy, { kind: "deny" }>,
	{ hasOthers, internal }: ToolRequest,
	tools: SessionTools,
): Result<ToolPlan> {
	const unknown = names.filter(
		(name) => !isKnown(name, tools) && !PACKAGE_TOOLS.includes(name) && name !== FINALIZE_TOOL,
	);
	// What is taken from all tools is taken from those of its own extensions too, which only the child knows.
	const isAsked = hasOthers.extensions || (hasOthers.cwd && unknown.length > 0);
	if (isAsked && from === "all") {
		const excluded = names.filter((name) => !internal.includes(name) && !unknown.includes(name));
		const args = excluded.length === 0 ? [] : ["--exclude-tools", excluded.join(",")];
		return ok({ args, names: undefined, demand: { kind: "has-all-but", names: unknown } });
	}
	if (unknown.length > 0) return err(unknownTools(unknown, tools));
	return ok(
		limitedTo(
			inheritable(tools[from]).filter((name) => !names.includes(name)),
			internal,
		),
	);
}

const inheritable = (names: readonly string[]) =>
	names.filter((name) => !PACKAGE_TOOLS.includes(name) && name !== FINALIZE_TOOL);

function limitedTo(names: readonly string[], internal: readonly string[]): ToolPlan {
	const all = [...names, ...internal];
	return { args: all.length === 0 ? ["--no-tools"] : ["--tools", all.join(",")], names, demand: NO_DEMAND };
}

const isKnown = (name: string, { all }: SessionTools) => all.includes(name) || BUILT_IN.includes(name);

const quoted = (names: readonly string[]) => names.map((name) => `"${name}"`).join(", ");

function unknownTools(unknown: readonly string[], { all }: SessionTools): string {
	const available = inheritable([...new Set([...BUILT_IN, ...all])]);
	return `Unknown tools: ${quoted(unknown)}. Available tools: ${available.join(", ")}`;
}
