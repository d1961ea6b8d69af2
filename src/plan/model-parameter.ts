import type { ThinkingLevel } from "../domain/definition.ts";
import { modelName } from "../domain/model-name.ts";
import { type AvailableModel, matchModel } from "./model.ts";

/** How a tool's `model` parameter is described to the model. */
export type ModelParameter =
	| { readonly kind: "enum"; readonly names: readonly string[] }
	/** Too many to list in every request: checked when called. */
	| { readonly kind: "string" };

const MAX_ENUM = 20;

/** The models in their own order, each once. */
export function modelParameter(models: readonly AvailableModel[]): ModelParameter {
	const names = [...new Set(models.map(modelName))];
	return names.length <= MAX_ENUM ? { kind: "enum", names } : { kind: "string" };
}

/** Equal for two sets of models that differ in their order alone: then nothing has to be registered again. */
export function modelSetKey(models: readonly AvailableModel[]): string {
	return JSON.stringify([...new Set(models.map((model) => modelName(model).toLowerCase()))].sort());
}

/**
 * Another spelling of a model as the enum has it, before the arguments are validated; a level, which no enum lists, comes
 * apart. Undefined for what stands for no model, or for several.
 */
export function spelledAsInEnum(
	asked: string,
	models: readonly AvailableModel[],
): { readonly model: string; readonly level: ThinkingLevel | undefined } | undefined {
	const found = matchModel(asked, undefined, models);
	return found.ok ? { model: modelName(found.value.model), level: found.value.level } : undefined;
}
