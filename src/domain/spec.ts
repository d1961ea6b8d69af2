import type { Amounts } from "./budget.ts";
import type { ChangesPolicy } from "./changes.ts";
import type { DefinitionKind, DefinitionSource, OutputSchema, Scope } from "./definition.ts";
import type { IsolationLevel } from "./isolation.ts";

/** Everything one run needs but its secrets and its prompt: closed, serialisable, and written to meta.json as it is. */
export interface RunSpec {
	readonly runId: string;
	readonly sessionId: string;
	/** How it was asked for, and so in which words it is reported. */
	readonly family: "delegate" | "preset" | "agent";
	/** What a person sees as the run's name. */
	readonly label: string;
	/** What was asked, before files and earlier runs were added to it. */
	readonly task: string;
	readonly agent: AgentRef | undefined;
	readonly cwd: string;
	readonly model: ModelRef | undefined;
	/** What it may go on with when the provider fails, in order. */
	readonly fallback: readonly ModelRef[];
	/** Requests that may be in flight at once, by provider or provider/model, over all sub-agents of the user. */
	readonly maxInFlight: Readonly<Record<string, number>>;
	readonly invocation: Invocation;
	/** Where the run's control socket is, wherever later readers have their own. */
	readonly socket: string;
	readonly limits: Limits;
	readonly budget: Amounts;
	/** What all runs of the session may use together, and the directory where they note it. */
	readonly sessionBudget: { readonly limit: Amounts; readonly ledger: string } | undefined;
	/** Where the session's runs note which files they change, so that none loses another's changes; undefined = nowhere. */
	readonly writeGuard: string | undefined;
	readonly contract: Contract;
	/** A session file that one run at a time may write to; undefined where the run has its own or none. */
	readonly sharedSession: string | undefined;
	/** A foreground run ends with the parent that started it, a background run goes on. */
	readonly lifetime: "foreground" | "background";
	/** What happens to processes that the child left running when it finished. */
	readonly leftovers: "end" | "keep";
	/**
	 * With a pid namespace of its own nothing that the child started outlives it, whatever that does to hide. With a worktree of its
	 * own it changes nothing of the person's either.
	 */
	readonly isolation: IsolationLevel;
	/** What happens to changes in a worktree of its own; missing in runs of earlier versions. */
	readonly changes?: ChangesPolicy;
	/** What its receipt is made from; missing in runs of earlier versions, which have none. */
	readonly receipt?: ReceiptSource;
}

/** By which word a definition is called. */
export const WORD_OF: Readonly<Record<RunSpec["family"], DefinitionKind>> = {
	delegate: "profile",
	preset: "preset",
	agent: "agent",
};

export type ReceiptSource =
	| "off"
	/** It has no tool that can write. */
	| "read-only"
	/** Its write and edit calls: it has no other tool that can write. */
	| "calls"
	/** These, and what its directory shows: it has the shell, or tools that nobody here knows. */
	| "scan";

/** Which definition a run was made from, and what that came to. */
export interface AgentRef {
	readonly name: string;
	/** By which word it was called. */
	readonly word: DefinitionKind;
	/** In which kind of directory it lies. */
	readonly kind: DefinitionSource;
	readonly scope: Scope;
	readonly path: string;
	/** A project's definition that hides a global one. */
	readonly shadows: boolean;
	/** The model as it was asked for; the spec has the one that was found. */
	readonly requestedModel: string | undefined;
	/** What the child is limited to; undefined = no limit. */
	readonly tools: readonly string[] | undefined;
	readonly systemPrompt: string | undefined;
	readonly systemPromptPath: string | undefined;
}

export interface ModelRef {
	readonly provider: string;
	readonly id: string;
	readonly thinking: string | undefined;
}

/** How pi is started. Nothing secret and no prompt is ever in here: `ps` shows arguments to everybody. */
export interface Invocation {
	readonly command: string;
	readonly args: readonly string[];
}

export interface Limits {
	/** 0 = no limit. */
	readonly timeoutMs: number;
	/** After the timeout, how long without a new tool call before the run is stopped. 0 = stop at the timeout. */
	readonly idleGraceMs: number;
	/** How long before the timeout its model is told to finish; missing or 0: never. */
	readonly wrapUpMs?: number;
	/** How long a question to the person stays open; missing: ten minutes. */
	readonly questionMs?: number;
	/** Identical consecutive tool calls that count as a loop. 0 = off. */
	readonly repeatedCalls: number;
}

/** What counts as an answer. */
export type Contract =
	| { readonly kind: "last-text" }
	| {
			readonly kind: "finalize";
			/** How often it may be corrected. */
			readonly attempts: number;
			/** Missing: it may also hand over a question. */
			readonly mayAsk?: false;
			/** What the answer looks like; missing: text. */
			readonly output?: OutputSchema;
	  };

/** What a run must be told but what is never written down: over the control socket, then over the child's fd 3. */
export interface Packet {
	readonly prompt: string;
	readonly apiKey: { readonly provider: string; readonly key: string } | undefined;
	readonly tools: ToolDemand;
	readonly contract: Contract;
}

/** What only the child can see to, because only it knows all of its tools: a name that it does not know ends it. */
export type ToolDemand =
	| { readonly kind: "has"; readonly names: readonly string[] }
	| { readonly kind: "has-all-but"; readonly names: readonly string[] };

/** A file that is put into the run directory before the run starts. */
export interface RunFile {
	readonly name: string;
	readonly text: string;
}

/** Stands for the run directory where a spec is made before the directory is. */
const RUN_DIRECTORY = "{run-directory}/";

export const inRunDirectory = (name: string): string => `${RUN_DIRECTORY}${name}`;

/** The spec with its paths in a directory that exists. */
export function placeIn(directory: string, spec: RunSpec): RunSpec {
	const place = (value: string) =>
		value.startsWith(RUN_DIRECTORY) ? `${directory}/${value.slice(RUN_DIRECTORY.length)}` : value;
	const { agent, invocation } = spec;
	return {
		...spec,
		invocation: { ...invocation, args: invocation.args.map(place) },
		agent: agent && {
			...agent,
			systemPromptPath: agent.systemPromptPath === undefined ? undefined : place(agent.systemPromptPath),
		},
	};
}

/** Which run it is, and which session of a sub-agent. */
export type RunIds = Pick<RunSpec, "runId" | "sessionId">;

/** The same run under other ids. */
export function renamed(spec: RunSpec, { runId, sessionId }: RunIds, socket: string): RunSpec {
	const rename = (value: string) => value.replaceAll(spec.sessionId, sessionId);
	const { invocation, sharedSession } = spec;
	return {
		...spec,
		...{ runId, sessionId, socket },
		invocation: { ...invocation, args: invocation.args.map(rename) },
		sharedSession: sharedSession === undefined ? undefined : rename(sharedSession),
	};
}
