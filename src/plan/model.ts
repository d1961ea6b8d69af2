import { isThinkingLevel, type ModelChoice, type ThinkingLevel } from "../domain/definition.ts";
import { modelName } from "../domain/model-name.ts";
import { likeness } from "../domain/nearest-names.ts";
import { err, ok, type Result } from "../domain/result.ts";
import type { ModelRef } from "../domain/spec.ts";
import { namedInForeignFile } from "./model-line.ts";

export interface AvailableModel {
	readonly provider: string;
	readonly id: string;
	/** For people. */
	readonly name: string;
}

export interface ModelRequest {
	/** As the call says. */
	readonly asked: string | undefined;
	readonly choice: ModelChoice | undefined;
	/** Used where nothing is said; undefined = pi's own default. */
	readonly inherited: ModelRef | undefined;
	/** The session's own, which a foreign file without a model means. */
	readonly session: ModelRef | undefined;
	/** A preset has to name its model, in the call or in its file. */
	readonly mustBeNamed: boolean;
}

export interface ModelPlan {
	/** Undefined = pi's own default. */
	readonly model: ModelRef | undefined;
	/** Also where there is no model to go with it. */
	readonly thinking: string | undefined;
	readonly requested: string | undefined;
}

const MAX_LISTED = 20;
const MAX_NEAR = 8;

/** No other model is ever used instead of the one that was asked for. `models` is asked only where a name is given. */
export function planModel(request: ModelRequest, models: () => readonly AvailableModel[]): Result<ModelPlan> {
	const { asked, choice, session } = request;
	if (asked === undefined && choice?.rule === "foreign") return planForeignModel(choice, session, models);
	const inherited = request.inherited;
	const requested = asked ?? choice?.name;
	const provider = asked === undefined ? choice?.provider : undefined;
	if (requested !== undefined) {
		const found = matchModel(requested, provider, models());
		if (!found.ok) return found;
		const { model, level } = found.value;
		const thinking = asked === undefined ? (choice?.thinking ?? level) : (level ?? choice?.thinking);
		return ok({ model: { provider: model.provider, id: model.id, thinking }, thinking, requested });
	}
	if (request.mustBeNamed) return err(`No model is named, in the call or in the preset. ${listed(models())}`);
	if (provider !== undefined) return ofProvider(provider, request, models);
	const thinking = choice?.thinking ?? inherited?.thinking;
	return ok({ model: inherited && { ...inherited, thinking }, thinking, requested: undefined });
}

/** A foreign file: no model is the session's, and a word without a number is a line of models, such as `sonnet`. */
function planForeignModel(
	choice: ModelChoice,
	session: ModelRef | undefined,
	models: () => readonly AvailableModel[],
): Result<ModelPlan> {
	const { name, provider } = choice;
	if (name === undefined) {
		if (session === undefined) return err(`The session has no model to give it. ${listed(models())}`);
		const level = choice.thinking ?? session.thinking;
		return ok({ model: { ...session, thinking: level }, thinking: level, requested: undefined });
	}
	const split = splitLevel(name);
	const offered = provider === undefined ? models() : models().filter((model) => same(model.provider, provider));
	const found = namedInForeignFile(split.name, offered, session?.provider);
	if (!found) {
		const usual = matchModel(name, provider, models());
		if (!usual.ok) return usual;
		const thinking = choice.thinking ?? usual.value.level;
		const { provider: of, id } = usual.value.model;
		return ok({ model: { provider: of, id, thinking }, thinking, requested: name });
	}
	const thinking = choice.thinking ?? split.level;
	return ok({ model: { provider: found.provider, id: found.id, thinking }, thinking, requested: name });
}

/** A provider alone says which model only if there is one to choose, or if the parent's is one of its. */
function ofProvider(
	provider: string,
	{ choice, inherited }: ModelRequest,
	models: () => readonly AvailableModel[],
): Result<ModelPlan> {
	if (inherited && same(inherited.provider, provider)) {
		const thinking = choice?.thinking ?? inherited.thinking;
		return ok({ model: { ...inherited, thinking }, thinking, requested: provider });
	}
	const offered = models().filter((model) => same(model.provider, provider));
	const [only] = offered;
	if (only === undefined) return err(`Unknown provider: "${provider}". ${listedProviders(models())}`);
	if (offered.length > 1) return err(`The provider "${provider}" has several models: name one. ${listed(offered)}`);
	const thinking = choice?.thinking;
	return ok({ model: { provider: only.provider, id: only.id, thinking }, thinking, requested: provider });
}

interface Match {
	readonly model: AvailableModel;
	readonly level: ThinkingLevel | undefined;
}

/** Finds the one model that a name stands for; what stands for none or for several is an error that lists them. */
export function matchModel(
	asked: string,
	provider: string | undefined,
	models: readonly AvailableModel[],
): Result<Match> {
	const offered = provider === undefined ? models : models.filter((model) => same(model.provider, provider));
	if (provider !== undefined && offered.length === 0) {
		return err(`Unknown provider: "${provider}". ${listedProviders(models)}`);
	}
	const { name, level } = splitLevel(asked);
	// An id may itself end like a level.
	const attempts =
		level === undefined
			? [{ name, level }]
			: [
					{ name, level },
					{ name: asked, level: undefined },
				];
	for (const attempt of attempts) {
		const matches = firstMatches(attempt.name, offered);
		const [model] = matches;
		if (matches.length > 1) return err(`Ambiguous model: "${asked}" fits ${namesOf(matches)}. Name one of them.`);
		if (model) return ok({ model, level: attempt.level });
	}
	return err(`Unknown model: "${asked}". ${near(name, offered)}`);
}

export function splitLevel(asked: string): { readonly name: string; readonly level: ThinkingLevel | undefined } {
	const colon = asked.lastIndexOf(":");
	const level = asked.slice(colon + 1).toLowerCase();
	return colon > 0 && isThinkingLevel(level)
		? { name: asked.slice(0, colon), level }
		: { name: asked, level: undefined };
}

/** What fits at the first step at which anything does. */
function firstMatches(name: string, models: readonly AvailableModel[]): AvailableModel[] {
	const lower = name.toLowerCase();
	const steps: ((model: AvailableModel) => boolean)[] = [
		(model) => modelName(model) === name,
		(model) => same(modelName(model), name),
		(model) => model.id === name,
		(model) => same(model.id, name),
		(model) => model.id.toLowerCase().includes(lower) || model.name.toLowerCase().includes(lower),
	];
	if (lower === "") return [];
	const unique = [...new Map(models.map((model) => [modelName(model), model])).values()];
	return steps.map((step) => unique.filter(step)).find((matches) => matches.length > 0) ?? [];
}

const same = (a: string, b: string) => a.toLowerCase() === b.toLowerCase();

function namesOf(models: readonly AvailableModel[]): string {
	const names = models.slice(0, MAX_LISTED).map(modelName).join(", ");
	return models.length > MAX_LISTED ? `${names} and ${models.length - MAX_LISTED} more` : names;
}

const listed = (models: readonly AvailableModel[]) => `Available models: ${namesOf(models) || "(none)"}`;

const listedProviders = (models: readonly AvailableModel[]) =>
	`Available providers: ${[...new Set(models.map(({ provider }) => provider))].join(", ") || "(none)"}`;

/** All models where they are few, else those that look most like what was asked for. */
function near(asked: string, models: readonly AvailableModel[]): string {
	if (models.length <= MAX_LISTED) return listed(models);
	const scored = models.map((model) => ({ model, score: likeness(asked, modelName(model)) }));
	const best = scored.sort((a, b) => b.score - a.score).slice(0, MAX_NEAR);
	return `Similar models: ${namesOf(best.map(({ model }) => model))}`;
}
