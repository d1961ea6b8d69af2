import { existsSync } from "node:fs";
import { type ExtensionAPI, type ExtensionContext, getAgentDir } from "@earendil-works/pi-coding-agent";
import { agentDirectory } from "../agent-directory.ts";
import { type TrustContext, trustFlagOf, trustOf } from "../definitions/trust.ts";
import type { Invocation } from "../domain/spec.ts";
import type { Parent } from "../plan/parent.ts";
import { loadSettings, readSetting } from "../settings.ts";

/** What a tool needs of the session it is called in, and of this process. */
export interface Host {
	readonly pi: ExtensionAPI;
	/** How a child pi is started. */
	readonly command: Invocation;
	/** Calls whose result pi must report as failed; pi 0.87 takes that only from an event. */
	readonly failedCalls: Set<string>;
	/** Aborted when the session ends. */
	sessionSignal(): AbortSignal;
	/** Told to the person once per session. */
	warn(message: string, context: ExtensionContext): void;
}

/** The same pi that runs this process: another one on PATH may be of another version. */
export function piCommand(argv: readonly string[], execPath: string): Invocation {
	const script = argv[1];
	if (script !== undefined && !script.includes("$bunfs") && existsSync(script)) {
		return { command: execPath, args: [script] };
	}
	return { command: "pi", args: [] };
}

/** The session as planning sees it: read when a call begins. */
export function parentOf(host: Host, context: ExtensionContext): Parent {
	const { cwd, model } = context;
	const trust: TrustContext = {
		cwd,
		agentDirectory: getAgentDir(),
		isProjectTrusted: context.isProjectTrusted(),
		flag: trustFlagOf(process.argv),
		trustsByDefault: readSetting(getAgentDir(), "defaultProjectTrust") === "always",
	};
	const { settings, warnings } = loadSettings(agentDirectory(), trust);
	for (const warning of warnings) host.warn(warning, context);
	return {
		cwd,
		pi: host.command,
		model: model && { provider: model.provider, id: model.id, thinking: host.pi.getThinkingLevel() },
		trust: trustOf(cwd, trust),
		settings,
	};
}
