import type { BackgroundEnd, BackgroundRun } from "../../src/domain/background.ts";
import type { RunRecord } from "../../src/domain/record.ts";
import { noUsage } from "../../src/domain/usage.ts";

type Ended = Extract<RunRecord["progress"], { kind: "ended" }>;

/** A record with everything filled in; a test names only what it is about. */
export function recordWith(fields: Partial<RunRecord> = {}): RunRecord {
	return {
		runId: "20260102-030405-0a1b2c3d",
		sessionId: "00112233445566aa",
		family: "delegate",
		taskName: "a task",
		prompt: "do it",
		cwd: undefined,
		profileName: undefined,
		directory: undefined,
		startedAt: 1_000,
		progress: ended(),
		...fields,
	};
}

export function ended(fields: Partial<Ended> = {}): Ended {
	return {
		kind: "ended",
		status: "completed",
		at: 2_000,
		exitCode: 0,
		model: "mock/mock-1",
		stopReason: "stop",
		errorMessage: undefined,
		remarks: [],
		text: "done",
		messages: [],
		messageCount: 2,
		usage: noUsage,
		...fields,
	};
}

/** The same for a run in the background. */
export function backgroundRun(fields: Partial<BackgroundRun> = {}): BackgroundRun {
	const runId = fields.runId ?? "20260102-030405-0a1b2c3d";
	return {
		runId,
		preset: "scout",
		presetSource: "project",
		task: "look around",
		cwd: "/project",
		requestedModel: "mock-2",
		resolvedModel: "mock/mock-2",
		directory: `/project/.pi/subagents/runs/${runId}`,
		socket: `/tmp/pi-subagents-0/${runId}`,
		startedAt: 1_000,
		owner: "session-1",
		progress: { kind: "running" },
		...fields,
	};
}

export function backgroundEnd(fields: Partial<BackgroundEnd> = {}): BackgroundEnd {
	return {
		kind: "ended",
		status: "completed",
		at: 2_000,
		exitCode: 0,
		stopReason: "stop",
		errorMessage: undefined,
		remarks: [],
		text: "done",
		toolCalls: 1,
		messageCount: 4,
		usage: { ...noUsage, input: 7, totalTokens: 7 },
		billing: "open",
		...fields,
	};
}
