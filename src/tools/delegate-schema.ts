import { type Static, Type } from "typebox";
import { MAX_TIMEOUT_SECONDS } from "../domain/longest-timeout.ts";
import type { FileRequest } from "../plan/files.ts";
import { createRunId, createSessionId } from "../plan/ids.ts";
import type { RunRequest } from "../plan/run.ts";
import { unknownFields } from "./unknown-fields.ts";

export const MAX_TASKS = 16;
const DEFAULT_TIMEOUT_SECONDS = 600;

const lines = Type.Optional(Type.Integer({ minimum: 1 }));
/** A misspelled `tail` must not mean the whole file. */
const CLOSED = { additionalProperties: false };

/**
 * Every character here is sent with every request of every session: nothing is said twice, nor what a name says. What
 * decides how a child is started comes before the long texts, because a model writes the fields in this order.
 */
export const delegateParameters = Type.Object({
	profile: Type.Optional(Type.String({ description: "Default for all tasks" })),
	tasks: Type.Array(
		Type.Object({
			name: Type.String(),
			profile: Type.Optional(Type.String()),
			cwd: Type.Optional(Type.String({ description: "Absolute" })),
			timeout: Type.Optional(
				Type.Number({ minimum: 1, maximum: MAX_TIMEOUT_SECONDS, description: "Seconds, default 600" }),
			),
			resume: Type.Optional(Type.String({ description: "Session id to go on with" })),
			files: Type.Optional(
				Type.Array(
					Type.Union([
						Type.String(),
						Type.Object({ path: Type.String(), start: lines, end: lines, head: lines, tail: lines }, CLOSED),
					]),
					{ description: "Put before the prompt" },
				),
			),
			prompt: Type.String({ minLength: 1, description: "All it needs to know: it sees nothing of this conversation" }),
		}),
		{ minItems: 1, maxItems: MAX_TASKS },
	),
});
export type DelegateParameters = Static<typeof delegateParameters>;
type TaskParameters = DelegateParameters["tasks"][number];

/** A task as it was asked for, and the session it goes on with. */
export interface AskedTask {
	readonly request: RunRequest;
	readonly resume: string | undefined;
}

const FIELDS = { call: ["profile", "tasks"], task: Object.keys(delegateParameters.properties.tasks.items.properties) };
const FORM = "Valid form: {profile?, tasks: [{name, prompt, profile?, cwd?, timeout?, resume?, files?}, …]}";

/** A call that asks for what there is not is refused as a whole, and nothing is started. */
export function parseTasks(parameters: DelegateParameters): AskedTask[] {
	for (const [fields, known] of [
		[parameters, FIELDS.call],
		...parameters.tasks.map((task) => [task, FIELDS.task] as const),
	] as const) {
		const unknown = unknownFields("delegate_to_subagents", fields, known);
		if (unknown !== undefined) throw new Error(`${unknown}. ${FORM}`);
	}
	parameters.tasks.forEach(({ name, prompt }, at) => {
		const blank = name.trim() === "" ? "name" : prompt.trim() === "" ? "prompt" : undefined;
		if (blank !== undefined) throw new Error(`Task ${at + 1} has an empty ${blank}. ${FORM}`);
	});
	return parameters.tasks.map((task) => ({
		resume: task.resume,
		request: {
			runId: createRunId(new Date()),
			sessionId: task.resume ?? createSessionId(),
			family: "delegate",
			label: task.name,
			task: task.prompt,
			instructions: task.prompt,
			files: (task.files ?? []).map(parseFile),
			definition: task.profile ?? parameters.profile,
			model: undefined,
			cwd: task.cwd,
			timeoutSeconds: task.timeout,
			defaultTimeoutSeconds: DEFAULT_TIMEOUT_SECONDS,
			session: { kind: "none" },
			naming: task.resume === undefined ? "free" : "fixed",
			contract: { kind: "last-text" },
			sharedSession: undefined,
			lifetime: "foreground",
		},
	}));
}

function parseFile(file: NonNullable<TaskParameters["files"]>[number]): FileRequest {
	if (typeof file === "string") return { kind: "all", path: file };
	const { path, head, tail, start, end } = file;
	const forms = [start ?? end, head, tail].filter((each) => each !== undefined);
	if (forms.length > 1) throw new Error(`Of ${path}, ask for start and end, or for head, or for tail`);
	if (head !== undefined) return { kind: "head", path, lines: head };
	if (tail !== undefined) return { kind: "tail", path, lines: tail };
	if (start === undefined && end === undefined) return { kind: "all", path };
	return { kind: "range", path, start: start ?? 1, end: end ?? Number.POSITIVE_INFINITY };
}
