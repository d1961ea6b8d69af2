import { type DialectTable, meaning, refused, text, unused } from "./meaning.ts";
import { notOffered } from "./shared-fields.ts";
import { permissions } from "./tool-fields.ts";

/** Agents of OpenCode: `.opencode/agent`, `.opencode/agents`. */
export const OPENCODE: DialectTable = {
	mode: text((value, field) => {
		const mode = value.toLowerCase();
		if (mode === "primary") return notOffered('"mode" is "primary"');
		return ["", "subagent", "all"].includes(mode)
			? meaning("offered as a sub-agent")
			: refused(`"${field}: ${value}" is not known`);
	}),
	permission: permissions,
	permissions,
	temperature: unused,
	topp: unused,
	variant: unused,
	prompt: unused,
	textverbosity: unused,
};
