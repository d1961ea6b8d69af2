import { CHANGES_POLICIES } from "../domain/changes.ts";
import {
	type AgentDefinition,
	type DefinitionKind,
	NAME_PATTERN,
	type SkillPolicy,
	type ToolPolicy,
} from "../domain/definition.ts";
import { ISOLATIONS } from "../domain/isolation.ts";
import { MAX_TIMEOUT_SECONDS } from "../domain/longest-timeout.ts";
import { err, ok, type Result } from "../domain/result.ts";
import { createFieldReader, type Field, type FieldReader } from "./fields.ts";
import { type Frontmatter, frontmatterLines, type Problem, readFrontmatter } from "./frontmatter.ts";
import type { ReadBeside } from "./output-schema.ts";

/** What the text of a file amounts to. Where it came from is for the catalog to add. */
export type Parsed =
	| {
			readonly kind: "definition";
			readonly definition: Omit<AgentDefinition, "origin">;
			/** As the file has it: a foreign name may have other characters. */
			readonly writtenName: string;
			/** What a person may want to mend; it is used all the same. */
			readonly warnings: readonly Problem[];
	  }
	/** It has a name, and cannot be used. `contradictory`: no single field is wrong, but two exclude each other. */
	| {
			readonly kind: "rejected";
			readonly name: string;
			readonly problems: readonly Problem[];
			readonly contradictory: boolean;
	  }
	/** Foreign: an agent that is no sub-agent. It keeps its name from others. */
	| { readonly kind: "not-offered"; readonly name: string; readonly problem: Problem }
	/** No name is known of it, or no description where one is needed: it takes no name from any definition. */
	| { readonly kind: "broken"; readonly problem: Problem }
	/** A file that happens to lie there; what is said of it where only definitions are expected. */
	| { readonly kind: "other"; readonly problem: Problem | undefined };

const OTHER: Parsed = { kind: "other", problem: undefined };
const NO_FRONTMATTER: Parsed = {
	kind: "other",
	problem: {
		line: undefined,
		message: 'has no frontmatter, so it is no definition: begin it with lines such as "---", "name: scout" and "---"',
	},
};

const TITLES: Readonly<Record<DefinitionKind, string>> = { profile: "Profile", preset: "Preset", agent: "Agent" };

const readNothing: ReadBeside = () => err("cannot be read");

/** Never throws, whatever the text is. */
export function parseDefinition(text: string, kind: DefinitionKind, readBeside: ReadBeside = readNothing): Parsed {
	const frontmatter = readFrontmatter(text);
	if (frontmatter?.ok) return parseFields(frontmatter.value, kind, readBeside);
	if (frontmatter === undefined) return kind === "agent" ? OTHER : NO_FRONTMATTER;
	return parseMalformed(frontmatterLines(text), frontmatter.error, kind);
}

const NAME_LINE = /^["']?name["']?[ \t]*:[ \t]+(["']?)([\w-]+)\1[ \t]*(?:[ \t]#.*)?$/m;
const DESCRIPTION_LINE = /^["']?description["']?[ \t]*:(?:[ \t]+|[ \t]*\n[ \t]+)(?!""|'')[^\s#]/m;

/** YAML that cannot be read. What the file calls itself can be: no other definition is taken for it. */
function parseMalformed(lines: string, problem: Problem, kind: DefinitionKind): Parsed {
	const name = NAME_LINE.exec(lines)?.[2];
	const described = DESCRIPTION_LINE.test(lines);
	// What lies in a directory of prompts is a template of pi's unless it says otherwise.
	if (kind === "agent" && !(described && /^["']?name["']?\s*:/m.test(lines))) return OTHER;
	if (name === undefined || (kind === "preset" && !described)) return { kind: "broken", problem };
	return { kind: "rejected", name, problems: [problem], contradictory: false };
}

function parseFields(frontmatter: Frontmatter, kind: DefinitionKind, readBeside: ReadBeside): Parsed {
	const reader = createFieldReader(frontmatter, readBeside);
	const identity = readIdentity(reader, frontmatter, kind);
	if ("kind" in identity) return identity;
	const { name, description } = identity;
	const title = `${TITLES[kind]} "${name}"`;
	const tools = readTools(reader, title);
	const skills = readSkills(reader, title);
	const definition = {
		name,
		description,
		model: {
			rule: "own" as const,
			provider: reader.text("provider"),
			name: reader.text("model"),
			thinking: reader.thinkingLevel("thinkingLevel"),
		},
		fallbackModels: reader.list("fallbackModels") ?? [],
		body: frontmatter.body,
		promptMode: kind === "preset" ? ("append" as const) : ("replace" as const),
		addition: reader.verbatim("appendSystemPrompt") ?? "",
		extensions: { discover: !reader.flag("noExtensions"), paths: reader.list("extensions") ?? [] },
		contextFiles: reader.flag("noContextFiles") ? ("none" as const) : ("inherit" as const),
		apiKey: reader.text("apiKey"),
		extraArgs: reader.list("extraArgs") ?? [],
		timeoutSeconds: reader.number("timeout", 1, MAX_TIMEOUT_SECONDS),
		budget: {
			tokens: reader.limit("maxTokens", "whole"),
			cost: reader.limit("maxCost", "any"),
			turns: reader.limit("maxTurns", "whole"),
		},
		mayAsk: reader.flag("mayAsk", true),
		output: reader.schema("output"),
		isolation: reader.choice("isolation", ISOLATIONS) ?? "none",
		changes: reader.choice("changes", CHANGES_POLICIES),
		translated: [],
	};
	reader.unavailable("network", "cannot be limited yet: leave the field out");
	if (reader.problems.length > 0) return { kind: "rejected", name, problems: reader.problems, contradictory: false };
	if (tools.ok && skills.ok) {
		return {
			kind: "definition",
			definition: { ...definition, tools: tools.value, skills: skills.value },
			writtenName: name,
			warnings: [],
		};
	}
	const contradictions = [tools, skills].flatMap((each) => (each.ok ? [] : [each.error]));
	const problems = contradictions.map((each) => locate(each, frontmatter));
	return { kind: "rejected", name, problems, contradictory: contradictions.some(({ excludes }) => excludes) };
}

/** What is wrong with fields that each have a value they can have. */
interface Contradiction {
	readonly field: Field;
	readonly message: string;
	/** Two fields exclude each other: no call with such a definition runs, not even its other tasks. */
	readonly excludes: boolean;
}

const locate = ({ field, message }: Contradiction, { lineOf }: Frontmatter): Problem => ({
	line: lineOf(field),
	message,
});

function readIdentity(
	reader: FieldReader,
	{ lineOf }: Frontmatter,
	kind: DefinitionKind,
): { readonly name: string; readonly description: string } | Parsed {
	const name = reader.text("name");
	const description = reader.text("description");
	if (kind === "agent" && (name === undefined || description === undefined)) return OTHER;
	const broken = (problem: Problem): Parsed => ({ kind: "broken", problem: reader.problems[0] ?? problem });
	if (name === undefined) return broken({ line: 1, message: 'the field "name" is missing' });
	if (!NAME_PATTERN.test(name)) {
		return broken({ line: lineOf("name"), message: "a name consists of letters, digits, - and _" });
	}
	if (kind === "preset" && description === undefined) {
		return broken({ line: 1, message: 'the field "description" is missing' });
	}
	return { name, description: description ?? "" };
}

function readTools(reader: FieldReader, title: string): Result<ToolPolicy, Contradiction> {
	const given = (fields: readonly Field[]) =>
		fields.flatMap((field) => {
			const names = reader.list(field);
			return names === undefined ? [] : [{ field, names }];
		});
	const none = reader.flag("noTools");
	const allowed = given(["tools", "approved_tools", "allowed_tools"]);
	const denied = given(["excludeTools", "denied_tools"]).filter(({ names }) => names.length > 0);
	if (none) return ok({ kind: "none" });
	const [allow, otherAllow] = allowed;
	const [deny, otherDeny] = denied;
	if (allow && deny) {
		return err({
			field: deny.field,
			message: `${title} has both "${allow.field}" (allowlist) and "${deny.field}" (blacklist) set. These are mutually exclusive — choose one or the other.`,
			excludes: true,
		});
	}
	const twice = otherAllow ?? otherDeny;
	if (twice) {
		const first = (allow ?? deny)?.field;
		return err({
			field: twice.field,
			message: `${title} has both "${first}" and "${twice.field}" set. Keep one of them.`,
			excludes: false,
		});
	}
	if (allow && allow.names.length === 0) {
		return err({
			field: allow.field,
			message: `${title} has an empty "${allow.field}". Name tools, or set "noTools".`,
			excludes: false,
		});
	}
	if (allow) return ok({ kind: "allow", names: allow.names });
	if (deny) return ok({ kind: "deny", names: deny.names, from: deny.field === "denied_tools" ? "active" : "all" });
	return ok({ kind: "inherit" });
}

function readSkills(reader: FieldReader, title: string): Result<SkillPolicy, Contradiction> {
	const none = reader.flag("noSkills");
	const suggested = reader.list("suggestedSkills") ?? [];
	const loaded = reader.list("loadSkills") ?? [];
	const excludes = (field: Field, why: string) =>
		err({
			field,
			message: `${title} has both "${field}" and "noSkills" set. These are mutually exclusive — --no-skills ${why}.`,
			excludes: true,
		});
	if (none && suggested.length > 0) return excludes("suggestedSkills", "would override --skill flags");
	if (none && loaded.length > 0) return excludes("loadSkills", "disables skill discovery");
	if (none) return ok({ kind: "none" });
	return ok(suggested.length + loaded.length > 0 ? { kind: "named", suggested, loaded } : { kind: "inherit" });
}
