import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { type Catalog, HOW_TO_TRUST } from "../definitions/catalog.ts";
import { resolveKey } from "../definitions/key-reference.ts";
import type { AgentDefinition, DefinitionKind } from "../domain/definition.ts";
import { modelName } from "../domain/model-name.ts";
import type { McpSupport } from "../domain/pi-version.ts";
import { err, ok, type Result } from "../domain/result.ts";
import type { AgentRef, ModelRef, Packet, RunFile, ToolDemand } from "../domain/spec.ts";
import { checkExtraArguments } from "./extra-arguments.ts";
import { ownPolicy } from "./foreign-tools.ts";
import { type AvailableModel, matchModel, planModel } from "./model.ts";
import { planPrompt } from "./prompt.ts";
import { planSkills, type SessionSkill } from "./skills.ts";
import { planTools, type SessionTools } from "./tools.ts";

/** What definitions are made of, for one call. Functions are asked at most once, and only where it matters. */
export interface Surroundings {
	readonly catalog: Catalog;
	tools(): SessionTools;
	/** Of the pi that children run. */
	readonly mcp: McpSupport;
	skills(): readonly SessionSkill[];
	/** `all` that pi knows, for a definition that brings its own key; those it is `keyed` for; those `usable` in this session. */
	models(which: "usable" | "keyed" | "all"): readonly AvailableModel[];
}

export interface AgentRequest {
	/** By which word the definition is called: it decides about models and tools that nobody names. */
	readonly word: DefinitionKind;
	/** Undefined for a task that names none. */
	readonly definition: AgentDefinition | undefined;
	/** The call's own. */
	readonly model: string | undefined;
	/** The parent's, if children inherit it. */
	readonly inheritedModel: ModelRef | undefined;
	/** The parent's, whether children inherit it or not. */
	readonly sessionModel: ModelRef | undefined;
	/** The child works in another directory than its parent. */
	readonly elsewhere: boolean;
	/** Tools of the contract. */
	readonly internalTools: readonly string[];
}

/** What a definition comes to in one call. */
export interface AgentPlan {
	readonly agent: AgentRef | undefined;
	readonly model: ModelRef | undefined;
	readonly args: readonly string[];
	readonly files: readonly RunFile[];
	readonly apiKey: Packet["apiKey"];
	readonly tools: ToolDemand;
	readonly timeoutSeconds: number | undefined;
}

export async function planAgent(request: AgentRequest, surroundings: Surroundings): Promise<Result<AgentPlan>> {
	const { definition, word } = request;
	const refusal = definition && untrustedFields(definition);
	if (refusal !== undefined) return err(refusal);
	const model = planModel(
		{
			asked: request.model,
			choice: definition?.model,
			inherited: request.inheritedModel,
			session: request.sessionModel,
			mustBeNamed: word === "preset",
		},
		() => surroundings.models(definition?.apiKey === undefined ? "usable" : "all"),
	);
	if (!model.ok) return err(`${model.error}${unusableHint(request, surroundings)}`);
	const { discover, paths } = definition?.extensions ?? { discover: true, paths: [] };
	const policy = ownPolicy(definition?.tools ?? { kind: "inherit" }, surroundings.tools);
	if (!policy.ok) return err(`"${definition?.name}" cannot be used: ${policy.error}`);
	const tools = planTools(
		{
			policy: policy.value,
			unrestricted: word === "agent" ? "active" : "defaults",
			hasOthers: { extensions: paths.length > 0, cwd: request.elsewhere },
			internal: request.internalTools,
			mcp: discover || paths.length > 0 ? surroundings.mcp : "none", // pi's MCP support is an extension too
		},
		surroundings.tools,
	);
	if (!tools.ok) return tools;
	const { model: ref, thinking, requested } = model.value;
	const modelArgs = [
		...(ref ? ["--provider", ref.provider, "--model", ref.id] : []),
		...(thinking === undefined ? [] : ["--thinking", thinking]),
	];
	const shared = { model: ref, tools: tools.value.demand };
	if (!definition) {
		const args = [...modelArgs, ...tools.value.args];
		return ok({ ...shared, args, agent: undefined, files: [], apiKey: undefined, timeoutSeconds: undefined });
	}
	const parts = await planParts(request, definition, ref, surroundings);
	if (!parts.ok) return parts;
	const { prompt, skills, extensions, extraArgs, apiKey } = parts.value;
	return ok({
		...shared,
		agent: {
			...{ name: definition.name, word, kind: definition.origin.kind, scope: definition.origin.scope },
			...{ path: definition.origin.path, shadows: definition.origin.shadows, requestedModel: requested },
			...{ tools: tools.value.names, systemPrompt: prompt.systemPrompt, systemPromptPath: prompt.systemPromptPath },
		},
		args: [
			...modelArgs,
			...prompt.args,
			...tools.value.args,
			...extensions,
			...skills.args,
			...(definition.contextFiles === "none" ? ["--no-context-files"] : []),
			...extraArgs,
		],
		files: prompt.files,
		apiKey,
		timeoutSeconds: definition.timeoutSeconds,
	});
}

/** A model that pi knows and cannot use here: what to do about it. Empty where there is none. */
function unusableHint({ model: asked, definition }: AgentRequest, { models }: Surroundings): string {
	const name = asked ?? definition?.model.name;
	if (name === undefined) return "";
	const known = matchModel(name, asked === undefined ? definition?.model.provider : undefined, models("all"));
	if (!known.ok) return "";
	const { provider } = known.value.model;
	return models("keyed").some((model) => model.provider === provider)
		? `. pi knows ${modelName(known.value.model)}, but this session's scoped models leave it out (/scoped-models)`
		: `. pi knows ${modelName(known.value.model)}, but has no key for ${provider}: use /login, or set the provider's key`;
}

/** What a definition says besides its model and its tools. */
async function planParts(
	{ word, model: asked }: AgentRequest,
	definition: AgentDefinition,
	model: ModelRef | undefined,
	surroundings: Surroundings,
) {
	// An agent call always says which tools the child has: those of its contract are among them.
	const restrictsTools = word === "agent" || definition.tools.kind !== "inherit";
	const extraArgs = checkExtraArguments(definition.extraArgs, restrictsTools);
	if (!extraArgs.ok) return extraArgs;
	const extensions = planExtensions(definition);
	if (!extensions.ok) return extensions;
	const skills = await planSkills(definition.skills, surroundings.skills);
	if (!skills.ok) return skills;
	const apiKey = await planKey(definition, model, asked, () => surroundings.models("all"));
	if (!apiKey.ok) return apiKey;
	return ok({
		prompt: planPrompt(definition, skills.value.loaded),
		skills: skills.value,
		extensions: extensions.value,
		extraArgs: extraArgs.value,
		apiKey: apiKey.value,
	});
}

/** What runs code, or sends a key somewhere, needs somebody's word where it came with a project. */
function untrustedFields({ name, origin, extensions, extraArgs, apiKey }: AgentDefinition): string | undefined {
	if (origin.trust === "trusted") return undefined;
	const fields = [
		...(extensions.paths.length > 0 ? ["extensions"] : []),
		...(extraArgs.length > 0 ? ["extraArgs"] : []),
		...(apiKey === undefined ? [] : ["apiKey"]),
	];
	if (fields.length === 0) return undefined;
	return `The project's "${name}" sets ${fields.join(", ")}, which only a trusted project may (${HOW_TO_TRUST})`;
}

/** A relative path starts from where the definition belongs, wherever the child works. */
function planExtensions({ extensions, origin }: AgentDefinition): Result<readonly string[]> {
	const sources = extensions.paths.map((path) => {
		if (isPackage(path)) return { path, found: true }; // for pi to find
		const absolute = resolve(origin.base, path.replace(/^~(?=[/\\]|$)/, homedir()));
		return { path: absolute, found: existsSync(absolute) };
	});
	const missing = sources.find(({ found }) => !found);
	if (missing) return err(`Extension does not exist: ${missing.path}`);
	return ok([
		...(extensions.discover ? [] : ["--no-extensions"]),
		...sources.flatMap(({ path }) => ["--extension", path]),
	]);
}

/** `npm:name`, `git:host/…`, `https://…`; a drive letter is a path. */
const isPackage = (source: string) => /^[a-z][a-z+.-]+:/i.test(source);

function ownProvider({ name, provider }: AgentDefinition["model"], models: () => readonly AvailableModel[]) {
	const named = name === undefined ? undefined : matchModel(name, provider, models());
	return named?.ok ? named.value.model.provider : provider;
}

/** A definition's key goes to the definition's own provider and to no other, whatever model a call asks for. */
async function planKey(
	{ name, model, apiKey }: AgentDefinition,
	ref: ModelRef | undefined,
	asked: string | undefined,
	models: () => readonly AvailableModel[],
): Promise<Result<Packet["apiKey"]>> {
	if (apiKey === undefined) return ok(undefined);
	const provider = asked === undefined ? (ref?.provider ?? model.provider) : ownProvider(model, models);
	if (provider === undefined) return err(`"${name}" has an apiKey, but neither a model nor a provider to use it for`);
	if (ref && ref.provider.toLowerCase() !== provider.toLowerCase()) {
		return err(`The apiKey of "${name}" is for ${provider}: it is not used for ${modelName(ref)}`);
	}
	const key = await resolveKey(apiKey);
	return key.ok ? ok({ provider, key: key.value }) : err(`"${name}" cannot be used: ${key.error}`);
}
