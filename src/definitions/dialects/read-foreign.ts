import { basename } from "node:path";
import type { AgentDefinition, ForeignSource, ToolPolicy, TranslatedField } from "../../domain/definition.ts";
import type { Problem } from "../frontmatter.ts";
import type { Parsed } from "../parse.ts";
import { CLAUDE } from "./claude.ts";
import { readLeniently } from "./lenient-frontmatter.ts";
import { type DialectTable, type Effect, isRecord, type Meaning, meaning, plainField, refused } from "./meaning.ts";
import { OPENCODE } from "./opencode.ts";
import { PI_PACKAGES } from "./pi-packages.ts";
import { SHARED } from "./shared-fields.ts";
import { fitsTool, isToolName } from "./tool-names.ts";

/**
 * Which tables a field is looked up in, per source. The source's own comes first; the others follow, because people move
 * files from one program to another, and a restriction in another program's words is still one.
 */
const TABLES: Readonly<Record<ForeignSource, readonly DialectTable[]>> = {
	pi: [PI_PACKAGES, SHARED, CLAUDE, OPENCODE],
	agents: [PI_PACKAGES, SHARED, CLAUDE, OPENCODE],
	claude: [CLAUDE, SHARED, OPENCODE, PI_PACKAGES],
	opencode: [OPENCODE, SHARED, CLAUDE, PI_PACKAGES],
};

/** A field that no table has may restrict all the same: then nobody may call the file until a table names the field. */
const RESTRICTS =
	/permission|allow|den(?:y|ied)|readonly|isolat|forbid|exclu|restrict|sandbox|prohibit|block(?:ed|list)|whitelist|guard(?:s|rail)/;

/** Whose words a file uses, where its path does not say. */
export function dialectOf(fields: Readonly<Record<string, unknown>>): ForeignSource {
	const names = Object.keys(fields).map(plainField);
	if (isRecord(fields.tools) || names.some((name) => ["mode", "permission", "temperature"].includes(name)))
		return "opencode";
	const own = names.some((name) => name in PI_PACKAGES);
	return own ? "pi" : "claude";
}

/** A definition from a file of another program. Never throws, whatever the text is. */
export function parseForeign(text: string, source: ForeignSource, path: string): Parsed {
	const read = readLeniently(text, isField, (name) => TEXT_FIELDS.has(plainField(name)));
	const file = basename(path, ".md");
	if (read === undefined) return { kind: "other", problem: undefined };
	if (!read.ok) return { kind: "rejected", name: callName(file, file), problems: [read.error], contradictory: false };
	const { fields, body, lineOf, warnings } = read.value;
	if (!Object.keys(fields).some(isField)) return { kind: "other", problem: undefined };
	const readings = Object.entries(fields).map(([field, value]) => ({ field, ...meaningOf(field, value, source) }));
	const effects = readings.flatMap((each) => each.effects.map((effect) => ({ ...effect, field: each.field })));
	const translated = readings.map(({ field, became }) => ({ field, became }));
	const written = textOf(effects, "name") ?? file;
	const name = callName(written, file);
	const problems = effects.flatMap((effect): Problem[] =>
		effect.kind === "refused" ? [{ line: lineOf(effect.field), message: effect.reason }] : [],
	);
	const hidden = effects.find((effect) => effect.kind === "not-offered");
	if (hidden) return { kind: "not-offered", name, problem: { line: lineOf(hidden.field), message: hidden.reason } };
	const tools = toolsOf(effects);
	if (tools === undefined) problems.push({ line: lineOf("tools"), message: "no tool is left that it may use" });
	if (problems.length > 0 || tools === undefined) return { kind: "rejected", name, problems, contradictory: false };
	return {
		kind: "definition",
		definition: definitionOf(name, body, effects, tools, translated),
		writtenName: written,
		warnings,
	};
}

const TEXT_FIELDS = new Set(["name", "description", "displayname", "color", "prompt", "initialprompt"]);

const KNOWN = new Set([SHARED, CLAUDE, OPENCODE, PI_PACKAGES].flatMap((table) => Object.keys(table)));

const isField = (name: string) => KNOWN.has(plainField(name)) || RESTRICTS.test(plainField(name));

function meaningOf(field: string, value: unknown, source: ForeignSource): Meaning {
	const plain = plainField(field);
	const reading = TABLES[source].map((table) => (Object.hasOwn(table, plain) ? table[plain] : undefined)).find(Boolean);
	if (reading) return reading(value, field);
	return RESTRICTS.test(plain) || (!TOPICS.has(plain) && restrictsByValue(value))
		? refused(`"${field}" may be a restriction, and is not known here`)
		: meaning("not used");
}

/** What an agent is about: a tool that is named there is only a word. */
const TOPICS = new Set(["tags", "tag", "keywords", "category", "categories", "languages", "topics", "acceptancerole"]);
const RIGHTS = new Set(["read", "write", "edit", "delete", "bash", "execute"]);

/** Whether a field that no table has says what the agent may do: `read-only`, a list of tools, or `{read: true, write: false}`. */
function restrictsByValue(value: unknown): boolean {
	if (Array.isArray(value) && value.some(restrictsByValue)) return true;
	const words = typeof value === "string" ? value.split(/[,\s]+/).filter(Boolean) : value;
	if (Array.isArray(words) && words.length > 0 && words.every((word) => typeof word === "string")) {
		return words.every(isToolName) || words.every((word) => /^read-?only$/i.test(word));
	}
	return isRecord(value) && Object.entries(value).some(([name, each]) => RIGHTS.has(name) && typeof each === "boolean");
}

/** A name that can be called: other characters become hyphens, and what has none of ours is called as its file is. */
export function callName(written: string, file: string): string {
	const plain = (name: string) => name.replace(/[^a-zA-Z0-9_-]+/g, "-").replace(/^-+|-+$/g, "");
	return plain(written) || plain(file) || "agent";
}

type Applied = Effect & { readonly field: string };

function textOf(effects: readonly Applied[], kind: "name" | "description" | "addition"): string | undefined {
	const found = effects.find((effect) => effect.kind === kind);
	return found?.kind === kind && found.text !== "" ? found.text : undefined;
}

/** What all lists together leave; undefined where they leave nothing of what they name. */
function toolsOf(effects: readonly Applied[]): ToolPolicy | undefined {
	const lists = effects.flatMap((effect) => (effect.kind === "only" ? [effect.tools] : []));
	const denied = [...new Set(effects.flatMap((effect) => (effect.kind === "without" ? effect.tools : [])))];
	const [first, ...others] = lists;
	if (first === undefined) return denied.length === 0 ? { kind: "inherit" } : { kind: "deny-known", names: denied };
	if (lists.some((list) => list.length === 0)) return { kind: "none" };
	const fits = (list: readonly string[], name: string) => list.some((entry) => fitsTool(entry, name));
	const names = first.filter((name) => others.every((list) => fits(list, name)) && !fits(denied, name));
	if (names.length === 0) return undefined;
	// A pattern may stand for tools that are denied by name: only the session knows which they are.
	return { kind: "allow-known", names, but: names.some((name) => name.includes("*")) ? denied : [] };
}

function definitionOf(
	name: string,
	body: string,
	effects: readonly Applied[],
	tools: ToolPolicy,
	translated: readonly TranslatedField[],
): Omit<AgentDefinition, "origin"> {
	const last = <K extends Effect["kind"]>(kind: K) =>
		effects.findLast((effect): effect is Extract<Applied, { kind: K }> => effect.kind === kind);
	const isOff = (what: string) => effects.some((effect) => effect.kind === "switched-off" && effect.what === what);
	const limits = effects.flatMap((effect) => (effect.kind === "timeout" ? [effect.seconds] : []));
	const turns = effects.flatMap((effect) => (effect.kind === "turns" ? [effect.count] : []));
	return {
		name,
		description: textOf(effects, "description") ?? "",
		model: {
			rule: "foreign",
			provider: last("provider")?.name,
			name: last("model")?.name,
			thinking: last("thinking")?.level,
		},
		fallbackModels: [],
		body,
		promptMode: last("prompt")?.mode ?? "replace",
		addition: textOf(effects, "addition") ?? "",
		tools,
		skills: isOff("skills") ? { kind: "none" } : { kind: "inherit" },
		extensions: { discover: !isOff("extensions"), paths: [] },
		contextFiles: isOff("context files") ? "none" : "inherit",
		apiKey: undefined,
		extraArgs: [],
		budget: { tokens: 0, cost: 0, turns: turns.length === 0 ? 0 : Math.min(...turns) },
		timeoutSeconds: limits.length === 0 ? undefined : Math.min(...limits),
		mayAsk: true,
		output: undefined,
		isolation: last("own-tree") ? "worktree" : "none",
		changes: undefined,
		translated,
	};
}
