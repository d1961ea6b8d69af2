import type { Field } from "../definitions/fields.ts";
import type { Changes, FieldValue } from "../definitions/write.ts";
import type { AgentDefinition } from "../domain/definition.ts";
import { modelName } from "../domain/model-name.ts";
import { ok, type Result, unreachable } from "../domain/result.ts";
import type { ModelRef } from "../domain/spec.ts";
import { isMcpTool } from "../domain/tool-pattern.ts";
import type { Surroundings } from "./agent.ts";
import { ownPolicy } from "./foreign-tools.ts";
import { planModel } from "./model.ts";
import { available, type OwnPolicy, type SessionTools } from "./tools.ts";

/**
 * A foreign definition in the words of our profiles, as it would be called in this session. A line of models becomes the
 * model that it stands for now, and tools that are denied become a list of those that are left: a tool that is installed
 * later was not allowed by anybody.
 */
export function importedFields(
	definition: AgentDefinition,
	surroundings: Surroundings,
	session: ModelRef | undefined,
): Result<Changes> {
	const { model: choice, body, addition, skills, extensions, contextFiles, isolation } = definition;
	const { timeoutSeconds, budget } = definition;
	const policy = ownPolicy(definition.tools, surroundings.tools);
	if (!policy.ok) return policy;
	const request = { asked: undefined, choice, inherited: session, session, mustBeNamed: false };
	const model = planModel(request, () => surroundings.models("usable"));
	if (!model.ok) return model;
	const named = choice.name === undefined ? undefined : model.value.model;
	const isAdded = definition.promptMode === "append";
	const appended = [addition, ...(isAdded ? [body] : [])].filter((text) => text !== "").join("\n\n");
	const fields: [Field, FieldValue][] = [
		["description", definition.description || undefined],
		["model", named && modelName(named)],
		["thinkingLevel", choice.thinking],
		...toolFields(policy.value, surroundings.tools),
		["noExtensions", extensions.discover ? undefined : true],
		["noSkills", skills.kind === "none" ? true : undefined],
		["noContextFiles", contextFiles === "none" ? true : undefined],
		["appendSystemPrompt", appended || undefined],
		["isolation", isolation === "none" ? undefined : isolation],
		["timeout", timeoutSeconds],
		["maxTurns", budget.turns || undefined],
	];
	return ok({ fields: new Map(fields.filter(([, value]) => value !== undefined)), body: isAdded ? "" : body });
}

function toolFields(policy: OwnPolicy, tools: () => SessionTools): [Field, FieldValue][] {
	switch (policy.kind) {
		case "inherit":
			return [];
		case "none":
			return [["noTools", true]];
		case "allow":
			return [["tools", policy.names]];
		case "deny": {
			const session = tools();
			const left = available(session).filter(
				(name) => session.active.includes(name) && !policy.names.includes(name) && !isMcpTool(name),
			);
			return left.length === 0 ? [["noTools", true]] : [["tools", left]];
		}
		default:
			return unreachable(policy);
	}
}
