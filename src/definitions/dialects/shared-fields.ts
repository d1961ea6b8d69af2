import {
	type DialectTable,
	meaning,
	refused,
	text,
	thinking,
	timeLimit,
	turnLimit,
	unused,
	whenOn,
	wordOf,
} from "./meaning.ts";
import { allowedTools, deniedTools, readOnly } from "./tool-fields.ts";

const INHERIT = new Set(["", "inherit", "default", "session", "parent"]);

/** Fields that mean the same in every dialect, and fields of our own that somebody may use in a foreign place. */
export const SHARED: DialectTable = {
	name: text((value) => meaning("the name", { kind: "name", text: value })),
	description: text((value) => meaning("the description", { kind: "description", text: value })),
	model: text((value) => {
		const name = value.replace(/\[[^\]]*\]$/, "").trim(); // sonnet[1m]
		return INHERIT.has(name.toLowerCase())
			? meaning("the session's model")
			: meaning(`the model ${name}`, { kind: "model", name });
	}),
	provider: text((value) =>
		value === "" ? meaning("empty") : meaning(`the provider ${value}`, { kind: "provider", name: value }),
	),
	thinking,
	thinkinglevel: thinking,
	effort: thinking,
	reasoningeffort: thinking,
	tools: allowedTools,
	allowedtools: allowedTools,
	approvedtools: allowedTools,
	disallowedtools: deniedTools,
	deniedtools: deniedTools,
	excludetools: deniedTools,
	excludedtools: deniedTools,
	notools: whenOn(() => allowedTools("none", "noTools")),
	noextensions: whenOn(() => meaning("no extensions", { kind: "switched-off", what: "extensions" })),
	noskills: whenOn(() => meaning("no skills", { kind: "switched-off", what: "skills" })),
	nocontextfiles: whenOn(() => meaning("no context files", { kind: "switched-off", what: "context files" })),
	readonly: whenOn(() => readOnly("read-only")),
	appendsystemprompt: text((value) => meaning("appended to the system prompt", { kind: "addition", text: value })),
	timeout: timeLimit(1),
	disable: whenOn((field) => notOffered(`"${field}" is set`)),
	disabled: whenOn((field) => notOffered(`"${field}" is set`)),
	extensions: (_value, field) => refused(`"${field}" is only for definitions of this package`),
	extraargs: (_value, field) => refused(`"${field}" is only for definitions of this package`),
	apikey: (_value, field) => refused(`"${field}" is only for definitions of this package`),
	isolation: (value, field) =>
		value === null || value === false || value === "none" || value === "shared"
			? meaning("no effect")
			: value === "worktree"
				? meaning("a tree of its own; its changes come back on a branch", { kind: "own-tree" })
				: refused(`"${field}: ${wordOf(value)}" cannot be had`),
	maxturns: turnLimit,
	steps: turnLimit,
	maxsteps: turnLimit,
	skills: unused,
	skill: unused,
	color: unused,
	hidden: unused,
	memory: unused,
};

export const notOffered = (reason: string) =>
	meaning(`not offered as a sub-agent: ${reason}`, { kind: "not-offered", reason });
