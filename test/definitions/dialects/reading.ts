import assert from "node:assert/strict";
import { parseForeign } from "../../../src/definitions/dialects/read-foreign.ts";
import type { Parsed } from "../../../src/definitions/parse.ts";
import type { AgentDefinition, ForeignSource, ToolPolicy } from "../../../src/domain/definition.ts";

/** A file of a source, with a name that says nothing. */
export const file = (source: ForeignSource, ...lines: readonly string[]): Parsed =>
	parseForeign(`---\n${lines.join("\n")}\n---\n\nYou are it.\n`, source, `/somewhere/it.md`);

/** What a file that can be called became. */
export function used(source: ForeignSource, ...lines: readonly string[]): Omit<AgentDefinition, "origin"> {
	const parsed = file(source, ...lines);
	assert.ok(parsed.kind === "definition", JSON.stringify(parsed));
	return parsed.definition;
}

export const toolsOf = (source: ForeignSource, ...lines: readonly string[]): ToolPolicy => used(source, ...lines).tools;

/** Why a file cannot be called. */
export function refusal(source: ForeignSource, ...lines: readonly string[]): string {
	const parsed = file(source, ...lines);
	assert.ok(parsed.kind === "rejected", `can be called: ${JSON.stringify(parsed)}`);
	assert.equal(parsed.contradictory, false);
	return parsed.problems.map(({ message }) => message).join("; ");
}

export const became = (definition: Omit<AgentDefinition, "origin">, field: string): string | undefined =>
	definition.translated.find((each) => each.field === field)?.became;

export const only = (...names: readonly string[]): ToolPolicy => ({ kind: "allow-known", names, but: [] });
export const allBut = (...names: readonly string[]): ToolPolicy => ({ kind: "deny-known", names });
