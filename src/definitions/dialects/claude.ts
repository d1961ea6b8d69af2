import { type DialectTable, meaning, refused, text, unused, unusedBecause, whenOn } from "./meaning.ts";
import { hooks, readOnly } from "./tool-fields.ts";

/** Modes in which Claude Code asks for more, or for less, but forbids nothing. pi asks for nothing. */
const ASKING_MODES = new Set(["", "default", "acceptedits", "auto", "bypasspermissions"]);

/** Agents of Claude Code: `.claude/agents`. */
export const CLAUDE: DialectTable = {
	permissionmode: text((value, field) => {
		const mode = value.toLowerCase();
		if (mode === "plan") return readOnly("plan mode");
		if (mode === "dontask") return readOnly("nobody can be asked");
		return ASKING_MODES.has(mode) ? meaning("no restriction") : refused(`"${field}: ${value}" is not known`);
	}),
	hooks,
	omitclaudemd: whenOn(() => meaning("no context files", { kind: "switched-off", what: "context files" })),
	mcpservers: unusedBecause("a sub-agent has the servers that pi has"),
	background: unusedBecause("background_agent starts it in the background"),
	initialprompt: unused,
};
