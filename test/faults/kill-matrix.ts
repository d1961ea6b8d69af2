import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { RunResult } from "../../src/domain/run-result.ts";
import { readRun } from "../../src/run-directory/read.ts";
import { startDelegation, toolOutcomes } from "../rig/delegation.ts";
import { createHome, type Home } from "../rig/home.ts";
import {
	hang,
	type ModelRequest,
	type ModelServer,
	type Reply,
	startModelServer,
	text,
	toolCall,
} from "../rig/model-server.ts";
import { runPi } from "../rig/pi.ts";
import { describeProcess, type FoundProcess, isAlive, processesWithEnv } from "../rig/processes.ts";
import { until } from "../rig/until.ts";

/** Who is killed, all at once. */
export const VICTIMS = [
	["parent"],
	["supervisor"],
	["pi"],
	["parent", "supervisor"],
	["supervisor", "pi"],
	["parent", "pi"],
	["parent", "supervisor", "pi"],
] as const;
export type Victims = (typeof VICTIMS)[number];
/** What the child is at when they are. */
export const WORKS = ["idle bash", "hanging model", "streaming", "nohup job", "setsid job"] as const;
export type Work = (typeof WORKS)[number];

export const SAID = "I begin.";
/** A whole record of it: before there is one, pi mentions a message that it only begins. */
const SPOKEN = new RegExp(`"(?:text_delta|message_end)".*${SAID}.*\\n`);
const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));
const MARKER = "PI_SUBAGENTS_RUN_ID";
/** A pi whose supervisor died has 3 s to go; what is not gone after three times that has survived. */
const MAX_MS = 10_000;
/** On a machine with more to do than it can. */
const MAX_START_MS = 60_000;
/** Written by the job itself, so that who is alive does not depend on a marker. */
const PIDS = "pids";

export interface Cell {
	/** How many processes the child had started that were to end with it. */
	readonly jobs: number;
	/** What is still alive, by the marker or by the pids that the processes themselves had told. */
	readonly survivors: readonly FoundProcess[];
	/** From the kill until nothing was left. */
	readonly emptyAfterMs: number;
	/** The jobs of a run that lost everybody who knew it are ended by the session's next start. */
	readonly endedBy: "itself" | "the next parent";
	/** result.json, if there is one. */
	readonly result: RunResult | undefined;
	/** What the parent's model was told, if there is still a parent. */
	readonly told: string | undefined;
	/** All that the run has said, as its directory has it. */
	readonly said: string;
}

interface Run {
	readonly home: Home;
	readonly server: ModelServer;
	readonly delegation: ReturnType<typeof startDelegation>;
	readonly directory: string;
	readonly runId: string;
	readonly pids: Readonly<Record<Victims[number], number>>;
	readonly jobs: readonly number[];
}

/** One cell of the matrix, with the real pi. Rejects when the run did not get as far as to be killed. */
export async function playCell(victims: Victims, work: Work): Promise<Cell> {
	const server = await startModelServer();
	const home = createHome(server);
	const started: number[] = [];
	try {
		const run = await start(home, server, work, started);
		for (const victim of victims) process.kill(run.pids[victim], "SIGKILL");
		return await look(run, victims);
	} finally {
		for (const pid of started) if (isAlive(pid)) process.kill(pid, "SIGKILL");
		await server.close();
		home.dispose();
	}
}

const jobOf = (launcher: string) =>
	`${launcher} sh -c 'echo $$ >> ${PIDS}; exec sleep 600' >/dev/null 2>&1 & until test -s ${PIDS}; do sleep 0.01; done`;

function childDoes(work: Work): (request: ModelRequest) => Reply {
	const call = (command: string) => (request: ModelRequest) =>
		request.turn === 0 ? toolCall("bash", { command }, { text: SAID }) : hang({ text: "and then" });
	switch (work) {
		case "idle bash":
			return call(`echo $$ >> ${PIDS}; exec sleep 600`);
		case "nohup job":
			return call(jobOf("nohup"));
		case "setsid job":
			return call(jobOf("setsid"));
		case "hanging model":
			return () => hang({ text: SAID });
		case "streaming":
			return () => text(`${SAID} ${"word after word ".repeat(20_000)}`, { chunkChars: 20, chunkDelayMs: 5 });
	}
}

const sessionOf = (home: Home) => join(home.root, "session.jsonl");

/** A parent whose only child is at its work. */
async function start(home: Home, server: ModelServer, work: Work, started: number[]): Promise<Run> {
	const delegation = startDelegation(home, server, {
		extension: EXTENSION,
		args: { tasks: [{ name: "victim", prompt: "work" }] },
		child: childDoes(work),
		pi: { timeoutMs: MAX_START_MS * 2, args: ["--session", sessionOf(home)] },
	});
	started.push(delegation.parent.pid);
	const directory = await directoryThat(home, (events) => SPOKEN.test(events));
	const hasJob = work !== "hanging model" && work !== "streaming";
	const jobs = () => (hasJob ? readPids(home) : []);
	await until(() => !hasJob || jobs().length > 0, "the job to run", MAX_START_MS);
	const [first = ""] = readFileSync(join(directory, "events.jsonl"), "utf8").split("\n");
	const { supervisorPid: supervisor, pid: pi } = JSON.parse(first).event as { supervisorPid: number; pid: number };
	started.push(supervisor, pi, ...jobs());
	const pids = { parent: delegation.parent.pid, supervisor, pi };
	return { home, server, delegation, directory, runId: directory.split("/").at(-1) ?? "", pids, jobs: jobs() };
}

function readPids(home: Home): number[] {
	const file = join(home.project, PIDS);
	return existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean).map(Number) : [];
}

async function directoryThat(home: Home, matches: (events: string) => boolean): Promise<string> {
	const runs = join(home.project, ".pi", "subagents", "runs");
	let found: string | undefined;
	const look = () => {
		const directories = existsSync(runs) ? readdirSync(runs).map((name) => join(runs, name)) : [];
		found = directories.find((directory) => {
			const events = join(directory, "events.jsonl");
			return existsSync(events) && matches(readFileSync(events, "utf8"));
		});
		return found !== undefined;
	};
	await until(look, "the child to speak", MAX_START_MS);
	return found ?? "";
}

function survivorsOf({ runId, pids, jobs }: Run): FoundProcess[] {
	const marked = processesWithEnv(MARKER, runId);
	const known = [pids.supervisor, pids.pi, ...jobs].filter(isAlive).map(describeProcess);
	return [...new Map([...marked, ...known].map((each) => [each.pid, each])).values()];
}

/** Whether nothing was left within the time. */
async function emptied(run: Run): Promise<boolean> {
	return await until(() => survivorsOf(run).length === 0, "all to be gone", MAX_MS).then(
		() => true,
		() => false,
	);
}

async function look(run: Run, victims: Victims): Promise<Cell> {
	const from = performance.now();
	// A job that nobody knows any more: whoever opens the session again does.
	const abandoned = victims.length === 3 && run.jobs.length > 0;
	if (abandoned) await nextParent(run);
	await emptied(run);
	const emptyAfterMs = performance.now() - from;
	const parentLives = !victims.some((victim) => victim === "parent");
	if (parentLives) await run.delegation.done;
	const state = await readRun(run.directory);
	return {
		jobs: run.jobs.length,
		survivors: survivorsOf(run),
		emptyAfterMs,
		endedBy: abandoned ? "the next parent" : "itself",
		result: readResultIn(run.directory),
		told: parentLives ? toolOutcomes(run.delegation.parent.events)[0]?.text : undefined,
		said: `${JSON.stringify(state?.entries ?? [])} ${state?.partial ?? ""}`,
	};
}

/** The session is opened again, by a pi that says nothing of the run. */
async function nextParent({ home, server }: Run): Promise<void> {
	server.use(() => text("nothing to do"));
	await runPi(home, { prompt: "hello", extension: EXTENSION, args: ["--session", sessionOf(home)] }).done;
}

function readResultIn(directory: string): RunResult | undefined {
	const file = join(directory, "result.json");
	return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as RunResult) : undefined;
}
