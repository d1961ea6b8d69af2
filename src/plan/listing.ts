import { callable, hiddenBy, namesakes, uncallable, whatIsWrong } from "../definitions/lookup.ts";
import { type AgentDefinition, isForeignSource, type Origin } from "../domain/definition.ts";
import { type Listed, listedName } from "../domain/listed.ts";
import type { ModelRef } from "../domain/spec.ts";
import { isMcpTool } from "../domain/tool-pattern.ts";
import type { Surroundings } from "./agent.ts";
import { leftOutTools, ownPolicy } from "./foreign-tools.ts";
import { planModel } from "./model.ts";

/** All names, sorted. What is wrong with definitions of our own kinds is told apart, as diagnostics. */
export function listDefinitions(surroundings: Surroundings, model: ModelRef | undefined): Listed[] {
	const { catalog } = surroundings;
	const usable = callable(catalog, "profile").map((definition): Listed => {
		const { name, origin } = definition;
		const reason = whyNotCallable(definition, surroundings, model);
		if (reason !== undefined) return { kind: "uncallable", name, origin, reason };
		const leftOut = leftOutTools(definition.tools, surroundings.tools);
		const hides = hiddenBy(catalog, definition);
		return { kind: "callable", definition, namesakes: namesakes(catalog, definition), hides, leftOut };
	});
	const rejected = uncallable(catalog).flatMap((entry): Listed[] => {
		const { name, origin, kind } = entry;
		if (!isForeignSource(origin.kind) || kind === "not-offered") return [];
		return [{ kind: "uncallable", name, origin, reason: whatIsWrong(entry) }];
	});
	return [...usable, ...rejected].sort((a, b) => (listedName(a) < listedName(b) ? -1 : 1));
}

/** Of a foreign definition, as far as that can be told without a call: its tools and its model may not be there. */
function whyNotCallable(
	{ tools, model: choice }: AgentDefinition,
	surroundings: Surroundings,
	model: ModelRef | undefined,
): string | undefined {
	if (choice.rule !== "foreign") return undefined;
	const policy = ownPolicy(tools, surroundings.tools);
	if (!policy.ok) return policy.error;
	const request = { asked: undefined, choice, inherited: model, session: model, mustBeNamed: false };
	const planned = planModel(request, () => surroundings.models("usable"));
	return planned.ok ? undefined : planned.error;
}

/** How many of the agents of one place cannot be used. */
export interface ForeignCount {
	readonly origin: Origin;
	readonly total: number;
	readonly unusable: number;
}

/**
 * Per source and scope, where any cannot be used. Models are not judged, nor tools of servers that may not be connected
 * yet: both may be there a moment later.
 */
export function countForeign({ catalog, tools }: Surroundings): ForeignCount[] {
	const counts = new Map<string, ForeignCount>();
	for (const entry of [...catalog.entries.values()].flat()) {
		const origin = entry.kind === "usable" ? entry.definition.origin : entry.origin;
		if (!isForeignSource(origin.kind) || entry.kind === "not-offered") continue;
		const fails =
			entry.kind !== "usable" || (!mayBeLate(entry.definition) && !ownPolicy(entry.definition.tools, tools).ok);
		const key = `${origin.kind} ${origin.scope}`;
		const { total, unusable } = counts.get(key) ?? { total: 0, unusable: 0 };
		counts.set(key, { origin, total: total + 1, unusable: unusable + (fails ? 1 : 0) });
	}
	return [...counts.values()].filter(({ unusable }) => unusable > 0);
}

const mayBeLate = ({ tools }: AgentDefinition) => tools.kind === "allow-known" && tools.names.some(isMcpTool);
