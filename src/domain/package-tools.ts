/** The names of the package's own tools, by the family that switches them on. */
export type ToolFamily = "delegate" | "subagent" | "background";

export const FAMILY_TOOLS: Readonly<Record<ToolFamily, readonly string[]>> = {
	delegate: ["delegate_to_subagents"],
	subagent: ["subagent"],
	background: ["background_agent", "background_agent_status", "subagent_control"],
};

/** Only the parent has these, and they are there with any family. */
const READING_TOOLS: readonly string[] = ["get_subagent_output", "get_subagent_session", "list_subagent_profiles"];

export const FAMILIES: readonly ToolFamily[] = ["delegate", "subagent", "background"];

export const toolsOf = (families: readonly ToolFamily[]): readonly string[] =>
	families.length === 0 ? [] : [...families.flatMap((family) => FAMILY_TOOLS[family]), ...READING_TOOLS];

/** No child has any of these: it could start children of its own. */
export const PACKAGE_TOOLS: readonly string[] = toolsOf(FAMILIES);
