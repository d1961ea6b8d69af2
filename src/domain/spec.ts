/** Everything one run needs but its secrets and its prompt: closed, serialisable, and written to meta.json as it is. */
export interface RunSpec {
	readonly runId: string;
	readonly sessionId: string;
	/** Which tool family asked, and so in which words the run is reported. */
	readonly family: "delegate" | "preset" | "agent";
	/** What a person sees as the run's name. */
	readonly label: string;
	/** What was asked, before files and earlier runs were added to it. */
	readonly task: string;
	readonly agent: AgentRef | undefined;
	readonly cwd: string;
	readonly model: ModelRef | undefined;
	readonly invocation: Invocation;
	readonly limits: Limits;
	readonly contract: Contract;
	/** A foreground run ends with the parent that started it, a background run goes on. */
	readonly lifetime: "foreground" | "background";
	/** What happens to processes that the child left running when it finished. */
	readonly leftovers: "end" | "keep";
}

/** Which definition a run was made from. */
export interface AgentRef {
	readonly name: string;
	readonly scope: "global" | "project";
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
	/** Identical consecutive tool calls that count as a loop. 0 = off. */
	readonly repeatedCalls: number;
}

/** What counts as an answer. */
export type Contract = { readonly kind: "last-text" } | { readonly kind: "finalize"; readonly attempts: number };

/** What a run must be told but what is never written down: over the control socket, then over the child's fd 3. */
export interface Packet {
	readonly prompt: string;
	readonly apiKey: { readonly provider: string; readonly key: string } | undefined;
}
