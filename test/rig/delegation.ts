import type { Home } from "./home.ts";
import {
	type ModelRequest,
	type ModelServer,
	type Script,
	type ScriptedCall,
	type ToolsReply,
	text,
	toolCalls,
} from "./model-server.ts";
import { type PiEnd, type PiEvent, type PiOptions, type PiRun, runPi } from "./pi.ts";

export interface DelegationOptions {
	/** The package's entry file; undefined where the package is installed. */
	extension: string | undefined;
	/** Answers the requests of the children. */
	child: Script;
	/** The tool only the parent has; its first call is made with `args`. */
	tool?: string;
	args?: unknown;
	/** Instead of one call of `tool`: what the parent calls in each of its turns. */
	rounds?: ScriptedCall[][];
	/** How the parent's calls are written. */
	writing?: Pick<ToolsReply, "argumentChunkDelayMs" | "beforeLastArguments">;
	/** The parent's last words. */
	finalText?: string;
	isParent?: (request: ModelRequest) => boolean;
	prompt?: string;
	pi?: Omit<PiOptions, "prompt" | "extension">;
}

export interface ToolOutcome {
	toolCallId: string;
	toolName: string;
	/** All text blocks of the content, joined. */
	text: string;
	content: unknown[];
	details: unknown;
	isError: boolean;
	usage: unknown;
	/** The partial results, as pi reported them. */
	updates: unknown[];
}

export interface Delegation extends PiEnd {
	/** In the order in which pi gave them to the model. */
	results: ToolOutcome[];
	childRequests: ModelRequest[];
	parentRequests: ModelRequest[];
}

export interface RunningDelegation {
	parent: PiRun;
	done: Promise<Delegation>;
}

const DEFAULT_TOOL = "delegate_to_subagents";

/** Runs a real parent that makes the scripted calls; the server's script is replaced. */
export function startDelegation(home: Home, server: ModelServer, options: DelegationOptions): RunningDelegation {
	const tool = options.tool ?? DEFAULT_TOOL;
	const isParent = options.isParent ?? ((request: ModelRequest) => request.tools.includes(tool));
	const firstRequest = server.requests.length;
	const parentScript = scriptOfParent(options, tool);
	server.use((request) => (isParent(request) ? parentScript(request) : options.child(request)));
	const parent = runPi(home, {
		...options.pi,
		prompt: options.prompt ?? "please delegate",
		...(options.extension !== undefined && { extension: options.extension }),
	});
	const done = parent.done.then((end): Delegation => {
		const requests = server.requests.slice(firstRequest);
		return {
			...end,
			results: toolOutcomes(end.events),
			childRequests: requests.filter((request) => !isParent(request)),
			parentRequests: requests.filter(isParent),
		};
	});
	done.catch(() => {});
	return { parent, done };
}

/** As `startDelegation`, to the end; throws when the parent's model never saw a result. */
export async function delegate(
	home: Home,
	server: ModelServer,
	options: DelegationOptions,
): Promise<Delegation & { result: ToolOutcome }> {
	const delegation = await startDelegation(home, server, options).done;
	const [result] = delegation.results;
	if (result) return { ...delegation, result };
	const types = delegation.events.map((event) => event.type).join(", ");
	throw new Error(
		`No tool result (exit ${delegation.code ?? delegation.signal}). Events: ${types}. stderr: ${delegation.stderr}`,
	);
}

/** Every tool result in the events of a run of pi, with the partial results before it. */
export function toolOutcomes(events: PiEvent[]): ToolOutcome[] {
	return events
		.filter((event) => event.type === "message_end")
		.map((event) => fields(event.message))
		.filter((message) => message.role === "toolResult")
		.map((message) => toolOutcome(message, events));
}

function toolOutcome(message: Record<string, unknown>, events: PiEvent[]): ToolOutcome {
	const content = Array.isArray(message.content) ? message.content : [];
	const { toolCallId, toolName } = message;
	return {
		toolCallId: String(toolCallId),
		toolName: String(toolName),
		text: content
			.map((block) => fields(block).text)
			.filter((value) => typeof value === "string")
			.join(""),
		content,
		details: message.details,
		isError: message.isError === true,
		usage: message.usage,
		updates: events
			.filter((event) => event.type === "tool_execution_update" && event.toolCallId === toolCallId)
			.map((event) => event.partialResult),
	};
}

function scriptOfParent(options: DelegationOptions, tool: string): Script {
	const rounds = options.rounds ?? [[{ name: tool, args: options.args ?? {} }]];
	// A resumed parent has assistant messages from before.
	let turnsBefore: number | undefined;
	return (request) => {
		turnsBefore ??= request.turn;
		const calls = rounds[request.turn - turnsBefore];
		return calls ? toolCalls(calls, options.writing) : text(options.finalText ?? "the parent is done");
	};
}

function fields(value: unknown): Record<string, unknown> {
	return typeof value === "object" && value !== null ? { ...value } : {};
}
