import type { ToolPolicy } from "../domain/definition.ts";
import { FINALIZE_TOOL } from "../domain/finalized.ts";
import { nearestNames } from "../domain/nearest-names.ts";
import { PACKAGE_TOOLS } from "../domain/package-tools.ts";
import type { McpSupport } from "../domain/pi-version.ts";
import { err, ok, type Result, unreachable } from "../domain/result.ts";
import type { ToolDemand } from "../domain/spec.ts";
import {
	ALL_MCP_TOOLS,
	coversAllMcpTools,
	isMcpTool,
	isPattern,
	matchesTool,
	withResourceTools,
} from "../domain/tool-pattern.ts";

/** A policy whose names are all of tools that there are. See foreign-tools.ts for the others. */
export type OwnPolicy = Exclude<ToolPolicy, { kind: "allow-known" | "deny-known" }>;

/** What the session that asks has. */
export interface SessionTools {
	/** Every tool, active or not. */
	readonly all: readonly string[];
	readonly active: readonly string[];
	/** Those of `all` that pi does not declare to the model by itself, such as codemode and most tools of MCP servers. */
	readonly indirect: readonly string[];
}

export interface ToolRequest {
	readonly policy: OwnPolicy;
	/** What a definition without a word about tools gets: pi's defaults, or what the parent uses now. */
	readonly unrestricted: "defaults" | "active";
	/** The child has tools that the parent cannot know: it loads extensions of its own, or works elsewhere. */
	readonly hasOthers: { readonly extensions: boolean; readonly cwd: boolean };
	/** Tools that every child of this contract has. */
	readonly internal: readonly string[];
	/** Of the child's pi, with the extensions that the child loads. */
	readonly mcp: McpSupport;
}

export interface ToolPlan {
	readonly args: readonly string[];
	/** What the child is limited to; undefined = no limit. */
	readonly names: readonly string[] | undefined;
	/** It is asked, before its first request. */
	readonly demand: ToolDemand;
}

const NO_DEMAND: ToolDemand = { kind: "has", names: [] };

const BUILT_IN: readonly string[] = ["read", "bash", "powershell", "edit", "write", "grep", "find", "ls"];

/** These reach tools that are not declared to the model. */
const SCRIPT_TOOL = "codemode";
const REACHING: readonly string[] = [SCRIPT_TOOL, "tool_search"];

/** `tools` is asked only where it matters. */
export function planTools(request: ToolRequest, tools: () => SessionTools): Result<ToolPlan> {
	const { policy } = request;
	switch (policy.kind) {
		case "inherit":
			if (request.unrestricted === "defaults") return ok({ args: [], names: undefined, demand: NO_DEMAND });
			return ok(inheriting(inheritable(tools().active), [], request));
		case "none":
			return ok(limitedTo([], request));
		case "allow":
			return planAllowed(policy.names, request, tools());
		case "deny":
			return planDenied(policy, request, tools());
		default:
			return unreachable(policy);
	}
}

function planAllowed(asked: readonly string[], request: ToolRequest, tools: SessionTools): Result<ToolPlan> {
	const { extensions, cwd } = request.hasOthers;
	const isAsked = extensions || cwd;
	const named = [...new Set(asked)].filter((name) => name !== FINALIZE_TOOL);
	const names = isAsked ? named : [...new Set(named.flatMap((name) => expanded(name, tools)))];
	const own = names.filter((name) => PACKAGE_TOOLS.includes(name));
	if (own.length > 0)
		return err(`No sub-agent can have the tools ${quoted(own)}: it could start sub-agents of its own`);
	const unknown = isAsked ? [] : names.filter((name) => !isMcpTool(name) && !isKnown(name, tools));
	if (unknown.length > 0) return err(unknownTools(unknown, tools));
	const reaching = names.some((name) => isScripted(name, tools)) && !names.some((name) => REACHING.includes(name));
	const plan = limitedTo(reaching ? [...names, SCRIPT_TOOL] : names, request);
	return ok({ ...plan, demand: { kind: "has", names } });
}

/** A pattern stands for the tools that there are; which ones an MCP server has is known once it is connected. */
function expanded(name: string, tools: SessionTools): readonly string[] {
	if (!isPattern(name) || isMcpTool(name)) return [name];
	const matching = available(tools).filter((each) => matchesTool(name, each));
	return matching.length > 0 ? matching : [name];
}

/**
 * Whether a tool may be one that only a script can call. A server that is not connected yet has not said which of its
 * tools are; most are.
 */
function isScripted(name: string, { all, indirect }: SessionTools): boolean {
	if (!isMcpTool(name)) return false;
	const matching = all.filter((each) => matchesTool(name, each));
	return matching.length === 0 || matching.some((each) => indirect.includes(each));
}

function planDenied(
	{ names, from }: Extract<ToolPolicy, { kind: "deny" }>,
	request: ToolRequest,
	tools: SessionTools,
): Result<ToolPlan> {
	const { hasOthers, internal } = request;
	const isOurs = (name: string) => PACKAGE_TOOLS.includes(name) || name === FINALIZE_TOOL;
	const meant = withOtherShells(names.flatMap((name) => expanded(name, tools)));
	const unknown = meant.filter((name) => !isMcpTool(name) && !isKnown(name, tools) && !isOurs(name));
	const denied = withResourceTools(meant).filter((name) => !internal.includes(name) && !unknown.includes(name));
	// What is taken from all tools is taken from those of its own extensions too, which only the child knows.
	const isAsked = hasOthers.extensions || (hasOthers.cwd && unknown.length > 0);
	if (isAsked && from === "all") {
		const args = [...exclude(denied), ...(coversAllMcpTools(denied) ? withoutMcp(request) : [])];
		const patterns = names.filter((name) => isPattern(name) && !isMcpTool(name));
		return ok({
			args,
			names: undefined,
			demand: { kind: "has-all-but", names: [...new Set([...unknown, ...patterns])] },
		});
	}
	if (unknown.length > 0) return err(unknownTools(unknown, tools));
	// Tools that pi does not declare by itself are no part of "all": nobody has chosen them.
	const { all, active, indirect } = tools;
	const offered = from === "active" ? active : all.filter((name) => !indirect.includes(name) || active.includes(name));
	const left = inheritable(offered).filter((name) => !denied.some((each) => matchesTool(each, name)));
	return ok(inheriting(left, denied, request));
}

/** Where one shell is denied, the other one would do the same. */
const withOtherShells = (names: readonly string[]): readonly string[] =>
	names.includes("bash") ? [...new Set([...names, "powershell"])] : names;

const inheritable = (names: readonly string[]) =>
	names.filter((name) => !PACKAGE_TOOLS.includes(name) && name !== FINALIZE_TOOL);

/** Limited to tools of the session. Where these reach MCP tools that are not declared, the child's reach the same. */
function inheriting(names: readonly string[], denied: readonly string[], request: ToolRequest): ToolPlan {
	const reaches = names.some((name) => REACHING.includes(name)) && !coversAllMcpTools(denied);
	if (!reaches || request.mcp === "none") return limitedTo(names, request);
	const plan = limitedTo([...names, ALL_MCP_TOOLS], request);
	return { ...plan, names, args: [...plan.args, ...exclude(denied)] };
}

/** pi's `--tools` is a hard limit for all tools but those of MCP servers. */
function limitedTo(names: readonly string[], request: ToolRequest): ToolPlan {
	const all = [...names, ...request.internal];
	const reachesMcp = names.some(isMcpTool);
	const args = [
		...(all.length === 0 ? ["--no-tools"] : ["--tools", all.join(",")]),
		...(reachesMcp || all.length === 0 || request.mcp === "none" ? [] : exclude([ALL_MCP_TOOLS])),
		...(reachesMcp ? [] : withoutMcp(request)),
	];
	return { args, names, demand: NO_DEMAND };
}

const exclude = (names: readonly string[]) => (names.length === 0 ? [] : ["--exclude-tools", names.join(",")]);

/** A child that can use no MCP tool starts no MCP server. */
const withoutMcp = ({ mcp }: ToolRequest) => (mcp === "switchable" ? ["--no-mcp"] : []);

const isKnown = (name: string, { all }: SessionTools) => all.includes(name) || BUILT_IN.includes(name);

export const available = ({ all }: SessionTools) => inheritable([...new Set([...BUILT_IN, ...all])]);

const quoted = (names: readonly string[]) => names.map((name) => `"${name}"`).join(", ");

const unknownTools = (unknown: readonly string[], tools: SessionTools): string =>
	`Unknown tools: ${quoted(unknown)}. Available tools: ${nearestNames(unknown[0] ?? "", available(tools))}`;
