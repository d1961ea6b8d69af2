import type { ToolFamily } from "../domain/package-tools.ts";
import type { Parent } from "../plan/parent.ts";
import type { RunRequest } from "../plan/run.ts";
import { parseBackground } from "../tools/background-schema.ts";
import { parseTasks } from "../tools/delegate-schema.ts";
import { parseSubagent } from "../tools/subagent-schema.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What a call says of its tasks before it is complete. */
interface Writing {
	readonly family: ToolFamily;
	/** The tasks so far; the last one may be unfinished. */
	tasks(args: Fields): readonly Fields[];
	/** The text of a task: what is said before it is how its child is started. */
	readonly text: string;
	requestOf(task: Fields, args: Fields, parent: Parent): RunRequest | undefined;
}

const text = "-"; // not known yet, and not needed

const WRITINGS: Readonly<Record<string, Writing>> = {
	delegate_to_subagents: {
		family: "delegate",
		tasks: ({ tasks }) => listOf(tasks),
		text: "prompt",
		requestOf({ profile, cwd, resume }, args) {
			const task = { name: text, prompt: text, ...strings({ profile, cwd, resume }) };
			return parseTasks({ tasks: [task], ...strings({ profile: args.profile }) })[0]?.request;
		},
	},
	subagent: {
		family: "subagent",
		tasks: (args) => ("tasks" in args ? listOf(args.tasks) : [args]),
		text: "task",
		requestOf({ preset, agent, sessionId, model, cwd }, _args, parent) {
			const parsed = parseSubagent({ task: text, ...strings({ preset, agent, sessionId, model, cwd }) }, parent);
			return parsed.ok ? parsed.value.requests[0] : undefined;
		},
	},
	background_agent: {
		family: "background",
		tasks: (args) => [args],
		text: "task",
		requestOf({ preset, model, cwd }, _args, parent) {
			if (typeof preset !== "string") return undefined;
			const parsed = parseBackground({ preset, task: text, ...strings({ model, cwd }) }, parent);
			return parsed.ok ? parsed.value : undefined;
		},
	},
};

/** To which family a tool belongs that starts children; undefined for any other. */
export const familyOf = (tool: string): ToolFamily | undefined =>
	Object.hasOwn(WRITINGS, tool) ? WRITINGS[tool]?.family : undefined;

/**
 * The runs that a call announces, from what has been written of it, each with ids of its own. A task whose text has begun
 * is taken at its word; before that it is expected to be like the one before it, as are so many more.
 */
export function requestsSoFar(tool: string, args: Fields, parent: Parent, more = 0): RunRequest[] {
	const writing = WRITINGS[tool];
	if (!writing) return [];
	const tasks = writing.tasks(args);
	const known = tasks.filter((task, at) => at < tasks.length - 1 || writing.text in task);
	const expected = Array.from({ length: tasks.length - known.length + more }, () => known.at(-1));
	return [...known, ...expected].flatMap((like) => (like && writing.requestOf(like, args, parent)) ?? []);
}

const listOf = (value: unknown): readonly Fields[] =>
	Array.isArray(value) ? value.filter((each): each is Fields => typeof each === "object" && each !== null) : [];

function strings<K extends string>(fields: { readonly [key in K]: unknown }): { [key in K]?: string } {
	const entries = Object.entries(fields).filter(([, value]) => typeof value === "string" && value.trim() !== "");
	return Object.fromEntries(entries) as { [key in K]?: string };
}
