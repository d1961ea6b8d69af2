/** What differs between the versions of pi that this package runs on. */

/** The oldest pi that the package supports. */
export const MIN_PI: readonly [number, number, number] = [0, 87, 0];

/** Whether the built-in MCP support exists, and whether a child can be started without it. */
export type McpSupport = "none" | "always on" | "switchable";

const BUILT_IN_MCP = [0, 99, 0] as const;
const NO_MCP_FLAG = [1, 0, 4] as const;

export function mcpSupportOf(version: string): McpSupport {
	if (isBefore(version, BUILT_IN_MCP)) return "none";
	return isBefore(version, NO_MCP_FLAG) ? "always on" : "switchable";
}

/** What this pi makes possible, or what a newer one would: for the doctor. */
export function describeFeatures(version: string): string {
	const support = mcpSupportOf(version);
	if (support === "none") return "MCP tools and codemode scripts need pi 0.99 or later.";
	const servers =
		support === "switchable"
			? "Sub-agents that cannot use MCP tools start no MCP server."
			: "With pi 1.0.4 or later, sub-agents that cannot use MCP tools start no MCP server.";
	return `MCP tools in definitions and structured results for codemode scripts are available. ${servers}`;
}

export function isBefore(version: string, minimum: readonly number[]): boolean {
	const parts = version
		.replace(/^v/, "")
		.split(/[.+-]/)
		.map((part) => Number.parseInt(part, 10) || 0);
	for (const [index, wanted] of minimum.entries()) {
		const own = parts[index] ?? 0;
		if (own !== wanted) return own < wanted;
	}
	return false;
}
