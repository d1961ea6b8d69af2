import { type Static, Type } from "typebox";
import { err, ok, type Result } from "../domain/result.ts";
import type { AvailableModel } from "../plan/model.ts";
import type { Parent } from "../plan/parent.ts";
import { presetRequest } from "../plan/preset.ts";
import type { RunRequest } from "../plan/run.ts";
import { askedModel, MODEL_FIELDS, modelSchema } from "./model-parameter.ts";
import { unknownFields } from "./unknown-fields.ts";

export function backgroundParameters(models: readonly AvailableModel[]) {
	return Type.Object({
		preset: Type.String(),
		model: modelSchema(models),
		cwd: Type.Optional(Type.String({ description: "Absolute" })),
		task: Type.String(),
	});
}
export type BackgroundParameters = Static<ReturnType<typeof backgroundParameters>>;

const FIELDS: readonly string[] = ["preset", "model", "cwd", "task", ...MODEL_FIELDS];

/** Refuses what the schema leaves open. */
export function parseBackground(parameters: BackgroundParameters, parent: Parent): Result<RunRequest> {
	const unknown = unknownFields("background_agent", parameters, FIELDS);
	if (unknown !== undefined) return err(`${unknown}. Valid form: {preset, task, model?, cwd?}`);
	const { preset, task, cwd } = parameters;
	if (task.trim() === "") return err("background_agent needs a task");
	return ok(presetRequest({ preset, task, cwd, model: askedModel(parameters) }, "background", parent.settings.timeout));
}
