import { err, ok, type Result } from "../domain/result.ts";
import { planArguments } from "./arguments.ts";
import { planCwd } from "./cwd.ts";
import { type FileRequest, readFiles } from "./files.ts";
import { createRunId } from "./ids.ts";
import type { Parent, PlannedRun } from "./parent.ts";

/** One task of `delegate_to_subagents`, with nothing left to interpret. */
export interface DelegateTask {
	readonly sessionId: string;
	readonly name: string;
	readonly prompt: string;
	readonly cwd: string | undefined;
	readonly profile: string | undefined;
	readonly timeoutSeconds: number;
	readonly files: readonly FileRequest[];
}

/** An error is this task's alone: the others run. */
export async function planDelegate(
	task: DelegateTask,
	parent: Parent,
	childExtension: string,
): Promise<Result<PlannedRun>> {
	if (task.profile !== undefined) return err(`Unknown profile: "${task.profile}". Available profiles: (none)`);
	const cwd = planCwd(task.cwd, parent.cwd);
	if (!cwd.ok) return cwd;
	const { settings } = parent;
	const model = settings.inheritModel ? parent.model : undefined;
	const files = await readFiles(task.files, cwd.value);
	return ok({
		spec: {
			runId: createRunId(new Date()),
			sessionId: task.sessionId,
			family: "delegate",
			label: task.name,
			task: task.prompt,
			agent: undefined,
			cwd: cwd.value,
			model,
			invocation: planArguments({
				pi: parent.pi,
				childExtension,
				session: { kind: "none" },
				model,
				trust: cwd.value === parent.cwd ? parent.trust : undefined,
			}),
			limits: {
				timeoutMs: task.timeoutSeconds * 1_000,
				idleGraceMs: settings.idleGraceSeconds * 1_000,
				repeatedCalls: settings.repeatedCalls,
			},
			contract: { kind: "last-text" },
			lifetime: "foreground",
			leftovers: settings.leftovers,
		},
		packet: { prompt: [...files, task.prompt].join("\n\n"), apiKey: undefined },
	});
}
