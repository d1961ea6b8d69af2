import { type Static, Type } from "typebox";
import { err, ok, type Result } from "../domain/result.ts";
import { agentRequest } from "../plan/agent-call.ts";
import type { AvailableModel } from "../plan/model.ts";
import type { Parent } from "../plan/parent.ts";
import { presetRequest } from "../plan/preset.ts";
import type { RunRequest } from "../plan/run.ts";
import { MAX_TASKS } from "./delegate-schema.ts";
import { askedModel, MODEL_ASKED, MODEL_FIELDS, MODEL_LEVEL, modelSchema } from "./model-parameter.ts";
import { unknownFields } from "./unknown-fields.ts";

const FORMS =
	"Valid forms: {preset, task, model?, cwd?}, {agent, task, sessionId?, model?, cwd?} or {tasks: [one of these, …]}";
const ONE_FIELDS: readonly string[] = ["preset", "agent", "task", "sessionId", "model", "cwd", ...MODEL_FIELDS];

const DESCRIPTIONS = {
	agent: { description: "Instead of preset: one with a session" },
	sessionId: { description: "Go on with an agent's session" },
	cwd: { description: "Absolute" },
};
type Descriptions = { readonly [K in keyof typeof DESCRIPTIONS]?: { readonly description: string } };

/** The parameters of `subagent`, explained once. What they leave open is refused when a call is parsed. */
export function subagentParameters(models: readonly AvailableModel[]) {
	const one = ({ agent, sessionId, cwd }: Descriptions) => ({
		preset: Type.Optional(Type.String()),
		agent: Type.Optional(Type.String(agent)),
		sessionId: Type.Optional(Type.String(sessionId)),
		model: modelSchema(models),
		cwd: Type.Optional(Type.String(cwd)),
		task: Type.Optional(Type.String()),
	});
	const tasks = Type.Array(Type.Object(one({})), { description: "Instead, several in parallel" });
	return Type.Object({ ...one(DESCRIPTIONS), tasks: Type.Optional(tasks) });
}
export type SubagentParameters = Static<ReturnType<typeof subagentParameters>>;
type OneTask = NonNullable<SubagentParameters["tasks"]>[number];

export interface SubagentCall {
	readonly form: "single" | "parallel";
	readonly requests: readonly RunRequest[];
}

/** A call that is not of one of the forms is refused as a whole, and nothing is started. */
export function parseSubagent(parameters: SubagentParameters, parent: Parent): Result<SubagentCall> {
	const { tasks, ...one } = parameters;
	if (tasks === undefined) return asCall("single", [one], parent);
	const unknown = unknownFields("subagent", one, ONE_FIELDS);
	if (unknown !== undefined) return err(`${unknown}. ${FORMS}`);
	const beside = Object.keys(one).flatMap((key) =>
		key === MODEL_LEVEL ? [] : key === MODEL_ASKED ? ["model"] : [key],
	);
	if (tasks.length === 0 || tasks.length > MAX_TASKS) {
		return err(`tasks holds 1 to ${MAX_TASKS} items, not ${tasks.length}. ${FORMS}`);
	}
	if (beside.length > 0) return err(`With tasks, ${beside.join(", ")} must stand in each of them. ${FORMS}`);
	return asCall("parallel", tasks, parent);
}

function asCall(form: SubagentCall["form"], tasks: readonly OneTask[], parent: Parent): Result<SubagentCall> {
	const requests: RunRequest[] = [];
	for (const task of tasks) {
		const request = parseTask(task, parent);
		if (!request.ok) return err(`${request.error}. ${FORMS}`);
		requests.push(request.value);
	}
	return ok({ form, requests });
}

function parseTask(fields: OneTask, parent: Parent): Result<RunRequest> {
	const { preset, agent, task, sessionId, cwd } = fields;
	const unknown = unknownFields("subagent", fields, ONE_FIELDS);
	if (unknown !== undefined) return err(unknown);
	if (preset !== undefined && agent !== undefined) return err("subagent takes a preset or an agent, not both");
	if (task === undefined || task.trim() === "") return err("subagent needs a task");
	const model = askedModel(fields);
	const { timeout } = parent.settings;
	if (agent !== undefined) return agentRequest({ agent, task, model, cwd, sessionId }, parent.cwd, timeout);
	if (preset === undefined) return err("subagent needs the name of a preset or of an agent");
	if (sessionId !== undefined) return err("sessionId goes with an agent");
	return ok(presetRequest({ preset, task, model, cwd }, "foreground", timeout));
}
