import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { socketPathOf } from "../../src/child/protocol.ts";
import { NO_AMOUNTS } from "../../src/domain/budget.ts";
import type { RunResult } from "../../src/domain/run-result.ts";
import type { RunSpec } from "../../src/domain/spec.ts";
import type { RunState } from "../../src/domain/state.ts";
import { createRunId, createSessionId, createToken } from "../../src/plan/ids.ts";
import { execute, type PreparedRun } from "../../src/run/execute.ts";
import type { Launcher } from "../../src/run/launch-process.ts";
import { createRunDirectory } from "../../src/run-directory/create.ts";
import { FAKE_PI, type FakeStep, promptOf } from "./fake-steps.ts";
import { makeAgentDirectory } from "./no-receipts.ts";

/** A place of their own for runs of the fake pi: a project, and a TMPDIR that holds their sockets. */
export interface Setup {
	readonly project: string;
	readonly temporary: string;
	/** A run directory with its meta.json, ready to be executed. */
	prepare(prompt: string | readonly FakeStep[], changes?: Partial<RunSpec>): PreparedRun;
	start(prompt: string | readonly FakeStep[], changes?: Partial<RunSpec>): FakeRun;
	dispose(): void;
}

export interface FakeRun {
	readonly runId: string;
	readonly directory: string;
	readonly done: Promise<RunState>;
	/** Every state that was told, in order. */
	readonly states: readonly RunState[];
	abort(): void;
	/** The first state that matches; rejects when the run ends without one. */
	until(matches: (state: RunState) => boolean): Promise<RunState>;
	/** As events.jsonl has them; rejects as `until` does. */
	pids(): Promise<{ readonly supervisor: number; readonly pi: number }>;
}

/** Sets TMPDIR of this process, because that is where control sockets are. */
export function createSetup(): Setup {
	const before = process.env.TMPDIR;
	const root = realpathSync(mkdtempSync(join(tmpdir(), "pi-setup-")));
	const project = join(root, "project");
	const temporary = join(root, "tmp");
	for (const directory of [project, temporary]) mkdirSync(directory);
	process.env.TMPDIR = temporary;
	const agentDirectory = process.env.PI_CODING_AGENT_DIR;
	process.env.PI_CODING_AGENT_DIR = makeAgentDirectory(join(root, "agent"));
	const prepare: Setup["prepare"] = (prompt, changes = {}) => {
		const spec = { ...specFor(project), ...changes };
		const directory = createRunDirectory(spec, { cwd: project, agentDirectory: root, runsIn: "project" });
		if (!directory.ok) throw new Error(directory.error);
		const text = typeof prompt === "string" ? prompt : promptOf(...prompt);
		return {
			spec,
			packet: { prompt: text, apiKey: undefined, tools: { kind: "has", names: [] }, contract: spec.contract },
			directory: directory.value.path,
			token: createToken(),
		};
	};
	return {
		project,
		temporary,
		prepare,
		start: (prompt, changes) => startRun(prepare(prompt, changes)),
		dispose() {
			if (agentDirectory === undefined) delete process.env.PI_CODING_AGENT_DIR;
			else process.env.PI_CODING_AGENT_DIR = agentDirectory;
			if (before === undefined) delete process.env.TMPDIR;
			else process.env.TMPDIR = before;
			rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
		},
	};
}

export function specFor(cwd: string): RunSpec {
	const runId = createRunId(new Date());
	return {
		runId,
		socket: socketPathOf(runId),
		sessionId: createSessionId(),
		family: "delegate",
		label: "fake",
		task: "do what the steps say",
		agent: undefined,
		cwd,
		model: undefined,
		invocation: { command: process.execPath, args: [FAKE_PI, "--mode", "json", "-p"] },
		limits: { timeoutMs: 60_000, idleGraceMs: 0, repeatedCalls: 5 },
		fallback: [],
		maxInFlight: {},
		budget: NO_AMOUNTS,
		sessionBudget: undefined,
		writeGuard: undefined,
		contract: { kind: "last-text" },
		sharedSession: undefined,
		lifetime: "foreground",
		leftovers: "end",
		isolation: "none",
	};
}

export function startRun(run: PreparedRun, signal?: AbortSignal, launch?: Launcher): FakeRun {
	const stop = new AbortController();
	const states: RunState[] = [];
	const watchers = new Set<() => void>();
	const tell = () => {
		for (const watcher of [...watchers]) watcher();
	};
	const signals = signal ? [stop.signal, signal] : [stop.signal];
	let over = false;
	const onState = (state: RunState) => {
		states.push(state);
		tell();
	};
	const done = execute(run, AbortSignal.any(signals), onState, launch).finally(() => {
		over = true;
		tell();
	});
	done.catch(() => {});
	const until = (matches: (state: RunState) => boolean) =>
		new Promise<RunState>((resolve, reject) => {
			const look = () => {
				const seen = states.find(matches);
				if (seen) resolve(seen);
				else if (over) reject(new Error(`The run ended without it: ${JSON.stringify(states.at(-1)?.phase)}`));
				if (seen || over) watchers.delete(look);
			};
			watchers.add(look);
			look();
		});
	return {
		runId: run.spec.runId,
		directory: run.directory,
		done,
		states,
		abort: () => stop.abort(),
		until,
		async pids() {
			await until((state) => state.phase.kind === "running");
			const events = readFileSync(join(run.directory, "events.jsonl"), "utf8").split("\n");
			const started = JSON.parse(events.findLast((line) => line.includes('"started"')) ?? "{}").event;
			return { supervisor: started.supervisorPid, pi: started.pid };
		},
	};
}

/** What result.json says; throws where there is none. */
export function resultIn(directory: string): RunResult {
	return JSON.parse(readFileSync(join(directory, "result.json"), "utf8")) as RunResult;
}

/** The result of a run that has ended. */
export function endOf(state: RunState): RunResult {
	if (state.phase.kind !== "done") throw new Error(`The run is ${state.phase.kind}.`);
	return state.phase.result;
}
