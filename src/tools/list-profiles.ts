import type { ToolDefinition } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";
import { catalogOf, type Host } from "../call/host.ts";
import { describeDiagnostic } from "../definitions/catalog.ts";
import { callable, namesakes } from "../definitions/lookup.ts";
import { definitionLine, NO_DEFINITIONS, problemsList } from "../present/definition-text.ts";
import { renderContent } from "../present/text-view.ts";

const parameters = Type.Object({});

type ListDetails =
	| { readonly count: 0 }
	| { readonly count: number; readonly profiles: Readonly<Record<string, string>> };

export function listProfilesTool(host: Host): ToolDefinition<typeof parameters, ListDetails> {
	return {
		name: "list_subagent_profiles",
		label: "Sub-agent profiles",
		description: "Names for profile, preset and agent.",
		parameters,
		async execute(_callId, _parameters, _signal, _onUpdate, context) {
			const catalog = catalogOf(host, context);
			const definitions = callable(catalog, "profile");
			const lines = definitions.map((each) => [each.name, definitionLine(each, namesakes(catalog, each))] as const);
			const problems = catalog.diagnostics.map(describeDiagnostic);
			const text = [
				lines.length === 0 ? NO_DEFINITIONS : lines.map(([, line]) => line).join("\n"),
				...(problems.length === 0 ? [] : [problemsList(problems)]),
			].join("\n\n");
			return {
				content: [{ type: "text", text }],
				details: lines.length === 0 ? { count: 0 } : { count: lines.length, profiles: Object.fromEntries(lines) },
			};
		},
		renderResult: (result, _options, theme) => renderContent(result, 0, true, theme),
	};
}
