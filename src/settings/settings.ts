import { dirname, join } from "node:path";
import { splitList } from "../definitions/fields.ts";
import { type TrustContext, trustOf } from "../definitions/trust.ts";
import { limitIn } from "../domain/budget.ts";
import { CHANGES_POLICIES, type ChangesPolicy } from "../domain/changes.ts";
import { FOREIGN_SOURCES, type ForeignSource } from "../domain/definition.ts";
import { ISOLATIONS, type IsolationLevel, isLooser } from "../domain/isolation.ts";
import { MAX_TIMEOUT_SECONDS } from "../domain/longest-timeout.ts";
import { FAMILIES, type ToolFamily } from "../domain/package-tools.ts";
import { DEFAULT_LINES } from "../domain/shown-lines.ts";
import { ANY, choice, clamped, type Field, flag, limit, PERSON, ranged, TIGHTEN_NUMBER } from "./field.ts";
import { nearestSettings, originOf, readSubagentsKey, resolveField, type Source } from "./files.ts";

/** The `subagents` key of pi's settings files, with nothing left to interpret. */
export interface Settings {
	readonly maxLinesPerWindow: number;
	readonly commandPreviewWidth: number;
	readonly idleGraceSeconds: number;
	readonly repeatedCalls: number;
	readonly inheritModel: boolean;
	readonly families: readonly ToolFamily[];
	readonly runner: "process" | "tmux";
	readonly keepPanes: boolean;
	readonly maxConcurrency: number;
	readonly maxBackground: number;
	readonly maxRunsPerSession: number;
	/** Seconds; undefined = no limit of its own. */
	readonly timeout: number | undefined;
	/** Limits of every run; undefined = none. */
	readonly maxTokens: number | undefined;
	readonly maxCost: number | undefined;
	readonly maxTurns: number | undefined;
	/** Limits of all runs of a session together; undefined = none. */
	readonly maxSessionTokens: number | undefined;
	readonly maxSessionCost: number | undefined;
	/** Models to go on with when a provider fails, where nobody named a model. */
	readonly fallbackModels: readonly string[];
	/** Requests of sub-agents that may be in flight at once, by provider or provider/model. */
	readonly maxInFlight: Readonly<Record<string, number>>;
	readonly headStart: boolean;
	readonly leftovers: "end" | "keep";
	readonly isolation: IsolationLevel;
	/** What happens to changes of runs with a worktree of their own. */
	readonly changes: ChangesPolicy;
	/** Whether sub-agents of a session are kept from losing each other's changes. */
	readonly writeGuard: boolean;
	readonly outputLimit: number;
	readonly runRetentionDays: number;
	readonly maxRuns: number;
	/** How many seconds before its timeout a run is told to finish; 0 = never. */
	readonly wrapUpSeconds: number;
	/** Whether the end of a background run gives the agent a turn. */
	readonly announce: "quiet" | "turn";
	/** Whether `pi -p` stays until its background runs have ended, and for how many seconds at most. */
	readonly waitInPrintMode: boolean;
	readonly printModeTimeout: number;
	/** Whether extensions of sub-agents may ask the person, and for how many seconds a question stays open. */
	readonly questions: "ask" | "deny";
	readonly questionTimeout: number;
	/** Where runs are kept: in the agent directory, or inside of the project. */
	readonly runsIn: "home" | "project";
	/** Opens the fleet view; empty = no key. */
	readonly fleetKey: string;
	/** Whether results say what runs have done to files and which commands failed. */
	readonly receipts: boolean;
	/** Why no run may start: a limit that was asked for cannot be read, and no run goes without it. */
	readonly refusal: string | undefined;
	/** Whose definitions are read beside ours. */
	readonly definitionSources: readonly ForeignSource[];
}

export interface LoadedSettings {
	readonly settings: Settings;
	/** What a person should be told, once each. */
	readonly warnings: readonly string[];
	/** Which file a value that is in force comes from; nothing for defaults. */
	readonly origins: ReadonlyMap<string, string>;
}

/** A key as pi writes it, with ctrl or alt so that it is no text; empty for none. */
const FLEET_KEY = /^(?:(?:(?:ctrl|shift|alt|super)\+)*(?:ctrl|alt|super)\+(?:shift\+)?[a-z0-9]|f\d{1,2})?$/;

const FIELDS: { readonly [K in Exclude<keyof Settings, "refusal">]: Field<Settings[K]> } = {
	maxLinesPerWindow: clamped("maxLinesPerWindow", DEFAULT_LINES, 1, 500),
	commandPreviewWidth: clamped("commandPreviewWidth", 160, 20, 10_000),
	idleGraceSeconds: clamped("extend_timeout_debounce", 30, 0, 300),
	repeatedCalls: clamped("looping_tool_count", 5, 0, 50),
	inheritModel: flag("inheritModel", true),
	families: {
		key: "families",
		fallback: FAMILIES,
		parse: (value) => {
			if (!Array.isArray(value) || !value.every((each) => FAMILIES.includes(each as ToolFamily))) return undefined;
			return FAMILIES.filter((family) => value.includes(family));
		},
		setBy: ANY,
	},
	runner: { ...choice("runner", ["process", "tmux"]), setBy: PERSON },
	keepPanes: flag("keepPanes", false),
	maxConcurrency: ranged("maxConcurrency", 4, 1, 16),
	maxBackground: ranged("maxBackground", 16, 1, 1_000),
	maxRunsPerSession: ranged("maxRunsPerSession", 100, 1, 1_000_000),
	timeout: {
		key: "timeout",
		fallback: undefined,
		parse: (value) => (typeof value === "number" && value >= 1 && value <= MAX_TIMEOUT_SECONDS ? value : undefined),
		setBy: TIGHTEN_NUMBER,
	},
	maxTokens: limit("maxTokens", "whole"),
	maxCost: limit("maxCost", "any"),
	maxTurns: limit("maxTurns", "whole"),
	maxSessionTokens: limit("maxSessionTokens", "whole"),
	maxSessionCost: limit("maxSessionCost", "any"),
	fallbackModels: {
		key: "fallbackModels",
		fallback: [],
		parse: (value) => {
			const names = typeof value === "string" ? splitList(value) : value;
			return Array.isArray(names) && names.every((each) => typeof each === "string" && each.trim() !== "")
				? names
				: undefined;
		},
		mustBe: "names of models: a list, or a text with commas",
		setBy: PERSON,
	},
	maxInFlight: {
		key: "maxInFlight",
		fallback: {},
		parse: (value) => {
			if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
			const limits = Object.entries(value);
			return limits.every(([key, each]) => key !== "" && limitIn(each, "whole") !== undefined)
				? Object.fromEntries(limits as [string, number][])
				: undefined;
		},
		mustBe: "whole numbers above 0 by provider or provider/model",
		setBy: PERSON,
	},
	headStart: flag("headStart", true),
	leftovers: choice("leftovers", ["end", "keep"]),
	changes: {
		...choice("changes", CHANGES_POLICIES),
		mustBe: CHANGES_POLICIES.map((each) => `"${each}"`).join(" or "),
		setBy: { kind: "tighten", isLooser: (asked, current) => asked === "apply" && current === "branch" },
	},
	isolation: {
		...choice("isolation", ISOLATIONS),
		mustBe: ISOLATIONS.map((each) => `"${each}"`).join(" or "),
		setBy: { kind: "tighten", isLooser },
	},
	writeGuard: flag("writeGuard", true),
	outputLimit: ranged("outputLimit", 50 * 1024, 1_024, 100 * 1024 * 1024),
	runRetentionDays: ranged("runRetentionDays", 14, 0, 36_500),
	maxRuns: ranged("maxRuns", 200, 0, 1_000_000),
	wrapUpSeconds: ranged("wrapUpSeconds", 30, 0, 3_600),
	announce: { ...choice("announce", ["quiet", "turn"]), setBy: PERSON },
	waitInPrintMode: { ...flag("waitInPrintMode", true), setBy: PERSON },
	printModeTimeout: { ...ranged("printModeTimeout", 3_600, 1, 604_800), setBy: PERSON },
	questions: {
		...choice("questions", ["ask", "deny"]),
		setBy: { kind: "tighten", isLooser: (asked, current) => asked === "ask" && current === "deny" },
	},
	questionTimeout: {
		...ranged("questionTimeout", 600, 1, 86_400),
		setBy: { kind: "tighten", isLooser: (asked, current) => asked > current },
	},
	runsIn: { ...choice("runsIn", ["home", "project"]), setBy: PERSON },
	definitionSources: {
		key: "definitionSources",
		fallback: FOREIGN_SOURCES,
		parse: (value) => {
			if (!Array.isArray(value) || !value.every((each) => FOREIGN_SOURCES.includes(each as ForeignSource)))
				return undefined;
			return FOREIGN_SOURCES.filter((source) => value.includes(source));
		},
		setBy: PERSON,
	},
	receipts: {
		...flag("receipts", true),
		setBy: { kind: "tighten", isLooser: (asked, current) => current && !asked },
	},
	fleetKey: {
		key: "fleetKey",
		fallback: "alt+a",
		parse: (value) => (typeof value === "string" && FLEET_KEY.test(value) ? value : undefined),
		setBy: PERSON,
	},
};

/** The person's settings, then the nearest project's, key by key. A value that is none falls back to the default. */
export function loadSettings(agentDirectory: string, trust: TrustContext): LoadedSettings {
	const warnings: string[] = [];
	const read = (path: string) => readSubagentsKey(path, (problem) => warnings.push(problem));
	const personPath = join(agentDirectory, "settings.json");
	const sources: Source[] = [{ path: personPath, values: read(personPath), of: "person" }];
	const project = nearestSettings(trust.cwd);
	if (project !== undefined && project !== personPath) {
		const values = read(project);
		const verdict = trustOf(dirname(dirname(project)), trust);
		if (Object.keys(values).length > 0 && verdict === "refused") {
			warnings.push(`${project}: "subagents" is ignored, because this project is not trusted`);
		} else sources.push({ path: project, values, of: "project" });
	}
	let refusal: string | undefined;
	const entries = Object.entries(FIELDS).map(([name, field]) => [
		name,
		resolveField(field as Field<unknown>, sources, (problem, severity) => {
			warnings.push(problem);
			if (severity === "refusal") refusal ??= problem;
		}),
	]);
	const origins = new Map(
		entries.flatMap(([name, value]) => {
			const origin = originOf(FIELDS[name as keyof typeof FIELDS] as Field<unknown>, value, sources);
			return origin === undefined ? [] : [[name as string, origin] as const];
		}),
	);
	return { settings: { ...Object.fromEntries(entries), refusal } as unknown as Settings, warnings, origins };
}

/** What is known of the families before a session has a directory and a project. */
export function personalFamilies(agentDirectory: string): Settings["families"] {
	const { families } = readSubagentsKey(join(agentDirectory, "settings.json"), () => {});
	return FIELDS.families.parse(families) ?? FIELDS.families.fallback;
}

/** Whose definitions are read beside ours: the person's to say. */
export function personalSources(agentDirectory: string): Settings["definitionSources"] {
	const { definitionSources } = readSubagentsKey(join(agentDirectory, "settings.json"), () => {});
	return FIELDS.definitionSources.parse(definitionSources) ?? FIELDS.definitionSources.fallback;
}

/** Keys are registered when the package is loaded. */
export function personalFleetKey(agentDirectory: string): string {
	const { fleetKey } = readSubagentsKey(join(agentDirectory, "settings.json"), () => {});
	return FIELDS.fleetKey.parse(fleetKey) ?? FIELDS.fleetKey.fallback;
}
