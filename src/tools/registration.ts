import type { ExtensionContext, ToolDefinition } from "@earendil-works/pi-coding-agent";
import type { TSchema } from "typebox";
import { agentDirectory } from "../agent-directory.ts";
import { type Host, settingsOf, usableModels } from "../call/host.ts";
import { toolsOf } from "../domain/package-tools.ts";
import type { AvailableModel } from "../plan/model.ts";
import { personalFamilies, type Settings } from "../settings/settings.ts";
import { delegateTool } from "./delegate.ts";
import { listProfilesTool } from "./list-profiles.ts";
import { createModelTools } from "./model-tools.ts";
import { outputTool, sessionTool } from "./retrieval.ts";

/** The tools of this package, as the settings and the models of a session have them. */
export interface Registration {
	/** A session starts. */
	start(context: ExtensionContext): void;
	/** The models may have changed. */
	update(context: ExtensionContext): void;
}

/** What the last session of this process had, also before a reload: none of our modules lives that long. */
interface Remembered {
	readonly families: Settings["families"];
	readonly models: readonly AvailableModel[];
}

const MEMORY = Symbol.for("pi-subagents.tools");
const memory = globalThis as { [MEMORY]?: Remembered };

/**
 * After `/reload` and `/resume` pi draws the calls of a session before it starts: what is expected of it is there at once, so
 * that they look as they did, and pi need not make its prompt anew for each tool. What the session then does not have is made
 * inactive, since pi cannot take a tool back.
 */
export function createRegistration(host: Host): Registration {
	const { pi } = host;
	const modelTools = createModelTools(host);
	const registered = new Set<string>();
	const add = <P extends TSchema, D>(tool: ToolDefinition<P, D>) => {
		if (registered.has(tool.name)) return;
		registered.add(tool.name);
		pi.registerTool(tool);
	};
	const register = (families: Settings["families"]) => {
		if (families.includes("delegate")) add(delegateTool(host));
		if (families.length === 0) return;
		add(outputTool(host));
		add(sessionTool(host));
		add(listProfilesTool(host));
	};
	const before = memory[MEMORY] ?? { families: personalFamilies(agentDirectory()), models: [] };
	register(before.families);
	if (before.models.length > 0) modelTools.register(before.models, before.families);
	return {
		start(context) {
			const { families } = settingsOf(host, context);
			register(families);
			modelTools.update(context);
			memory[MEMORY] = { families, models: usableModels(context) };
			const gone = toolsOf(before.families).filter((name) => !toolsOf(families).includes(name));
			if (gone.length > 0) pi.setActiveTools(pi.getActiveTools().filter((name) => !gone.includes(name)));
		},
		update: modelTools.update,
	};
}
