import { existsSync } from "node:fs";
import {
	type ExtensionAPI,
	type ExtensionContext,
	getAgentDir,
	loadSkills,
	VERSION,
} from "@earendil-works/pi-coding-agent";
import { agentDirectory } from "../agent-directory.ts";
import { sharedDirectory, socketPathOf } from "../child/protocol.ts";
import type { Catalog, CatalogContext, Library } from "../definitions/catalog.ts";
import { type TrustContext, trustFlagOf, trustOf } from "../definitions/trust.ts";
import type { KeptRun } from "../domain/kept-run.ts";
import { mcpSupportOf } from "../domain/pi-version.ts";
import type { Invocation, ModelRef } from "../domain/spec.ts";
import type { HeadStart } from "../head-start/head-start.ts";
import type { Surroundings } from "../plan/agent.ts";
import type { AvailableModel } from "../plan/model.ts";
import type { Parent } from "../plan/parent.ts";
import type { SessionSkill } from "../plan/skills.ts";
import type { SessionTools } from "../plan/tools.ts";
import type { RunStore } from "../records/run-store.ts";
import type { Background } from "../session/background.ts";
import type { Budget } from "../session/budget.ts";
import type { LiveRuns } from "../session/live-runs.ts";
import type { Questions } from "../session/questions.ts";
import type { RunSession } from "../session/rebuild.ts";
import { ledgerOf, sessionBudgetOf } from "../session/spending.ts";
import { readSetting } from "../settings/files.ts";
import { loadSettings, personalSources, type Settings } from "../settings/settings.ts";
import type { Turns } from "./turns.ts";

/** What a tool needs of the session it is called in, and of this process. */
export interface Host {
	readonly pi: ExtensionAPI;
	/** How a child pi is started. */
	readonly command: Invocation;
	/** Calls whose result pi must report as failed; pi 0.87 takes that only from an event. */
	readonly failedCalls: Set<string>;
	/** The runs of this session. */
	readonly store: RunStore;
	/** Keeps a run in the store and in pi's session file: when it starts, and again when it has ended. Never throws. */
	keep(run: KeptRun): void;
	/** Sub-agent sessions that a call is going on with at the moment. */
	readonly resuming: Set<string>;
	readonly library: Library;
	readonly background: Background;
	/** The tasks that are queued or run in calls of this session. */
	readonly live: LiveRuns;
	/** What extensions of children ask the person. */
	readonly questions: Questions;
	readonly budget: Budget;
	readonly turns: Turns;
	readonly headStart: HeadStart;
	/** Aborted when the session ends. */
	sessionSignal(): AbortSignal;
	/** Told to the person once per session. */
	warn(message: string): void;
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
export function parentOf(host: Pick<Host, "pi" | "command" | "warn">, context: ExtensionContext): Parent {
	const { cwd, model } = context;
	const trust = trustContextOf(context);
	const settings = settingsOf(host, context, trust);
	const sessionId = context.sessionManager.getSessionId();
	return {
		cwd,
		pi: host.command,
		model: sessionModelOf(host, context),
		dialect: model?.api,
		trust: trustOf(cwd, trust),
		attended: isAttended(host, context, settings),
		socketOf: socketPathOf,
		settings,
		sessionBudget: sessionBudgetOf(settings, sessionId, sharedDirectory()),
		writeLedger: ledgerOf("writes", sessionId, sharedDirectory()),
		runPlaces: { cwd, agentDirectory: agentDirectory(), runsIn: settings.runsIn },
	};
}

/** The model that the session uses now. */
export const sessionModelOf = (
	{ pi }: Pick<Host, "pi">,
	{ model }: Pick<ExtensionContext, "model">,
): ModelRef | undefined => model && { provider: model.provider, id: model.id, thinking: pi.getThinkingLevel() };

export function settingsOf(
	host: Pick<Host, "warn">,
	context: ExtensionContext,
	trust = trustContextOf(context),
): Settings {
	const { settings, warnings } = loadSettings(agentDirectory(), trust);
	for (const warning of warnings) host.warn(warning);
	return settings;
}

/** Whether somebody is there whom extensions of sub-agents may ask. */
export const isAttended = (
	host: Pick<Host, "warn">,
	context: ExtensionContext,
	settings: Settings = settingsOf(host, context),
): boolean => context.hasUI && settings.questions === "ask";

export const trustContextOf = (context: ExtensionContext): TrustContext => ({
	cwd: context.cwd,
	agentDirectory: getAgentDir(),
	isProjectTrusted: context.isProjectTrusted(),
	flag: trustFlagOf(process.argv),
	trustsByDefault: readSetting(getAgentDir(), "defaultProjectTrust") === "always",
});

/** Where the runs of a session are looked up. */
export const runSessionOf = ({ sessionManager, cwd }: ExtensionContext): RunSession => ({
	entries: () => sessionManager.getBranch(),
	places: { cwd, agentDirectory: agentDirectory() },
});

export const catalogContextOf = (context: ExtensionContext): CatalogContext => ({
	agentDirectory: agentDirectory(),
	sources: personalSources(agentDirectory()),
	trust: trustContextOf(context),
});

export const catalogOf = ({ library }: Pick<Host, "library">, context: ExtensionContext): Catalog =>
	library.load(catalogContextOf(context));

/** What definitions are made of in this session: read when a call begins, and asked of pi only where it matters. */
export function surroundingsOf(host: Pick<Host, "pi" | "library">, context: ExtensionContext): Surroundings {
	const { pi } = host;
	return {
		catalog: catalogOf(host, context),
		tools: once(() => sessionTools(pi)),
		mcp: mcpSupportOf(VERSION),
		skills: once(() => [...discoveredSkills(context), ...sessionSkills(pi)]),
		models(which) {
			if (which === "usable") return usableModels(context);
			return which === "all" ? context.modelRegistry.getAll() : context.modelRegistry.getAvailable();
		},
	};
}

/** pi 0.87 knows no exposure: every tool of its is declared to the model. */
function sessionTools(pi: ExtensionAPI): SessionTools {
	const all: readonly { readonly name: string; readonly exposure?: string }[] = pi.getAllTools();
	return {
		all: all.map(({ name }) => name),
		active: pi.getActiveTools(),
		indirect: all.filter(({ exposure }) => (exposure ?? "direct") !== "direct").map(({ name }) => name),
	};
}

/** Also those of packages, and all that the settings name. */
const sessionSkills = (pi: ExtensionAPI): SessionSkill[] =>
	pi
		.getCommands()
		.filter(({ source }) => source === "skill")
		.map(({ name, sourceInfo }) => ({ name: name.replace(/^skill:/, ""), path: sourceInfo.path }));

/** Where pi itself would look: a session may have been started without them. A project is asked only if it is trusted. */
function discoveredSkills(context: ExtensionContext): SessionSkill[] {
	const agentDir = getAgentDir();
	const cwd = context.isProjectTrusted() ? context.cwd : agentDir;
	const { skills } = loadSkills({ cwd, agentDir, skillPaths: [], includeDefaults: true });
	return skills.map(({ name, filePath }) => ({ name, path: filePath }));
}

/** Those that the session is limited to, else all that there is a key for. */
export function usableModels({ scopedModels, modelRegistry }: ExtensionContext): readonly AvailableModel[] {
	const scoped = scopedModels.map(({ model }) => model);
	return scoped.length > 0 ? scoped : modelRegistry.getAvailable();
}

function once<T>(make: () => T): () => T {
	let made: { readonly value: T } | undefined;
	return () => {
		made ??= { value: make() };
		return made.value;
	};
}
