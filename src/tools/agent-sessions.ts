import type { Call } from "../call/call.ts";
import { runSessionOf } from "../call/host.ts";
import type { EarlierSession } from "../domain/earlier-session.ts";
import { isBackground } from "../domain/kept-run.ts";
import { earlierSession } from "../plan/earlier-session.ts";
import type { RunRequest } from "../plan/run.ts";
import { isRunId } from "../run-directory/names.ts";
import { findRuns } from "../session/rebuild.ts";

type Session = Pick<Call, "host" | "context">;

/**
 * What the sessions are that the agents of a call are asked to go on with; undefined for a task that names none. An id that
 * belongs to something else refuses the whole call, with the call that would be right: throws the refusal.
 */
export async function askedSessions(
	requests: readonly RunRequest[],
	session: Session,
): Promise<(EarlierSession | undefined)[]> {
	return await Promise.all(
		requests.map(async ({ family, naming, sharedSession, sessionId }) => {
			if (family !== "agent" || naming !== "fixed" || sharedSession === undefined) return undefined;
			const earlier = await earlierSession(sharedSession);
			const refusal = earlier.kind === "new" ? await otherKind(sessionId, session) : undefined;
			if (refusal !== undefined) throw new Error(refusal);
			return earlier;
		}),
	);
}

async function otherKind(id: string, { host, context }: Session): Promise<string | undefined> {
	const run = (await findRuns(id, host.store, runSessionOf(context))).at(-1);
	if (run?.sessionId === id && run.family === "delegate") {
		return `"${id}" is a session of delegate_to_subagents, not of an agent. Go on with it there: {tasks: [{name, prompt, resume: "${id}"}]}`;
	}
	if (!isRunId(id)) return undefined;
	if (run?.family === "agent") {
		return `"${id}" is a run of the agent "${run.label}". To go on with its session: {agent: "${run.label}", task, sessionId: "${run.sessionId}"}`;
	}
	const isKnownInBackground = run !== undefined && isBackground(run);
	const read = isKnownInBackground
		? `background_agent_status {runId: "${id}"}`
		: `get_subagent_output {sessionId: "${id}"}`;
	return `"${id}" is a run, not a session of an agent: a run cannot be continued. To read its answer: ${read}`;
}
