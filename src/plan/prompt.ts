import type { AgentDefinition } from "../domain/definition.ts";
import { inRunDirectory, type RunFile } from "../domain/spec.ts";
import { FILES } from "../run-directory/names.ts";

export interface PromptPlan {
	readonly args: readonly string[];
	readonly files: readonly RunFile[];
	/** Of the definition, whether it replaces pi's or is added to it. */
	readonly systemPrompt: string | undefined;
	readonly systemPromptPath: string | undefined;
}

/**
 * Prompts are files: `ps` shows arguments to everybody, and pi takes a text that happens to name a file for that file.
 */
export function planPrompt(
	{ body, addition, promptMode }: AgentDefinition,
	loadedSkills: readonly string[],
): PromptPlan {
	const added = [addition.trim(), ...loadedSkills].filter((part) => part !== "");
	const replaces = promptMode === "replace";
	const own = replaces ? body : [body, ...added].filter((part) => part !== "").join("\n\n");
	const further = replaces ? added.join("\n\n") : "";
	const parts = [
		{ name: FILES.systemPrompt, text: own, flag: replaces ? "--system-prompt" : "--append-system-prompt" },
		{ name: FILES.appendSystemPrompt, text: further, flag: "--append-system-prompt" },
	].filter(({ text }) => text !== "");
	const [first] = parts;
	return {
		args: parts.flatMap(({ flag, name }) => [flag, inRunDirectory(name)]),
		files: parts.map(({ name, text }) => ({ name, text })),
		systemPrompt: first?.text,
		systemPromptPath: first && inRunDirectory(first.name),
	};
}
