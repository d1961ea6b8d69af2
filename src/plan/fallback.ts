import type { AgentDefinition } from "../domain/definition.ts";
import { modelName } from "../domain/model-name.ts";
import { err, ok, type Result } from "../domain/result.ts";
import type { ModelRef, Packet } from "../domain/spec.ts";
import type { Surroundings } from "./agent.ts";
import { type AvailableModel, matchModel } from "./model.ts";

export interface FallbackRequest {
	readonly definition: AgentDefinition | undefined;
	/** The call's own model. */
	readonly asked: string | undefined;
	/** What the run starts with. */
	readonly model: ModelRef | undefined;
	readonly apiKey: Packet["apiKey"];
	/** The person's setting. */
	readonly setting: readonly string[];
}

/**
 * The models that the run may go on with when its provider fails, in order. The setting counts only where nobody named a
 * model: work that was given to a local model never goes to another provider by a setting.
 */
export function planFallback(request: FallbackRequest, models: Surroundings["models"]): Result<readonly ModelRef[]> {
	const { definition, asked, model, setting } = request;
	const isNamed =
		asked !== undefined || definition?.model.name !== undefined || definition?.model.provider !== undefined;
	const names = definition && definition.fallbackModels.length > 0 ? definition.fallbackModels : isNamed ? [] : setting;
	if (names.length === 0) return ok([]);
	const offered = candidates(request, models);
	const planned: ModelRef[] = [];
	for (const name of names) {
		const found = matchModel(name, undefined, offered);
		if (!found.ok) return err(`fallbackModels: ${found.error}`);
		const { provider, id } = found.value.model;
		const isNew = [...planned, ...(model ? [model] : [])].every(
			(each) => modelName(each) !== modelName({ provider, id }),
		);
		if (isNew) planned.push({ provider, id, thinking: found.value.level });
	}
	return ok(planned);
}

/** A definition's own key opens its own provider, and no other. */
function candidates({ apiKey }: FallbackRequest, models: Surroundings["models"]): readonly AvailableModel[] {
	const usable = models("usable");
	if (apiKey === undefined) return usable;
	return [...usable, ...models("all").filter(({ provider }) => provider === apiKey.provider)];
}
