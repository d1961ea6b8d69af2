import {
	type DialectTable,
	flagOf,
	isRecord,
	listOf,
	meaning,
	refused,
	text,
	timeLimit,
	turnLimit,
	unused,
	unusedBecause,
	whenOff,
	whenOn,
} from "./meaning.ts";
import { notOffered } from "./shared-fields.ts";

const NO_EXTENSIONS = meaning("no extensions", { kind: "switched-off", what: "extensions" });
const NO_SKILLS = meaning("no skills", { kind: "switched-off", what: "skills" });

const promptMode = text((value, field) => {
	const mode = value.toLowerCase();
	if (mode === "append" || mode === "replace") return meaning(`the prompt: ${mode}`, { kind: "prompt", mode });
	return refused(`"${field}: ${value}" is not known`);
});

/** Agents of other pi packages, such as tintinweb's and nicobailon's: `.pi/agents`, `.agents/agents`. */
export const PI_PACKAGES: DialectTable = {
	promptmode: promptMode,
	systempromptmode: promptMode,
	enabled: whenOff(() => notOffered('"enabled" is false')),
	/** What it names is code; nothing named switches all off, and everything is the default. */
	extensions: (value, field) => {
		const flag = flagOf(value);
		const entries = flag === undefined ? listOf(value) : [];
		if (flag === true || entries?.every((entry) => entry === "*" || entry === "all") === true) {
			if (flag === true || (entries?.length ?? 0) > 0) return meaning("no effect: all extensions are loaded");
		}
		if (flag === false || entries?.length === 0) return NO_EXTENSIONS;
		return refused(`"${field}" loads code (${entries?.join(", ") ?? "?"})`);
	},
	excludeextensions: (value) =>
		(listOf(value) ?? ["?"]).length === 0 ? meaning("empty") : { ...NO_EXTENSIONS, became: "no extensions at all" },
	subagentonlyextensions: (value, field) =>
		(listOf(value) ?? ["?"]).length === 0 ? meaning("empty") : refused(`"${field}" loads code`),
	isolated: whenOn(() => ({
		became: "no extensions, no skills",
		effects: [...NO_EXTENSIONS.effects, ...NO_SKILLS.effects],
	})),
	skills: (value) => (flagOf(value) === false ? NO_SKILLS : meaning("not used")),
	inheritskills: whenOff(() => NO_SKILLS),
	inheritprojectcontext: whenOff(() => meaning("no context files", { kind: "switched-off", what: "context files" })),
	timeoutms: timeLimit(0.001),
	maxexecutiontimems: timeLimit(0.001),
	maxruntimems: timeLimit(0.001),
	maxruntimeseconds: timeLimit(1),
	inheritcontext: unusedBecause("a sub-agent knows its task alone"),
	defaultcontext: unusedBecause("a sub-agent knows its task alone"),
	runinbackground: unusedBecause("background_agent starts it in the background"),
	maxsubagentdepth: unusedBecause("no sub-agent starts others"),
	turnbudget: (value, field) => turnLimit(isRecord(value) ? value.maxTurns : value, field),
	toolbudget: (_value, field) => refused(`"${field}" cannot be enforced`),
	fallbackmodels: unused,
	displayname: unused,
};
