import type { BackgroundRun, KeptRun, RunEnd } from "../../src/domain/kept-run.ts";
import { noUsage } from "../../src/domain/usage.ts";
import type { PreparedRun } from "../../src/run/execute.ts";

/** A foreground run with everything filled in; a test names only what it is about. */
export function keptRun(fields: Partial<KeptRun> = {}): KeptRun {
	return {
		runId: "20260102-030405-0a1b2c3d",
		sessionId: "00112233445566aa",
		family: "delegate",
		label: "a task",
		task: "do it",
		definition: undefined,
		scope: undefined,
		requestedModel: undefined,
		resolvedModel: undefined,
		cwd: undefined,
		directory: undefined,
		distrusted: false,
		startedAt: 1_000,
		lifetime: { kind: "foreground" },
		progress: ended(),
		...fields,
	};
}

export function ended(fields: Partial<RunEnd> = {}): RunEnd {
	return {
		kind: "ended",
		outcome: { kind: "completed" },
		at: 2_000,
		exitCode: 0,
		model: "mock/mock-1",
		stopReason: "stop",
		remarks: [],
		receipt: [],
		text: "done",
		toolCalls: 1,
		messages: [],
		messageCount: 2,
		usage: { ...noUsage, input: 7, totalTokens: 7 },
		billing: "billed",
		...fields,
	};
}

export const failed = (message: string, status: "failed" | "aborted" = "failed"): RunEnd["outcome"] => ({
	kind: "failed",
	failure: { kind: "told", status, message },
});

/** The same for a run in the background. */
export function backgroundRun(fields: Partial<BackgroundRun> = {}): BackgroundRun {
	const runId = fields.runId ?? "20260102-030405-0a1b2c3d";
	return {
		...keptRun({ family: "preset", label: "scout", task: "look around", definition: "scout", scope: "project" }),
		runId,
		sessionId: runId,
		cwd: "/project",
		requestedModel: "mock-2",
		resolvedModel: "mock/mock-2",
		directory: `/project/.pi/subagents/runs/${runId}`,
		lifetime: { kind: "background", socket: `/tmp/pi-subagents-0/${runId}`, owner: "session-1" },
		progress: { kind: "running" },
		...fields,
	};
}

export const backgroundEnd = (fields: Partial<RunEnd> = {}): RunEnd => ended({ billing: "open", ...fields });

/** A run that is about to start in the background, as its tool keeps it. */
export function startingRun({ spec, directory }: PreparedRun, owner: string): BackgroundRun {
	const { runId, task, cwd, socket } = spec;
	return backgroundRun({
		...{ runId, sessionId: runId, task, cwd, directory, scope: "global", startedAt: Date.now() },
		...{ requestedModel: "mock-1", resolvedModel: "mock/mock-1", lifetime: { kind: "background", socket, owner } },
	});
}
