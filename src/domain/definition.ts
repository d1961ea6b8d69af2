import type { Amounts } from "./budget.ts";
import type { ChangesPolicy } from "./changes.ts";
import type { IsolationLevel } from "./isolation.ts";

/** The three words by which a definition is called, and the three kinds of directory that hold definitions. */
export type DefinitionKind = "profile" | "preset" | "agent";
export const DEFINITION_KINDS: readonly DefinitionKind[] = ["profile", "preset", "agent"];

/** Whose definitions are read beside our own: those of pi packages, of the shared `.agents`, of Claude Code, of OpenCode. */
export type ForeignSource = "pi" | "agents" | "claude" | "opencode";
/** In the order in which they win; ours come before all of them. */
export const FOREIGN_SOURCES: readonly ForeignSource[] = ["pi", "agents", "claude", "opencode"];

export type DefinitionSource = DefinitionKind | ForeignSource;

export const isForeignSource = (source: DefinitionSource): source is ForeignSource =>
	(FOREIGN_SOURCES as readonly string[]).includes(source);

export type Scope = "global" | "project";

/** What a markdown file says an agent is. Nothing here depends on one call. */
export interface AgentDefinition {
	readonly name: string;
	/** Empty where there is none. */
	readonly description: string;
	readonly origin: Origin;
	readonly model: ModelChoice;
	/** As written, in order: what a run may go on with when its provider fails. */
	readonly fallbackModels: readonly string[];
	/** The text below the frontmatter; empty where there is none. */
	readonly body: string;
	/** Whether the body takes the place of pi's system prompt or is added to it. */
	readonly promptMode: "replace" | "append";
	/** What goes after the system prompt, whichever that is. */
	readonly addition: string;
	readonly tools: ToolPolicy;
	readonly skills: SkillPolicy;
	readonly extensions: ExtensionPolicy;
	readonly contextFiles: "inherit" | "none";
	/** As written: a key, or a reference to one. */
	readonly apiKey: string | undefined;
	readonly extraArgs: readonly string[];
	readonly timeoutSeconds: number | undefined;
	/** 0 = no limit of its own. */
	readonly budget: Amounts;
	/** Whether it may end with a question instead of an answer. */
	readonly mayAsk: boolean;
	/** What its answers look like when it is called as an agent; undefined = text. */
	readonly output: OutputSchema | undefined;
	/** What it is kept apart from at least; the settings may ask for more. */
	readonly isolation: IsolationLevel;
	/** What happens to changes in a worktree of its own; undefined = what the settings say. */
	readonly changes: ChangesPolicy | undefined;
	/** What each field of a foreign file became; none for our own, whose fields mean what they say. */
	readonly translated: readonly TranslatedField[];
}

/** A JSON Schema that has been checked. */
export type OutputSchema = Readonly<Record<string, unknown>>;

export interface TranslatedField {
	readonly field: string;
	/** For a person. */
	readonly became: string;
}

export interface Origin {
	readonly kind: DefinitionSource;
	readonly scope: Scope;
	readonly path: string;
	/** What relative paths in the definition start from: the project's directory, or the agent directory. */
	readonly base: string;
	/** `unasked`: nobody has decided about the project, so its far-reaching fields are refused. */
	readonly trust: "trusted" | "unasked";
	/** A project's definition that takes the place of a global one of the same kind and name. */
	readonly shadows: boolean;
}

export interface ModelChoice {
	/** In foreign files a word such as `sonnet` is a line of models, and no model is the session's, even for a preset. */
	readonly rule: "own" | "foreign";
	readonly provider: string | undefined;
	/** As written: `provider/id`, an id or a part of one, with or without `:level`. */
	readonly name: string | undefined;
	readonly thinking: ThinkingLevel | undefined;
}

export const THINKING_LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type ThinkingLevel = (typeof THINKING_LEVELS)[number];

export const isThinkingLevel = (value: string): value is ThinkingLevel =>
	(THINKING_LEVELS as readonly string[]).includes(value);

/** One value for six fields: what contradicts itself is refused where the file is read. */
export type ToolPolicy =
	| { readonly kind: "inherit" }
	| { readonly kind: "none" }
	| { readonly kind: "allow"; readonly names: readonly string[] }
	| { readonly kind: "deny"; readonly names: readonly string[]; readonly from: "all" | "active" }
	/** Foreign: those of these that there are, names or patterns, in any case; a definition with none of them cannot be called. */
	| { readonly kind: "allow-known"; readonly names: readonly string[]; readonly but: readonly string[] }
	/** Foreign: the active tools but these, names or patterns, whether there are such tools or not. */
	| { readonly kind: "deny-known"; readonly names: readonly string[] };

export type SkillPolicy =
	| { readonly kind: "inherit" }
	| { readonly kind: "none" }
	| { readonly kind: "named"; readonly suggested: readonly string[]; readonly loaded: readonly string[] };

export interface ExtensionPolicy {
	readonly discover: boolean;
	readonly paths: readonly string[];
}

export const NAME_PATTERN = /^[a-zA-Z0-9_-]+$/;
