import type { ExtensionContext, ToolDefinition } from "@earendil-works/pi-coding-agent";
import type { TSchema } from "typebox";
import { type Host, settingsOf, usableModels } from "../call/host.ts";
import type { AvailableModel } from "../plan/model.ts";
import { modelSetKey } from "../plan/model-parameter.ts";
import type { Settings } from "../settings/settings.ts";
import { backgroundTool } from "./background-agent.ts";
import { backgroundStatusTool } from "./background-status.ts";
import { controlTool } from "./control.ts";
import { subagentTool } from "./subagent.ts";

/**
 * Keeps the tools that need a model in step with the models there are: registered with the first ones, again when those
 * change, and not offered while there are none. pi cannot take a tool back, so those that are active are made inactive, and
 * the same ones active again: which ones those are is not for us to say.
 */
export interface ModelTools {
	/** For these models, whether they are there or not. */
	register(models: readonly AvailableModel[], families: Settings["families"]): void;
	update(context: ExtensionContext): void;
}

export function createModelTools(host: Host): ModelTools {
	const { pi } = host;
	const registered = new Set<string>();
	const withdrawn = new Set<string>();
	let models = "";

	const add = <P extends TSchema, D>(tool: ToolDefinition<P, D>) => {
		registered.add(tool.name);
		pi.registerTool(tool);
	};
	const register = (available: readonly AvailableModel[], families: Settings["families"]) => {
		if (families.includes("subagent")) add(subagentTool(host, available));
		if (!families.includes("background")) return;
		add(backgroundTool(host, available));
		add(backgroundStatusTool(host));
		add(controlTool(host));
	};
	const withdraw = () => {
		const active = pi.getActiveTools();
		const ours = active.filter((name) => registered.has(name));
		if (ours.length === 0) return;
		for (const name of ours) withdrawn.add(name);
		pi.setActiveTools(active.filter((name) => !registered.has(name)));
	};
	const restore = () => {
		if (withdrawn.size === 0) return;
		pi.setActiveTools([...new Set([...pi.getActiveTools(), ...withdrawn])]);
		withdrawn.clear();
	};
	return {
		register,
		update(context) {
			const available = usableModels(context);
			if (available.length === 0) return withdraw();
			const key = modelSetKey(available);
			if (key !== models) {
				models = key;
				register(available, settingsOf(host, context).families);
			}
			restore();
		},
	};
}
