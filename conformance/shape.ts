import type { ModelRequest, ScriptedCall } from "../test/rig/model-server.ts";

/** How an extension is asked to delegate one task, and how its answer is read where the call does not return it. */
export interface Shape {
	/** What it was recognised by. */
	readonly kind: string;
	readonly tool: string;
	call(task: string): unknown;
	/** The call that reads the answer, made from what the first one returned. */
	readBack(result: string): ScriptedCall | undefined;
}

/** A tool as the model sees it. */
export interface OfferedTool {
	readonly name: string;
	readonly parameters: Readonly<Record<string, unknown>>;
}

/** The definition that is put wherever the known kinds look for one. */
export const AGENT = "conformance-agent";

interface KnownShape {
	readonly kind: string;
	fits(tool: OfferedTool): boolean;
	call(task: string, tool: OfferedTool): unknown;
	readBack?(result: string): ScriptedCall | undefined;
}

const has = ({ parameters }: OfferedTool, ...names: string[]) =>
	names.every((name) => name in record(parameters.properties));

/** In this order: the first that fits one of the extension's tools is taken. */
const KNOWN: readonly KnownShape[] = [
	{
		kind: "delegate_to_subagents {tasks}",
		fits: ({ name }) => name === "delegate_to_subagents",
		call: (task) => ({ tasks: [{ name: "conformance", prompt: task }] }),
		readBack(result) {
			const sessionId = /\(session: (\w+)\)/.exec(result)?.[1];
			return sessionId === undefined ? undefined : { name: "get_subagent_output", args: { sessionId } };
		},
	},
	{
		kind: "{description, prompt, subagent_type}",
		fits: (tool) => has(tool, "prompt", "subagent_type"),
		call: (task) => ({ description: "conformance", prompt: task, subagent_type: AGENT }),
	},
	{
		kind: "{agent, task, agentScope}",
		fits: (tool) => has(tool, "agent", "task", "agentScope"),
		call: (task) => ({ agent: AGENT, task, agentScope: "user" }),
	},
	{
		kind: "{preset, task}",
		fits: (tool) => has(tool, "preset", "task"),
		call: (task) => ({ preset: AGENT, task }),
	},
	{ kind: "{agent, task}", fits: (tool) => has(tool, "agent", "task"), call: (task) => ({ agent: AGENT, task }) },
	{
		kind: "{agent, prompt}",
		fits: (tool) => has(tool, "agent", "prompt"),
		call: (task) => ({ agent: AGENT, prompt: task }),
	},
	{ kind: "{prompt}", fits: (tool) => has(tool, "prompt"), call: (task) => ({ prompt: task }) },
	{ kind: "{task}", fits: (tool) => has(tool, "task"), call: (task) => ({ task }) },
];

/** The first known shape that one of these tools has. */
export function shapeOf(tools: readonly OfferedTool[]): Shape | undefined {
	for (const known of KNOWN) {
		const tool = tools.find(known.fits);
		if (!tool) continue;
		return {
			kind: known.kind,
			tool: tool.name,
			call: (task) => known.call(task, tool),
			readBack: known.readBack ?? (() => undefined),
		};
	}
	return undefined;
}

/** `{"tool": "name", "arguments": {… "{task}" …}}`, as a person gives it for an extension that is not known. */
export function shapeFrom(json: string): Shape {
	const given = record(JSON.parse(json));
	const { tool, arguments: template } = given;
	if (typeof tool !== "string" || template === undefined || !json.includes("{task}")) {
		throw new Error('--call takes {"tool": "name", "arguments": {…}}, with "{task}" where the task goes');
	}
	const text = JSON.stringify(template);
	return {
		kind: "given with --call",
		tool,
		call: (task) => JSON.parse(text.replaceAll("{task}", JSON.stringify(task).slice(1, -1))),
		readBack: () => undefined,
	};
}

export function offeredTools({ body }: ModelRequest): OfferedTool[] {
	return (Array.isArray(body.tools) ? body.tools : []).map((tool) => {
		const { name, parameters } = record(record(tool).function);
		return { name: String(name), parameters: record(parameters) };
	});
}

function record(value: unknown): Record<string, unknown> {
	return typeof value === "object" && value !== null ? { ...value } : {};
}
