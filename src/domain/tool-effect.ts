import { FINALIZE_TOOL } from "./finalized.ts";

/**
 * What a call of a tool can do to files: nothing; write the one that its `path` names; whatever a command of the shell can;
 * or anything, because nobody here knows the tool.
 */
export type ToolEffect = "none" | "file" | "command" | "unknown";

const EFFECTS: ReadonlyMap<string, ToolEffect> = new Map([
	...["read", "grep", "find", "ls", "codemode", "tool_search", FINALIZE_TOOL].map((name) => [name, "none"] as const),
	...["write", "edit"].map((name) => [name, "file"] as const),
	...["bash", "powershell"].map((name) => [name, "command"] as const),
]);

export const effectOf = (tool: string): ToolEffect => EFFECTS.get(tool) ?? "unknown";

/** These reach tools that are not declared to the model: a child that has them may call tools that nobody has named. */
const REACHING: readonly string[] = ["codemode", "tool_search"];

/** The most that a child with these tools can do; undefined stands for all tools. */
export function effectOfAll(tools: readonly string[] | undefined): "none" | "file" | "any" {
	if (tools === undefined || tools.some((name) => REACHING.includes(name))) return "any";
	const effects = tools.map(effectOf);
	if (effects.some((effect) => effect === "command" || effect === "unknown")) return "any";
	return effects.includes("file") ? "file" : "none";
}
