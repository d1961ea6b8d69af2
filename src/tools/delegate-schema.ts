import { type Static, Type } from "typebox";
import type { FileRequest } from "../plan/files.ts";
import { createRunId, createSessionId } from "../plan/ids.ts";
import type { RunRequest } from "../plan/run.ts";

export const MAX_TASKS = 16;
export const MAX_TIMEOUT_SECONDS = 86_400;
const DEFAULT_TIMEOUT_SECONDS = 600;

const path = Type.String();
const lines = Type.Integer({ minimum: 1 });

/** Every character here is sent with every request of every session: nothing is said twice. */
export const delegateParameters = Type.Object({
	tasks: Type.Array(
		Type.Object({
			name: Type.String({ description: "Short label" }),
			profile: Type.Optional(Type.String({ description: "Overrides the default profile" })),
			cwd: Type.Optional(Type.String({ description: "Absolute path" })),
			prompt: Type.String({ minLength: 1, description: "All it needs to know: it sees nothing of this conversation" }),
			timeout: Type.Optional(
				Type.Number({ minimum: 1, maximum: MAX_TIMEOUT_SECONDS, description: "Seconds, default 600" }),
			),
			resume: Type.Optional(Type.String({ description: "Session id to go on with" })),
			files: Type.Optional(
				Type.Array(
					Type.Union([
						path,
						Type.Object({ path, head: lines }),
						Type.Object({ path, tail: lines }),
						// Closed: an open one would let through what the two before it have refused, such as `head: 0`.
						Type.Object(
							{ path, start: Type.Optional(lines), end: Type.Optional(lines) },
							{ additionalProperties: false },
						),
					]),
					{ description: "Put before the prompt" },
				),
			),
		}),
		{ minItems: 1, maxItems: MAX_TASKS },
	),
	profile: Type.Optional(Type.String({ description: "Default for all tasks" })),
});
export type DelegateParameters = Static<typeof delegateParameters>;
type TaskParameters = DelegateParameters["tasks"][number];

/** A task as it was asked for, and the session it goes on with. */
export interface AskedTask {
	readonly request: RunRequest;
	readonly resume: string | undefined;
}

export function parseTasks(parameters: DelegateParameters): AskedTask[] {
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
			word: "profile",
			definition: task.profile ?? parameters.profile,
			model: undefined,
			cwd: task.cwd,
			timeoutSeconds: task.timeout,
			defaultTimeoutSeconds: DEFAULT_TIMEOUT_SECONDS,
			session: { kind: "none" },
			contract: { kind: "last-text" },
			sharedSession: undefined,
			lifetime: "foreground",
		},
	}));
}

function parseFile(file: NonNullable<TaskParameters["files"]>[number]): FileRequest {
	if (typeof file === "string") return { kind: "all", path: file };
	if ("head" in file && file.head !== undefined) return { kind: "head", path: file.path, lines: file.head };
	if ("tail" in file && file.tail !== undefined) return { kind: "tail", path: file.path, lines: file.tail };
	const { start, end } = file as { start?: number; end?: number };
	if (start === undefined && end === undefined) return { kind: "all", path: file.path };
	return { kind: "range", path: file.path, start: start ?? 1, end: end ?? Number.POSITIVE_INFINITY };
}
