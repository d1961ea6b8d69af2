import { type Effect, flagOf, isRecord, listOf, type Meaning, meaning, type Reading, refused } from "./meaning.ts";
import { BUILT_IN_TOOLS, CHANGING_TOOLS, deniedWith, piToolOf, scopeOf } from "./tool-names.ts";

const EVERYTHING = new Set(["*", "all", "inherit"]);
const NOTHING = new Set(["none", "false"]);
/** An entry that loads code: a path, or a file of an extension. */
const LOADS_CODE = /^(?:\.{0,2}\/|~\/|npm:|git:|https?:)|\.(?:ts|js|mjs|cjs)$/;
/** Tools of another package's extensions, which pi knows under other names. */
const SELECTOR = /^(?:ext|mcp):/i;

const only = (tools: readonly string[]): Effect => ({ kind: "only", tools });
const without = (tools: readonly string[]): Effect => ({ kind: "without", tools });
const NO_RESTRICTION = meaning("no restriction");
const NO_TOOLS = meaning("no tools", only([]));

/** What the agent may use: a list, or OpenCode's mapping. */
export const allowedTools: Reading = (value, field) => {
	if (isRecord(value)) return toolSwitches(value, field);
	if (typeof value === "boolean") return value ? NO_RESTRICTION : NO_TOOLS;
	const entries = listOf(value);
	if (entries === undefined) return refused(`"${field}" must be a list of tools`);
	const code = entries.find((entry) => LOADS_CODE.test(entry));
	if (code !== undefined) return refused(`"${field}" loads code (${code})`);
	const words = entries.map((entry) => entry.toLowerCase());
	const selectors = entries.filter((entry) => SELECTOR.test(entry));
	if (words.some((word) => EVERYTHING.has(word))) {
		if (selectors.length === 0) return NO_RESTRICTION;
		return meaning(`pi's own tools; left out: ${selectors.join(", ")}`, only(BUILT_IN_TOOLS));
	}
	if (entries.length === 0 || words.every((word) => NOTHING.has(word))) return NO_TOOLS;
	const scoped = entries.filter((entry) => scopeOf(entry) !== undefined);
	const tools = [
		...new Set(entries.filter((entry) => !scoped.includes(entry) && !selectors.includes(entry)).map(piToolOf)),
	];
	const left = [...scoped, ...selectors];
	const leftOut =
		left.length === 0
			? ""
			: `; left out: ${left.join(", ")}${scoped.length > 0 ? " (pi allows a tool whole or not at all)" : ""}`;
	if (tools.length === 0) return refused(`no tool of "${field}" is left (${left.join(", ")})`);
	return meaning(`tools: ${tools.join(", ")}${leftOut}`, only(tools));
};

/** What the agent may not use. A part of a tool takes the whole tool away. */
export const deniedTools: Reading = (value, field) => {
	if (isRecord(value)) {
		const names = Object.entries(value).filter(([, each]) => flagOf(each) !== false);
		return denied(names.map(([name]) => name));
	}
	const entries = listOf(value);
	if (entries === undefined) return refused(`"${field}" must be a list of tools`);
	if (entries.some((entry) => EVERYTHING.has(entry.toLowerCase()))) return NO_TOOLS;
	return denied(entries.filter((entry) => !NOTHING.has(entry.toLowerCase())));
};

function denied(entries: readonly string[]): Meaning {
	const tools = [...new Set(entries.flatMap((entry) => deniedWith(scopeOf(entry)?.tool ?? entry)))];
	if (tools.length === 0) return NO_RESTRICTION;
	const parts = entries.filter((entry) => scopeOf(entry) !== undefined);
	const whole = parts.length === 0 ? "" : ` (${parts.join(", ")} takes the whole tool away)`;
	return meaning(`all tools but ${tools.join(", ")}${whole}`, without(tools));
}

/** `{write: false}` is an exclusion, `{"*": false, read: true}` a list, and `{read: true}` alone restricts nothing. */
function toolSwitches(switches: Readonly<Record<string, unknown>>, field: string): Meaning {
	const rules: Rule[] = [];
	for (const [name, value] of Object.entries(switches)) {
		const flag = flagOf(value) ?? verdictOf(value);
		if (flag === undefined) return refused(`"${field}.${name}" must be true or false`);
		rules.push({ name, allows: flag });
	}
	return applied(rules, piToolOf, switchedOff);
}

/** OpenCode has one permission for all tools that change files: who switches one of them off, switches off all. */
const switchedOff = (name: string): readonly string[] =>
	["edit", "write"].includes(piToolOf(name)) ? ["edit", "write"] : deniedWith(name);

interface Rule {
	readonly name: string;
	readonly allows: boolean;
}

/** The last rule for everything decides about what is not named; what is denied anywhere stays denied. */
function applied(
	rules: readonly Rule[],
	grantedBy: (name: string) => string | readonly string[],
	deniedBy: (name: string) => readonly string[],
): Meaning {
	const at = rules.findLastIndex(({ name }) => name === "*");
	const no = [
		...new Set(rules.filter(({ name, allows }) => name !== "*" && !allows).flatMap(({ name }) => deniedBy(name))),
	];
	if (rules[at]?.allows === false) {
		const yes = rules.slice(at + 1).filter(({ allows }) => allows);
		const tools = [...new Set(yes.flatMap(({ name }) => grantedBy(name)))].filter((tool) => !no.includes(tool));
		return tools.length === 0 ? NO_TOOLS : meaning(`tools: ${tools.join(", ")}`, only(tools));
	}
	return no.length === 0 ? NO_RESTRICTION : meaning(`all tools but ${no.join(", ")}`, without(no));
}

/** `ask` counts as deny, because nobody can be asked. */
function verdictOf(value: unknown): boolean | undefined {
	if (value === "allow") return true;
	return value === "deny" || value === "ask" ? false : undefined;
}

/** What OpenCode's permissions are about, where that is not one tool of the same name. */
const PERMITTED: ReadonlyMap<string, readonly string[]> = new Map([["edit", ["edit", "write"]]]);

/** Permissions that are about something else than a tool. */
const NO_TOOL: ReadonlyMap<string, (allows: boolean) => Meaning> = new Map<string, (allows: boolean) => Meaning>([
	["skill", (allows) => (allows ? NO_RESTRICTION : meaning("no skills", { kind: "switched-off", what: "skills" }))],
	[
		"external_directory",
		(allows) => (allows ? NO_RESTRICTION : refused('"permission.external_directory" cannot be enforced')),
	],
	["doom_loop", () => meaning("loops are always detected")],
]);

/** OpenCode's `permission`: allow, ask or deny, for all, for a tool, or for a part of a tool. */
export const permissions: Reading = (value, field) => {
	const single = typeof value === "string" ? verdictOf(value) : undefined;
	if (single !== undefined) return single ? NO_RESTRICTION : NO_TOOLS;
	if (!isRecord(value)) return refused(`"${field}" must be allow, ask or deny, or such words for tools`);
	const rules: Rule[] = [];
	const others: Meaning[] = [];
	for (const [name, rule] of Object.entries(value)) {
		const allows = isRecord(rule) ? allowsAll(rule) : verdictOf(rule);
		if (allows === undefined) return refused(`"${field}.${name}" has a value that is not known`);
		const other = NO_TOOL.get(name);
		if (other) others.push(other(allows));
		else rules.push({ name, allows });
	}
	const granted = (name: string) => PERMITTED.get(name) ?? piToolOf(name);
	const taken = (name: string) => PERMITTED.get(name) ?? deniedWith(name);
	const parts = Object.entries(value).filter(([, rule]) => isRecord(rule) && allowsAll(rule) === false);
	const tools = applied(rules, granted, taken);
	const whole =
		parts.length === 0 ? [] : [`a rule for a part of ${parts.map(([name]) => name).join(", ")} takes the whole away`];
	return meaning(
		[tools.became, ...others.map(({ became }) => became), ...whole].join("; "),
		...tools.effects,
		...others.flatMap(({ effects }) => effects),
	);
};

/** Whether a mapping of patterns allows everything. Undefined where a word in it is not known. */
function allowsAll(patterns: Readonly<Record<string, unknown>>): boolean | undefined {
	const verdicts = Object.values(patterns).map(verdictOf);
	if (verdicts.includes(undefined)) return undefined;
	return verdicts.length > 0 && verdicts.every((verdict) => verdict === true) && "*" in patterns;
}

export const readOnly = (why: string): Meaning =>
	meaning(`no ${CHANGING_TOOLS.join(", ")} (${why})`, without(CHANGING_TOOLS));

/** A hook of a tool may forbid a use of it: the tool goes. A hook of anything else cannot be kept to. */
export const hooks: Reading = (value, field) => {
	if (value === null || value === undefined) return NO_RESTRICTION;
	if (!isRecord(value)) return refused(`"${field}" cannot be run`);
	const taken: string[] = [];
	for (const [event, groups] of Object.entries(value)) {
		const matchers = TOOL_HOOKS.has(event) ? matchersOf(groups) : undefined;
		if (matchers === undefined) return refused(`"${field}.${event}" cannot be run`);
		taken.push(...matchers);
	}
	return taken.length === 0 ? NO_RESTRICTION : denied(taken);
};

const TOOL_HOOKS = new Set(["PreToolUse", "PostToolUse", "PermissionRequest"]);

/** The tools that hooks are for; undefined where that may be any tool. */
function matchersOf(groups: unknown): string[] | undefined {
	if (!Array.isArray(groups)) return undefined;
	const names = groups.map((group) => {
		const matcher = isRecord(group) ? group.matcher : undefined;
		return typeof matcher === "string" && /^[\w|]+$/.test(matcher) ? matcher.split("|") : undefined;
	});
	return names.includes(undefined) ? undefined : names.flatMap((each) => each ?? []);
}
