import { Type } from "typebox";
import type { AvailableModel } from "../plan/model.ts";
import { modelParameter, spelledAsInEnum } from "../plan/model-parameter.ts";

/** Where a thinking level travels from `respellModels` to `askedModel`; a name that nobody would send by chance. */
export const MODEL_LEVEL = "model:level";

/** The `model` of a call: an enum while that is short, since every character of it is sent with every request. */
export function modelSchema(models: readonly AvailableModel[]) {
	const parameter = modelParameter(models);
	// With its type: some providers refuse an enum that has none.
	return Type.Optional(Type.String(parameter.kind === "enum" ? { enum: [...parameter.names] } : {}));
}

/**
 * Other spellings of models in a call's arguments, before they are validated. A thinking level is in no enum: it is put
 * beside the model, where `askedModel` finds it.
 */
export function respellModels<T>(models: readonly AvailableModel[], args: unknown): T {
	if (typeof args !== "object" || args === null || modelParameter(models).kind === "string") return args as T;
	const { model, tasks, ...rest } = args as Record<string, unknown>;
	const spelled = typeof model === "string" ? spelledAsInEnum(model, models) : undefined;
	return {
		...rest,
		...(model !== undefined && { model: spelled?.model ?? model }),
		...(spelled?.level !== undefined && { [MODEL_LEVEL]: spelled.level }),
		...(tasks !== undefined && {
			tasks: Array.isArray(tasks) ? tasks.map((task) => respellModels(models, task)) : tasks,
		}),
	} as T;
}

export function askedModel(call: { model?: string; [MODEL_LEVEL]?: unknown }): string | undefined {
	const { model, [MODEL_LEVEL]: level } = call;
	return model !== undefined && typeof level === "string" ? `${model}:${level}` : model;
}
