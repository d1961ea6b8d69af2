import { setTimeout as delay } from "node:timers/promises";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { FINALIZE_TOOL } from "../domain/finalized.ts";
import type { ToolDemand } from "../domain/spec.ts";
import { isMcpTool, matchesTool } from "../domain/tool-pattern.ts";

const MISSING_TOOLS_EXIT_CODE = 71;

/** How long a server whose tools the definition names may take to connect. pi waits as long for some servers, not for all. */
const MAX_CONNECTING_MS = 10_000;
const POLL_MS = 20;

/** These reach tools that are not declared to the model. */
const REACHING: readonly string[] = ["codemode", "tool_search"];

interface Tool {
	readonly name: string;
	/** Undefined in pi 0.87, where every tool is declared to the model. */
	readonly exposure?: string;
}

/** Sees to what only the child can see to, because only the child knows all of its tools. */
export function enforceTools(pi: ExtensionAPI, told: Promise<ToolDemand>): void {
	const all = (): readonly Tool[] => pi.getAllTools();
	const isDenied = ({ kind, names }: ToolDemand, tool: string) =>
		kind === "has-all-but" && tool !== FINALIZE_TOOL && names.some((name) => matchesTool(name, tool));
	let isChecked = false;

	// Not before: other extensions may still register tools when the session starts.
	pi.on("before_agent_start", async () => {
		const demand = await told;
		if (demand.kind !== "has-all-but") return;
		const active = pi.getActiveTools();
		endWithout(missingAmong(demand.names, all()), all());
		const direct = all().filter(({ name, exposure }) => isDirect(exposure) || active.includes(name));
		pi.setActiveTools(direct.map(({ name }) => name).filter((name) => !isDenied(demand, name)));
	});

	// pi waits for MCP servers in its own `before_agent_start`, which comes later than that of this extension.
	pi.on("context", async () => {
		const { kind, names } = await told;
		if (isChecked || kind !== "has") return;
		isChecked = true;
		const missing = () => missingAmong(names, reachable(all(), pi.getActiveTools()));
		const isConnecting = () => hasServers(all()) && missing().length > 0 && missing().every(isMcpTool);
		const deadline = performance.now() + MAX_CONNECTING_MS;
		while (isConnecting() && performance.now() < deadline) await delay(POLL_MS);
		endWithout(missing(), reachable(all(), pi.getActiveTools()));
	});

	// Another extension may make a tool active that the definition has taken away.
	pi.on("tool_call", async ({ toolName }) =>
		isDenied(await told, toolName)
			? { block: true, reason: `${toolName} is not available to this sub-agent` }
			: undefined,
	);
}

const isDirect = (exposure: string | undefined) => (exposure ?? "direct") === "direct";

/** Since pi has MCP servers, tools have an exposure. */
const hasServers = (tools: readonly Tool[]) => tools.some(({ exposure }) => exposure !== undefined);

/** What the model can call, or have called by a script. */
function reachable(all: readonly Tool[], active: readonly string[]): readonly Tool[] {
	const reaches = active.some((name) => REACHING.includes(name));
	return all.filter(
		({ name, exposure }) => active.includes(name) || (reaches && exposure !== "hidden" && !isDirect(exposure)),
	);
}

const missingAmong = (names: readonly string[], tools: readonly Tool[]) =>
	names.filter((pattern) => !tools.some(({ name }) => matchesTool(pattern, name)));

function endWithout(missing: readonly string[], tools: readonly Tool[]): void {
	if (missing.length === 0) return;
	const unknown = missing.map((name) => `"${name}"`).join(", ");
	const has = tools.map(({ name }) => name).join(", ") || "(none)";
	const why = hasServers(tools) && missing.every(isMcpTool) ? " No MCP server has offered them." : "";
	process.stderr.write(`Unknown tools: ${unknown}.${why} The sub-agent has: ${has}\n`);
	process.exit(MISSING_TOOLS_EXIT_CODE);
}
