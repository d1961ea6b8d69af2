import type { ExtensionUIContext } from "@earendil-works/pi-coding-agent";
import { type Field, splitList } from "../definitions/fields.ts";
import type { Changes, FieldValue } from "../definitions/write.ts";
import { type AgentDefinition, THINKING_LEVELS } from "../domain/definition.ts";
import { skillsWords, toolsWords } from "../present/definition-text.ts";
import { sanitizeLine } from "../present/sanitize.ts";

export type WizardUi = Pick<ExtensionUIContext, "select" | "input" | "editor">;

const YES = "Yes";
const NO = "No";
const KEEP = "Keep it";

/** Answers that were given, on their way to a file. */
interface Draft {
	readonly ui: WizardUi;
	/** Undefined where a definition is created. */
	readonly current: AgentDefinition | undefined;
	readonly fields: Map<Field, FieldValue>;
	body: string | undefined;
}

/** Editing: what is not answered stays, and "No" removes it. Nothing is saved here. */
export async function askChanges(ui: WizardUi, current: AgentDefinition): Promise<Changes> {
	const draft: Draft = { ui: printable(ui), current, fields: new Map(), body: undefined };
	await askLine(draft, "provider", "Provider", current.model.provider, "anthropic");
	await askLine(draft, "model", "Model", current.model.name, "claude-sonnet-4-5, provider/id or id:high");
	for (const ask of [askBody, askAddition, askThinking, askTools, askExtensions, askSkills]) await ask(draft);
	return { fields: draft.fields, body: draft.body };
}

export interface OfferedModel {
	readonly provider: string;
	readonly id: string;
}

/** The questions of a new profile, with the one before them, about its place, and the one after them, about saving it. */
const STEPS = 11;

/** Where somebody is on the way to a new profile. */
export const step = (title: string, number: number): string => `${title} (${number}/${STEPS})`;
export const LAST_STEP = STEPS;

/**
 * Creating: Enter takes what is offered first, which restricts nothing, so that Enter alone makes a profile for any task.
 * What is cancelled is left out. Nothing is saved here.
 */
export async function askNew(ui: WizardUi, models: readonly OfferedModel[]): Promise<Changes> {
	const shown = printable(ui);
	const fields: Draft["fields"] = new Map();
	const draft = (number: number): Draft => ({ ...numbered(shown, number), fields });
	await askDescription(draft(2));
	await askModel(draft(3), draft(4), models);
	const withBody = draft(5);
	await askBody(withBody);
	await askAddition(draft(6));
	await askThinking(draft(7));
	await askTools(draft(8));
	await askExtensions(draft(9));
	await askSkills(draft(10));
	return { fields, body: withBody.body };
}

/** Each dialog of one step says which step it is. */
const numbered = (ui: WizardUi, number: number): Omit<Draft, "fields"> => ({
	ui: {
		select: (title, options) => ui.select(step(title, number), options),
		input: (title, placeholder) => ui.input(step(title, number), placeholder),
		editor: (title, text) => ui.editor(step(title, number), text),
	},
	current: undefined,
	body: undefined,
});

const DEFAULT_DESCRIPTION = "General-purpose sub-agent";

async function askDescription({ ui, fields }: Draft): Promise<void> {
	const title = `Description, for whoever chooses a sub-agent. Enter: "${DEFAULT_DESCRIPTION}"`;
	const answer = await ui.input(title, "e.g. Finds where something is in the code");
	if (answer !== undefined) fields.set("description", answer.trim() || DEFAULT_DESCRIPTION);
}

const SESSION_MODEL = "The session's model";

/** A provider, then one of its models; the session's model needs no further question. */
async function askModel(first: Draft, second: Draft, models: readonly OfferedModel[]): Promise<void> {
	const providers = [...new Set(models.map(({ provider }) => provider))];
	const provider = await first.ui.select("Provider", [SESSION_MODEL, ...providers]);
	if (provider === undefined || provider === SESSION_MODEL) return;
	const ids = models.filter((model) => model.provider === provider).map(({ id }) => id);
	const model = await second.ui.select("Model", ids);
	if (model === undefined) return;
	first.fields.set("provider", provider);
	second.fields.set("model", model);
}

/** A dialog shows what a definition says, and that may be anything. What is edited stays as it is. */
const printable = (ui: WizardUi): WizardUi => ({
	select: (title, options) => ui.select(sanitizeLine(title), options),
	input: (title, placeholder) => ui.input(sanitizeLine(title), placeholder && sanitizeLine(placeholder)),
	editor: (title, text) => ui.editor(title, text),
});

/** An input cannot be pre-filled: the placeholder shows what there is. */
async function askLine(
	{ ui, fields }: Draft,
	field: Field,
	title: string,
	current: string | undefined,
	example: string,
): Promise<void> {
	const answer = (await ui.input(`${title}${hint(current, "enter")}`, current ?? `e.g. ${example}`))?.trim() ?? "";
	if (current !== undefined && answer.toLowerCase() === NO.toLowerCase()) fields.set(field, undefined);
	else if (answer !== "") fields.set(field, answer);
}

const hint = (current: string | undefined, how: "enter" | "choose") =>
	current === undefined
		? ""
		: ` (now: ${current}; ${how === "enter" ? "empty" : "Escape"} keeps it, "${NO}" removes it)`;

/**
 * `skip`: nothing is said, so nothing changes. A confirmation could not tell that from "No". What comes first is what Enter
 * says, and that changes nothing either.
 */
async function askWhether(
	{ ui }: Draft,
	question: string,
	current: string | undefined,
): Promise<"yes" | "no" | "skip"> {
	const options = current !== undefined ? [KEEP, YES, NO] : [NO, YES];
	const answer = await ui.select(`${question}${hint(current, "choose")}`, options);
	return answer === YES ? "yes" : answer === NO ? "no" : "skip";
}

async function askBody(draft: Draft): Promise<void> {
	const { current, ui } = draft;
	const answer = await askWhether(draft, "Set a system prompt?", isSet(current?.body));
	if (answer === "no" && current) draft.body = "";
	if (answer !== "yes") return;
	const text = (await ui.editor("System prompt", current?.body))?.trim() ?? "";
	if (text !== "") draft.body = text;
}

async function askAddition(draft: Draft): Promise<void> {
	const { current, ui, fields } = draft;
	const answer = await askWhether(draft, "Append a text to the system prompt?", isSet(current?.addition));
	if (answer === "no" && current) fields.set("appendSystemPrompt", undefined);
	if (answer !== "yes") return;
	const text = (await ui.editor("Appended to the system prompt", current?.addition)) ?? "";
	if (text.trim() !== "") fields.set("appendSystemPrompt", text);
}

const isSet = (text: string | undefined) => (text ? "set" : undefined);

async function askThinking(draft: Draft): Promise<void> {
	const { current, ui, fields } = draft;
	const answer = await askWhether(draft, "Set a thinking level?", current?.model.thinking);
	if (answer === "no" && current) fields.set("thinkingLevel", undefined);
	if (answer !== "yes") return;
	const now = current?.model.thinking;
	const level = await ui.select("Thinking level", [
		...new Set([...(now === undefined ? [] : [now]), ...THINKING_LEVELS]),
	]);
	if (level !== undefined) fields.set("thinkingLevel", level);
}

const DISABLE_TOOLS = "Disable all tools";
const ALLOWLIST = "Allowlist: only these tools";
const BLACKLIST = "Blacklist: all tools but these";
const TOOL_FIELDS: readonly Field[] = [
	"tools",
	"noTools",
	"excludeTools",
	"approved_tools",
	"allowed_tools",
	"denied_tools",
];

async function askTools(draft: Draft): Promise<void> {
	const { current, ui } = draft;
	const policy = current?.tools ?? { kind: "inherit" };
	const answer = await askWhether(draft, "Restrict the tools?", toolsWords(policy));
	if (answer === "no" && current) only(draft, TOOL_FIELDS, undefined);
	if (answer !== "yes") return;
	const way = await ui.select("Tools", [DISABLE_TOOLS, ALLOWLIST, BLACKLIST]);
	if (way === DISABLE_TOOLS) return only(draft, TOOL_FIELDS, ["noTools", true]);
	if (way === undefined) return;
	const kind = way === ALLOWLIST ? "allow" : "deny";
	const known = policy.kind === kind ? policy.names : undefined;
	const names = await askList(draft, kind === "allow" ? "Allowed tools" : "Excluded tools", known, "read, grep");
	const denied = policy.kind === "deny" && policy.from === "active" ? "denied_tools" : "excludeTools";
	if (names) only(draft, TOOL_FIELDS, [kind === "allow" ? "tools" : denied, names]);
}

const DISABLE_EXTENSIONS = "Disable all extensions";
const EXTENSION_PATHS = "Load extensions from paths";

async function askExtensions(draft: Draft): Promise<void> {
	const { current, ui, fields } = draft;
	const paths = current?.extensions.paths ?? [];
	const now = current?.extensions.discover === false ? ["no extensions", ...paths] : paths;
	const answer = await askWhether(draft, "Configure extensions?", now.length > 0 ? now.join(", ") : undefined);
	if (answer === "no" && current) only(draft, ["noExtensions", "extensions"], undefined);
	if (answer !== "yes") return;
	const way = await ui.select("Extensions", [DISABLE_EXTENSIONS, EXTENSION_PATHS]);
	if (way === DISABLE_EXTENSIONS) return only(draft, ["noExtensions", "extensions"], ["noExtensions", true]);
	if (way === undefined) return;
	const list = await askList(draft, "Extension paths", paths.length > 0 ? paths : undefined, "/path/to/extension.ts");
	if (list) fields.set("extensions", list);
}

async function askSkills(draft: Draft): Promise<void> {
	const { current, fields } = draft;
	const policy = current?.skills ?? { kind: "inherit" };
	if (policy.kind !== "inherit") {
		const answer = await draft.ui.select(`Remove the skill settings (${skillsWords(policy).join("; ")})?`, [NO, YES]);
		if (answer === YES) only(draft, ["noSkills", "suggestedSkills", "loadSkills"], undefined);
		return;
	}
	if ((await askWhether(draft, "Configure skills?", undefined)) !== "yes") return;
	const suggested = await askList(draft, "Suggested skills (the sub-agent decides)", undefined, "web-search");
	if (suggested) fields.set("suggestedSkills", suggested);
	const loaded = await askList(draft, "Pre-loaded skills (put into the system prompt)", undefined, "code-review");
	if (loaded) fields.set("loadSkills", loaded);
}

async function askList(
	{ ui }: Draft,
	title: string,
	current: readonly string[] | undefined,
	example: string,
): Promise<string[] | undefined> {
	const answer = await ui.input(`${title}, with commas between them`, current?.join(", ") ?? `e.g. ${example}`);
	const list = splitList(answer ?? "");
	return list.length > 0 ? list : undefined;
}

/** Of fields that exclude each other, one is set and the others go. */
function only(
	{ fields, current }: Draft,
	group: readonly Field[],
	set: readonly [Field, FieldValue] | undefined,
): void {
	if (current) for (const field of group) fields.set(field, undefined);
	if (set) fields.set(...set);
}
