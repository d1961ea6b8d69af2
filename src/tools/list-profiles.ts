import type { ToolDefinition } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";
import { type Host, sessionModelOf, surroundingsOf } from "../call/host.ts";
import { describeDiagnostic } from "../definitions/catalog.ts";
import { MAX_ECHOED } from "../definitions/lookup.ts";
import { listedName } from "../domain/listed.ts";
import { cut } from "../domain/messages.ts";
import { nearestNames } from "../domain/nearest-names.ts";
import { listDefinitions } from "../plan/listing.ts";
import { boundedList, listedLine } from "../present/definition-text.ts";
import { sanitizeLine } from "../present/sanitize.ts";
import { renderContent } from "../present/text-view.ts";
import { prepareArguments } from "./prepare-arguments.ts";
import { READ_ONLY } from "./read-only.ts";
import { refuseUnknownFields } from "./unknown-fields.ts";

const parameters = Type.Object({ name: Type.Optional(Type.String()) });

type ListDetails =
	| { readonly count: 0 }
	| { readonly count: number; readonly profiles: Readonly<Record<string, string>> };

export function listProfilesTool(host: Host): ToolDefinition<typeof parameters, ListDetails> {
	return {
		name: "list_subagent_profiles",
		label: "Sub-agent profiles",
		description: "Names for profile, preset and agent.",
		parameters,
		...READ_ONLY,
		prepareArguments: (args) => prepareArguments(parameters, args),
		async execute(_callId, given, _signal, _onUpdate, context) {
			refuseUnknownFields("list_subagent_profiles", given, parameters);
			const { name = "" } = given;
			const surroundings = surroundingsOf(host, context);
			const asked = name.trim().toLowerCase();
			const listed = listDefinitions(surroundings, sessionModelOf(host, context));
			const lines = listed.map((each) => [listedName(each), listedLine(each)] as const);
			const wanted = lines.filter(([each]) => each.toLowerCase().includes(asked));
			if (wanted.length === 0 && lines.length > 0) {
				const names = nearestNames(
					asked,
					lines.map(([each]) => each),
				);
				const text = `No name has "${cut(sanitizeLine(name), MAX_ECHOED)}" in it. Names: ${names}`;
				return { content: [{ type: "text", text }], details: { count: 0 } };
			}
			const { text, shown } = boundedList(
				wanted.map(([, line]) => line),
				surroundings.catalog.diagnostics.map(describeDiagnostic),
			);
			return {
				content: [{ type: "text", text }],
				details:
					shown === 0 ? { count: 0 } : { count: wanted.length, profiles: Object.fromEntries(wanted.slice(0, shown)) },
			};
		},
		renderResult: (result, _options, theme) => renderContent(result, 0, true, theme),
	};
}
