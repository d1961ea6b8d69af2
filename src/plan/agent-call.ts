import { createHash, randomUUID } from "node:crypto";
import { homedir } from "node:os";
import { join } from "node:path";
import { callName } from "../definitions/dialects/read-foreign.ts";
import { realPath } from "../definitions/real-path.ts";
import { cut } from "../domain/messages.ts";
import { err, ok, type Result } from "../domain/result.ts";
import { createRunId } from "./ids.ts";
import type { RunRequest } from "./run.ts";

/** What a call of an agent says. */
export interface AgentCall {
	readonly agent: string;
	readonly task: string;
	readonly model: string | undefined;
	readonly cwd: string | undefined;
	/** Undefined for a new session. */
	readonly sessionId: string | undefined;
}

const REMINDERS = 3;
const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9-]{0,127}$/;

/** A run by agent: it has a session that later calls go on with, and it answers by finalizing. */
export function agentRequest(
	call: AgentCall,
	sessionCwd: string,
	defaultTimeoutSeconds: number | undefined,
): Result<RunRequest> {
	const sessionId = call.sessionId ?? randomUUID();
	if (!SESSION_ID.test(sessionId)) {
		return err(`"${cut(sessionId, 200)}" is not a session id: letters, digits and hyphens, at most 128`);
	}
	const path = sessionPath(call.cwd ?? sessionCwd, call.agent, sessionId);
	return ok({
		runId: createRunId(new Date()),
		sessionId,
		family: "agent",
		label: call.agent,
		task: call.task,
		instructions: call.task,
		files: [],
		definition: call.agent,
		model: call.model,
		cwd: call.cwd,
		timeoutSeconds: undefined,
		defaultTimeoutSeconds,
		session: { kind: "file", path },
		naming: call.sessionId === undefined ? "free" : "fixed",
		contract: { kind: "finalize", attempts: REMINDERS },
		sharedSession: path,
		lifetime: "foreground",
	});
}

/** One session per directory, agent and id: the same three go on, any other is another. */
export function sessionPath(cwd: string, agent: string, sessionId: string): string {
	const hash = createHash("sha256").update(realPath(cwd)).digest("hex").slice(0, 16);
	const name = callName(agent, "unknown"); // as the definition is called, whichever way the call has spelled it
	return join(homedir(), ".pi", "subagent-sessions", hash, `${name}_${sessionId}.jsonl`);
}
