import { Type } from "typebox";
import type { AvailableModel } from "../plan/model.ts";
import { modelParameter, spelledAsInEnum } from "../plan/model-parameter.ts";

/**
 * Where what an enum cannot hold travels from `respellModels` to `askedModel`: a thinking level, or the name of no model
 * or of several, which planning refuses in words that name the models. Nobody would send such names by chance.
 */
export const MODEL_LEVEL = "model:level";
export const MODEL_ASKED = "model:asked";
export const MODEL_FIELDS: readonly string[] = [MODEL_LEVEL, MODEL_ASKED];

/** The `model` of a call: an enum while that is short, since every character of it is sent with every request. */
export function modelSchema(models: readonly AvailableModel[]) {
	const parameter = modelParameter(models);
	// With its type: some providers refuse an enum that has none.
	return Type.Optional(Type.String(parameter.kind === "enum" ? { enum: [...parameter.names] } : {}));
}

/** Other spellings of models in a call's arguments, before they are validated. */
export function respellModels<T>(models: readonly AvailableModel[], args: unknown): T {
	if (typeof args !== "object" || args === null || modelParameter(models).kind === "string") return args as T;
	const { model, tasks, ...rest } = args as Record<string, unknown>;
	return {
		...rest,
		...(typeof model === "string" ? respelled(model, models) : model !== undefined && { model }),
		...(tasks !== undefined && {
			tasks: Array.isArray(tasks) ? tasks.map((task) => respellModels(models, task)) : tasks,
		}),
	} as T;
}

function respelled(asked: string, models: readonly AvailableModel[]): Record<string, string> {
	const spelled = spelledAsInEnum(asked, models);
	if (spelled === undefined) return { [MODEL_ASKED]: asked };
	return { model: spelled.model, ...(spelled.level !== undefined && { [MODEL_LEVEL]: spelled.level }) };
}

export function askedModel(call: {
	model?: string;
	[MODEL_LEVEL]?: unknown;
	[MODEL_ASKED]?: unknown;
}): string | undefined {
	const { model, [MODEL_LEVEL]: level, [MODEL_ASKED]: asked } = call;
	if (typeof asked === "string") return asked;
	return model !== undefined && typeof level === "string" ? `${model}:${level}` : model;
}
