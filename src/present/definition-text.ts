import { type Amounts, describeCost, describeCount } from "../domain/budget.ts";
import {
	type AgentDefinition,
	type ForeignSource,
	isForeignSource,
	type ModelChoice,
	type Origin,
	type Scope,
	type SkillPolicy,
	type ToolPolicy,
} from "../domain/definition.ts";
import { maskKey } from "../domain/key.ts";
import type { Listed } from "../domain/listed.ts";
import { cut } from "../domain/messages.ts";
import { unreachable } from "../domain/result.ts";
import { sanitize, sanitizeLine } from "./sanitize.ts";

const MAX_PREVIEW_CHARS = 80;
const MAX_REVIEW_CHARS = 300;
const MAX_REVIEW_LINES = 4;
const MAX_BECAME_CHARS = 300;

/** What is said where nothing is defined. */
export const NO_DEFINITIONS =
	"No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ or .pi/agent-profiles/.";

/** One definition on one line. */
export function definitionLine(
	definition: AgentDefinition,
	namesakes: readonly AgentDefinition[],
	hides: readonly Origin[] = [],
	leftOut: readonly string[] = [],
): string {
	const { name, description, origin, body } = definition;
	const also = namesakes.map((each) => each.origin.kind).join(", ");
	// That a project's hides the global one of its kind stands there already.
	const others = hides.filter(({ kind, scope }) => !(origin.shadows && kind === origin.kind && scope === "global"));
	const hidden = [...new Set(others.map(originWords))].join(", ");
	const parts = [
		`${name} [${originWords(origin)}${also === "" ? "" : `; also: ${also}`}${hidden === "" ? "" : `; hides: ${hidden}`}]`,
		usedModel(definition),
		...(description === "" ? [] : [preview(description)]),
		...(body === "" ? [] : [`"${preview(body)}"`]),
		...settingsWords(definition),
		...(leftOut.length === 0 ? [] : [`left out: ${leftOut.join(", ")}`]),
	];
	return sanitizeLine(parts.join(" · "));
}

/** One name of a list: the definition, or why it cannot be called. */
export function listedLine(listed: Listed): string {
	if (listed.kind === "callable") {
		return definitionLine(listed.definition, listed.namesakes, listed.hides, listed.leftOut);
	}
	const { name, origin, reason } = listed;
	return sanitizeLine(`✗ ${name} [${originWords(origin)}] cannot be called: ${reason}`);
}

/** Everything a definition says, for a person; its key only in outline. */
export const definitionDetails = (definition: AgentDefinition): string => detailsWith(definition, (text) => text);

/** The same with only the beginning of texts: the question must stay on the screen with it. */
export const definitionReview = (definition: AgentDefinition): string =>
	detailsWith(definition, (text) => {
		const shown = cut(text.split("\n").slice(0, MAX_REVIEW_LINES).join("\n"), MAX_REVIEW_CHARS);
		return shown === text ? text : `${shown}…`;
	});

function detailsWith(definition: AgentDefinition, shown: (text: string) => string): string {
	const { name, description, origin, addition, body, promptMode } = definition;
	const lines = [
		`${name} [${originWords(origin)}]`,
		`file: ${origin.path}`,
		...(description === "" ? [] : [`description: ${description}`]),
		`model: ${usedModel(definition)}`,
		...settingsWords(definition),
		...(definition.apiKey === undefined ? [] : [`apiKey: ${maskKey(definition.apiKey)}`]),
		...translatedLines(definition),
	].map(sanitizeLine);
	const texts = [
		...(addition.trim() === "" ? [] : [`appended to the system prompt:\n${addition.trim()}`]),
		...(body === "" ? [] : [`${promptMode === "append" ? "added to" : "replaces"} the system prompt:\n${body}`]),
	].map(shown);
	return [lines.join("\n"), ...texts.map(sanitize)].join("\n\n");
}

/** What each field of a foreign file became. */
const translatedLines = ({ translated }: AgentDefinition): string[] =>
	translated.length === 0
		? []
		: [
				"",
				"fields of the file:",
				...translated.map(({ field, became }) => `- ${field} → ${cut(became, MAX_BECAME_CHARS)}`),
			];

export const originWords = ({ kind, scope, shadows }: Origin): string =>
	`${scope} ${kind}${shadows ? ", hides a global one" : ""}`;

/** A preset must be given a model: no other is used instead. */
const usedModel = ({ model, origin }: AgentDefinition): string =>
	modelWords(model) ?? (origin.kind === "preset" ? "no model: a call as preset must name one" : "the session's model");

export function modelWords({ provider, name, thinking }: ModelChoice): string | undefined {
	const model = [provider, name].filter((part) => part !== undefined).join("/");
	const words = [model, thinking === undefined ? "" : `thinking ${thinking}`].filter((part) => part !== "");
	return words.length === 0 ? undefined : words.join(" ");
}

function settingsWords(definition: AgentDefinition): string[] {
	const { tools, skills, extensions, contextFiles, apiKey, extraArgs, timeoutSeconds, budget, mayAsk } = definition;
	return [
		toolsWords(tools),
		...skillsWords(skills),
		extensions.discover ? undefined : "no extensions",
		extensions.paths.length > 0 ? `extensions: ${extensions.paths.join(", ")}` : undefined,
		contextFiles === "none" ? "no context files" : undefined,
		extraArgs.length > 0 ? `arguments: ${extraArgs.join(" ")}` : undefined,
		timeoutSeconds === undefined ? undefined : `timeout: ${timeoutSeconds}s`,
		definition.fallbackModels.length > 0 ? `then ${definition.fallbackModels.join(", ")}` : undefined,
		budgetWords(budget),
		mayAsk ? undefined : "asks no questions",
		definition.output === undefined ? undefined : "as an agent it answers with JSON",
		definition.isolation === "none" ? undefined : `isolation: ${definition.isolation}`,
		definition.changes === undefined ? undefined : `changes: ${definition.changes}`,
		apiKey === undefined ? undefined : "own API key",
	].filter((words) => words !== undefined);
}

/** `at most 2,500 tokens, $0.50, 3 turns`; undefined where there is no limit. */
export function budgetWords({ tokens, cost, turns }: Amounts): string | undefined {
	const limits = [
		...(tokens > 0 ? [`${describeCount(tokens)} tokens`] : []),
		...(cost > 0 ? [describeCost(cost)] : []),
		...(turns > 0 ? [turns === 1 ? "1 turn" : `${describeCount(turns)} turns`] : []),
	];
	return limits.length === 0 ? undefined : `at most ${limits.join(", ")}`;
}

export function toolsWords(policy: ToolPolicy): string | undefined {
	switch (policy.kind) {
		case "inherit":
			return undefined;
		case "none":
			return "no tools";
		case "allow":
			return `tools: ${policy.names.join(", ")}`;
		case "allow-known":
			return `tools: ${policy.names.join(", ")}${policy.but.length === 0 ? "" : `, but not ${policy.but.join(", ")}`}`;
		case "deny-known":
			return `active tools but ${policy.names.join(", ")}`;
		case "deny":
			return `${policy.from === "all" ? "all" : "active"} tools but ${policy.names.join(", ")}`;
		default:
			return unreachable(policy);
	}
}

export function skillsWords(policy: SkillPolicy): string[] {
	if (policy.kind === "inherit") return [];
	if (policy.kind === "none") return ["no skills"];
	return [
		...(policy.suggested.length > 0 ? [`suggested skills: ${policy.suggested.join(", ")}`] : []),
		...(policy.loaded.length > 0 ? [`loaded skills: ${policy.loaded.join(", ")}`] : []),
	];
}

function preview(text: string): string {
	const line = sanitizeLine(text);
	return line.length > MAX_PREVIEW_CHARS ? `${cut(line, MAX_PREVIEW_CHARS)}…` : line;
}

/** One notice about all that is wrong, for the start of a session; undefined where all is well. */
export function problemsNotice(problems: readonly string[]): string | undefined {
	const [first, ...more] = problems.map(sanitizeLine);
	if (first === undefined) return undefined;
	return more.length === 0
		? `Agent definitions: ${first}`
		: `Agent definitions: ${first} (and ${more.length} more: see /profile list)`;
}

/** Where other programs keep their agents, for a person. */
const FOREIGN_PLACES: Readonly<Record<ForeignSource, Readonly<Record<Scope, string>>>> = {
	pi: { project: ".pi/agents", global: "~/.pi/agent/agents" },
	agents: { project: ".agents/agents", global: "~/.agents/agents" },
	claude: { project: ".claude/agents", global: "~/.claude/agents" },
	opencode: { project: ".opencode/agent", global: "~/.config/opencode/agent" },
};

/** For the start of a session: `12 of 158 agents from .claude/agents cannot be used: /profile list`. */
export function foreignNotice(
	counts: readonly { readonly origin: Origin; readonly total: number; readonly unusable: number }[],
): string | undefined {
	const parts = counts.flatMap(({ origin: { kind, scope }, total, unusable }) =>
		isForeignSource(kind)
			? [`${unusable} of ${total} ${total === 1 ? "agent" : "agents"} from ${FOREIGN_PLACES[kind][scope]}`]
			: [],
	);
	return parts.length === 0 ? undefined : `${parts.join(", ")} cannot be used: /profile list`;
}

/** What is wrong, below a list. */
export const problemsList = (problems: readonly string[]): string =>
	["Problems:", ...problems.map((problem) => `- ${sanitizeLine(problem)}`)].join("\n");

/** UTF-8; what a model is told at once. */
const MAX_LIST_BYTES = 8_000;
const MAX_PROBLEM_BYTES = 2_000;
const MAX_LINE_CHARS = 700;

/** Definitions and problems for a model: whole lines, at most 8 kB, with the number of those that are left out. */
export function boundedList(lines: readonly string[], problems: readonly string[]): { text: string; shown: number } {
	const told = fitting(problems, MAX_PROBLEM_BYTES);
	const wrong =
		problems.length === 0
			? []
			: [problemsList([...told, ...more(problems.length - told.length, "/profile list has them")])];
	const listed = fitting(lines, MAX_LIST_BYTES - MAX_NOTE_BYTES - wrong.reduce((sum, text) => sum + bytesOf(text), 0));
	const text = [
		lines.length === 0
			? NO_DEFINITIONS
			: [...listed, ...more(lines.length - listed.length, "ask with a part of the name as name")].join("\n"),
		...wrong,
	].join("\n\n");
	return { text, shown: listed.length };
}

const MAX_NOTE_BYTES = 200;
const bytesOf = (text: string) => Buffer.byteLength(text);
const more = (count: number, how: string) => (count === 0 ? [] : [`… ${count} more: ${how}`]);

/** As many whole lines as fit; one that is too long by itself is cut visibly. */
function fitting(lines: readonly string[], limit: number): string[] {
	let left = limit;
	const shown: string[] = [];
	for (const line of lines) {
		const short = line.length > MAX_LINE_CHARS ? `${cut(line, MAX_LINE_CHARS)}…` : line;
		left -= bytesOf(short) + 3;
		if (left < 0) break;
		shown.push(short);
	}
	return shown;
}
