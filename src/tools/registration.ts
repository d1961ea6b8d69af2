import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { AvailableModel } from "../plan/model.ts";
import type { Settings } from "../settings.ts";
import { delegateTool } from "./delegate.ts";
import { type Host, settingsOf, usableModels } from "./host.ts";
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
 * After `/reload` and `/resume` pi draws the calls of a session before it starts: what the last one had is there at once, so
 * that they look as they did. What the new one does not have is made inactive then, since pi cannot take a tool back.
 */
export function createRegistration(host: Host): Registration {
	const { pi } = host;
	const modelTools = createModelTools(host);
	const register = (families: Settings["families"]) => {
		if (families.includes("delegate")) pi.registerTool(delegateTool(host));
		if (families.length === 0) return;
		pi.registerTool(outputTool(host));
		pi.registerTool(sessionTool(host));
		pi.registerTool(listProfilesTool(host));
	};
	const before = memory[MEMORY];
	if (before) {
		register(before.families);
		modelTools.register(before.models, before.families);
	}
	return {
		start(context) {
			const { families } = settingsOf(host, context);
			register(families);
			modelTools.update(context);
			memory[MEMORY] = { families, models: usableModels(context) };
			const gone = toolsOf(before?.families ?? []).filter((name) => !toolsOf(families).includes(name));
			if (gone.length > 0) pi.setActiveTools(pi.getActiveTools().filter((name) => !gone.includes(name)));
		},
		update: modelTools.update,
	};
}

const toolsOf = (families: Settings["families"]): readonly string[] => [
	...(families.includes("delegate") ? ["delegate_to_subagents"] : []),
	...(families.includes("subagent") ? ["subagent"] : []),
	...(families.includes("background") ? ["background_agent", "background_agent_status"] : []),
	...(families.length > 0 ? ["get_subagent_output", "get_subagent_session", "list_subagent_profiles"] : []),
];
