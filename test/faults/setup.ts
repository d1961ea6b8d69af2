import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { RunResult } from "../../src/domain/run-result.ts";
import { type DelegationOptions, type RunningDelegation, startDelegation } from "../rig/delegation.ts";
import { createHome, type Home, type HomeOptions } from "../rig/home.ts";
import { type ModelServer, startModelServer } from "../rig/model-server.ts";
import { type FoundProcess, processesWithEnv, waitNoneWithEnv } from "../rig/processes.ts";
import { until } from "../rig/until.ts";

export const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));
export const MARKER = "PI_SUBAGENTS_RUN_ID";

/** A home of its own for a real pi; after the test all that was started with it is ended. */
export async function setupFor(
	t: TestContext,
	options: HomeOptions = {},
): Promise<{ readonly home: Home; readonly server: ModelServer }> {
	const server = await startModelServer();
	const home = createHome(server, options);
	t.after(async () => {
		await server.close();
		for (const { pid } of processesWithEnv("HOME", home.root)) kill(pid);
		await waitNoneWithEnv("HOME", home.root);
		home.dispose();
	});
	return { home, server };
}

/** A real parent with one child that does what its script says. */
export interface Setup {
	readonly home: Home;
	readonly server: ModelServer;
	readonly delegation: RunningDelegation;
	readonly run: SeenRun;
}

/** A run as somebody sees it who looks at its directory and at the system's processes. */
export interface SeenRun {
	readonly runId: string;
	readonly directory: string;
	readonly supervisor: number;
	readonly pi: number;
	processes(): FoundProcess[];
	/** Resolves when a process of the run has this in its command. */
	runs(command: string): Promise<FoundProcess>;
	result(): RunResult;
}

/** An extension file that does something in the sub-agents alone, or in the parent alone. */
export function extensionFor(who: "child" | "parent", source: string): string {
	const other = who === "child" ? "!==" : "===";
	return `export default function (pi) { if (process.env.PI_SUBAGENTS_CHILD ${other} "1") return; ${source} }`;
}

export async function beginRun(
	t: TestContext,
	child: DelegationOptions["child"],
	{ home, server }: { readonly home: Home; readonly server: ModelServer },
	options: Partial<DelegationOptions> = {},
): Promise<Setup> {
	const delegation = startDelegation(home, server, {
		extension: EXTENSION,
		args: { tasks: [{ name: "t", prompt: "go" }] },
		child,
		...options,
		pi: { timeoutMs: 60_000, ...options.pi },
	});
	t.after(() => delegation.parent.kill("SIGKILL"));
	return { home, server, delegation, run: await firstRun(home) };
}

/** The first run of a project, as soon as its pi has been started. */
export async function firstRun(home: Home): Promise<SeenRun> {
	const runs = join(home.project, ".pi", "subagents", "runs");
	let runId = "";
	await until(() => {
		runId = (existsSync(runs) ? readdirSync(runs) : []).find((name) => /^\d/.test(name)) ?? "";
		return runId !== "";
	}, "a run directory");
	return await seenRun(runs, runId);
}

export async function seenRun(runs: string, runId: string): Promise<SeenRun> {
	const directory = join(runs, runId);
	const events = join(directory, "events.jsonl");
	const started = () =>
		(existsSync(events) ? readFileSync(events, "utf8") : "").split("\n").find((line) => line.includes('"started"'));
	await until(() => started() !== undefined, `the start of ${runId}`);
	const { supervisorPid: supervisor, pid: pi } = JSON.parse(started() ?? "").event;
	const processes = () => processesWithEnv(MARKER, runId);
	return {
		...{ runId, directory, supervisor, pi, processes },
		async runs(wanted) {
			const find = () => processes().find(({ command }) => command.includes(wanted));
			await until(() => find() !== undefined, `"${wanted}" among the processes of ${runId}`);
			return find() ?? { pid: 0, command: "" };
		},
		result: () => JSON.parse(readFileSync(join(directory, "result.json"), "utf8")) as RunResult,
	};
}

export function kill(pid: number, signal: NodeJS.Signals = "SIGKILL"): void {
	try {
		process.kill(pid, signal);
	} catch {
		// gone meanwhile
	}
}
