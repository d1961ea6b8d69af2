/** The names of tools as definitions write them: exact names, or patterns in which `*` stands for any characters. */

/** Read what MCP servers offer beside their tools. pi registers them without the prefix. */
const MCP_RESOURCE_TOOLS: readonly string[] = [
	"list_mcp_resources",
	"list_mcp_resource_templates",
	"read_mcp_resource",
];
const MCP_PREFIX = "mcp__";
export const ALL_MCP_TOOLS = `${MCP_PREFIX}*`;

export const isPattern = (name: string): boolean => name.includes("*");

export function matchesTool(pattern: string, name: string): boolean {
	if (!isPattern(pattern)) return pattern === name;
	const [first = "", ...rest] = pattern.split("*");
	const last = rest.pop() ?? "";
	if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
	let from = first.length;
	for (const part of rest) {
		const at = name.indexOf(part, from);
		if (at < 0) return false;
		from = at + part.length;
	}
	return from <= name.length - last.length;
}

/** A tool of an MCP server, or a pattern of such tools. Only a pi that has connected to its servers knows which there are. */
export const isMcpTool = (name: string): boolean => name.startsWith(MCP_PREFIX) || MCP_RESOURCE_TOOLS.includes(name);

/** Whether the patterns match every MCP tool, whatever its name is. */
export const coversAllMcpTools = (patterns: readonly string[]): boolean =>
	patterns.some((pattern) => /^[^*]*\*+$/.test(pattern) && MCP_PREFIX.startsWith(pattern.replace(/\*+$/, "")));

/** The patterns, and where one denies many MCP tools, also the tools that read the resources of every server. */
export const withResourceTools = (denied: readonly string[]): readonly string[] =>
	denied.some((name) => isPattern(name) && isMcpTool(name)) ? [...denied, ...MCP_RESOURCE_TOOLS] : denied;
