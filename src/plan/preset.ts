import { inRunDirectory, type RunSpec } from "../domain/spec.ts";
import { FILES } from "../run-directory/names.ts";
import { createRunId } from "./ids.ts";
import type { RunRequest } from "./run.ts";

/** What a call of a preset says. */
export interface PresetCall {
	readonly preset: string;
	readonly task: string;
	readonly model: string | undefined;
	readonly cwd: string | undefined;
}

/** A run by preset: its id is its session's, it has a session file of its own, and no timeout unless somebody sets one. */
export function presetRequest(
	call: PresetCall,
	lifetime: RunSpec["lifetime"],
	defaultTimeoutSeconds: number | undefined,
): RunRequest {
	const runId = createRunId(new Date());
	return {
		runId,
		sessionId: runId,
		family: "preset",
		label: call.preset,
		task: call.task,
		instructions: call.task,
		files: [],
		definition: call.preset,
		model: call.model,
		cwd: call.cwd,
		timeoutSeconds: undefined,
		defaultTimeoutSeconds,
		session: { kind: "file", path: inRunDirectory(FILES.childSession) },
		naming: "free",
		contract: { kind: "last-text" },
		sharedSession: undefined,
		lifetime,
	};
}
