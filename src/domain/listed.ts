import type { AgentDefinition, Origin } from "./definition.ts";

/** A name in a list of definitions: what a call of it gets, or why it would fail. */
export type Listed =
	| {
			readonly kind: "callable";
			readonly definition: AgentDefinition;
			/** What other words reach under the name. */
			readonly namesakes: readonly AgentDefinition[];
			/** What nobody reaches, because the name is taken. */
			readonly hides: readonly Origin[];
			/** Tools that it names and this session does not have. */
			readonly leftOut: readonly string[];
	  }
	| { readonly kind: "uncallable"; readonly name: string; readonly origin: Origin; readonly reason: string };

export const listedName = (listed: Listed): string =>
	listed.kind === "callable" ? listed.definition.name : listed.name;
