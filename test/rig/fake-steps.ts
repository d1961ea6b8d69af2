import { fileURLToPath } from "node:url";

/** The stand-in for pi: run it with Node, give it a packet (one JSON line with `prompt`) on fd 3. */
export const FAKE_PI = fileURLToPath(new URL("./fake-pi.mjs", import.meta.url));

/** Exit code of the fake when there is no pipe on fd 3. */
export const FAKE_PI_NO_PACKET = 70;

export interface FakeUsage {
	input?: number;
	output?: number;
	cacheRead?: number;
	cacheWrite?: number;
	reasoning?: number;
	totalTokens?: number;
	cost?: { input?: number; output?: number; cacheRead?: number; cacheWrite?: number; total?: number };
}

interface Speaker {
	usage?: FakeUsage;
	model?: string;
	provider?: string;
}

/** A whole assistant message. `content` replaces the single text block; `splitEvery` cuts its line into byte pieces. */
export interface SayStep extends Speaker {
	say: string;
	stopReason?: "stop" | "length" | "error" | "aborted" | "toolUse";
	errorMessage?: string;
	content?: unknown[];
	splitEvery?: number;
}

/** One tool call with its result; `unfinished`: started, and nothing more is heard of it. */
export interface ToolStep extends Speaker {
	tool: string;
	args?: unknown;
	result?: string;
	isError?: boolean;
	details?: unknown;
	resultUsage?: FakeUsage;
	/** Text before the call in the same message. */
	text?: string;
	id?: string;
	unfinished?: boolean;
}

/** Starts a process; its pid is the text of the result of a tool named "spawn". */
export interface SpawnStep {
	spawn: string[];
	detached?: boolean;
	/** The grandchild inherits stdout, so the pipe stays open. */
	holdStdout?: boolean;
	/** Added to the grandchild's environment. */
	environment?: Record<string, string>;
}

export type FakeStep =
	| SayStep
	| ToolStep
	| SpawnStep
	/** A piece of the next assistant message. */
	| { delta: string }
	/** Another user message. */
	| { user: string }
	/** Waits for so many steers, hands them over as pi does, and says them as JSON. */
	| { receive: number }
	/** Waits for so many steers and hands none over. */
	| { hear: number }
	/** Asks the person all of these at once, and says the answers as a JSON array. */
	| { ask: readonly unknown[] }
	/** A line for fd 3. */
	| { tellSupervisor: unknown }
	/** Waits until somebody is there to answer, or nobody. */
	| { person: boolean }
	/** pi's automatic retry after an error: agent_end with willRetry, auto_retry_start (delayMs), agent_start. */
	| { retry: number }
	/** A line as it is. */
	| { raw: string }
	/** Text without a line end, in writes of `splitEvery` bytes (1 when missing). */
	| { bytes: string; splitEvery?: number }
	| { base64: string; splitEvery?: number }
	| { stderr: string }
	| { sleep: number }
	| { hang: true }
	/** Stops itself (SIGSTOP) and goes on after SIGCONT. */
	| { pause: true }
	/** Ignores SIGTERM and SIGHUP from now on. */
	| { deaf: boolean }
	| { exit: number }
	/** Sends itself a signal and waits. */
	| { signal: NodeJS.Signals }
	/** agent_end and agent_settled; without this step it happens at the end. */
	| { settle: true }
	/** Settles if it has not, and stays alive for so many milliseconds. */
	| { linger: number }
	| { repeat: number; steps: FakeStep[] }
	/** Says the values of these environment variables as a JSON object (null: not set). */
	| { env: string[] }
	/** Says its arguments as a JSON array. */
	| { argv: true }
	| { cwd: true }
	/** Says the packet it was given as JSON. */
	| { packet: true }
	/** Reads stdin to its end and says it. */
	| { stdin: true };

/** The prompt that makes the fake do these steps. */
export function promptOf(...steps: FakeStep[]): string {
	return JSON.stringify(steps);
}
