import type { Outcome } from "../../src/domain/run-result.ts";
import type { RunSpec } from "../../src/domain/spec.ts";
import type { FakeRun } from "../rig/fake-run.ts";
import type { FakeStep } from "../rig/fake-steps.ts";

/** What every way to launch a run has to get right. */
export interface ConformanceCase {
	readonly name: string;
	readonly steps: readonly FakeStep[];
	readonly changes: Partial<RunSpec>;
	/** What happens to the run. */
	act(run: FakeRun): Promise<void>;
	readonly outcome: Outcome;
}

/** A child that says something and then waits for ever. */
export const WAITING: FakeStep[] = [{ delta: "let me " }, { hang: true }];

type Failure = Extract<Outcome, { kind: "failed" }>["failure"];
type Stop = Extract<Failure, { kind: "stopped" }>["cause"];

export const stopped = (cause: Stop): Outcome => ({ kind: "failed", failure: { kind: "stopped", cause } });

const limits = { timeoutMs: 60_000, idleGraceMs: 0, repeatedCalls: 5 };
const untilItSpeaks = (run: FakeRun) => run.until(({ partial }) => partial !== "");
const ABORTED = stopped({ kind: "aborted", by: "caller" });

export const CONFORMANCE: readonly ConformanceCase[] = [
	{
		name: "X13: one that answers has completed",
		steps: [{ tool: "bash", args: { command: "ls" }, result: "a\nb", text: "Look:" }, { say: "Two files." }],
		changes: {},
		act: async () => {},
		outcome: { kind: "completed", text: "Two files.", end: "natural" },
	},
	{
		name: "A60: one that takes too long is stopped",
		steps: WAITING,
		changes: { limits: { ...limits, timeoutMs: 1_500 } },
		act: async () => {},
		outcome: stopped({ kind: "timeout", afterMs: 1_500 }),
	},
	{
		name: "A61: one that is aborted is stopped",
		steps: WAITING,
		changes: {},
		async act(run) {
			await untilItSpeaks(run);
			run.abort();
		},
		outcome: ABORTED,
	},
	{
		name: "F20: one that is aborted while it starts never runs",
		steps: WAITING,
		changes: {},
		act: async (run) => run.abort(),
		outcome: ABORTED,
	},
	{
		name: "F15: one that ignores SIGTERM is killed",
		steps: [{ deaf: true }, ...WAITING],
		changes: {},
		async act(run) {
			await untilItSpeaks(run);
			run.abort();
		},
		outcome: ABORTED,
	},
	{
		name: "F24: a provider's error is told in its words",
		steps: [{ say: "", stopReason: "error", errorMessage: "401: no" }],
		changes: {},
		act: async () => {},
		outcome: { kind: "failed", failure: { kind: "model", message: "401: no" } },
	},
	{
		name: "F05: a pi that is killed is told so",
		steps: [{ spawn: ["sleep", "71"], detached: true }, ...WAITING],
		changes: {},
		async act(run) {
			await untilItSpeaks(run);
			process.kill((await run.pids()).pi, "SIGKILL");
		},
		outcome: { kind: "failed", failure: { kind: "exit", exit: { kind: "signal", signal: "SIGKILL" }, stderr: "" } },
	},
	{
		name: "F04: one whose supervisor is killed is lost",
		steps: [{ spawn: ["sleep", "71"], detached: true }, ...WAITING],
		changes: {},
		async act(run) {
			await untilItSpeaks(run);
			process.kill((await run.pids()).supervisor, "SIGKILL");
		},
		outcome: { kind: "failed", failure: { kind: "lost" } },
	},
];
