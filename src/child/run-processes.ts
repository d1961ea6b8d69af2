import { execFile } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { isRunId } from "../run-directory/names.ts";
import { RUN_MARKER } from "./protocol.ts";

export interface RunProcess {
	readonly pid: number;
	readonly command: string;
}

/** A process of whichever run. */
export interface MarkedProcess extends RunProcess {
	readonly runId: string;
	/** Its own: whose run it is, and where that run's control socket is, may differ from ours. */
	readonly home: string | undefined;
	readonly temporary: string | undefined;
}

const MAX_COMMAND_CHARS = 200;

/** Finds every live process, but this one, that carries the marker of a run in its environment. */
export type Lookout = () => Promise<RunProcess[]>;

/** For this long the number of a process that has ended is surely nobody else's. */
const STRANGERS_LAST_MS = 250;

/** Who was just seen not to be of the run is not asked again: the second look costs next to nothing. */
export function createLookout(runId: string): Lookout {
	let strangers = new Set<number>();
	let since = 0;
	return async () => {
		const now = performance.now();
		if (now - since > STRANGERS_LAST_MS) {
			strangers = new Set();
			since = now;
		}
		return await processesOf(runId, strangers);
	};
}

async function processesOf(runId: string, strangers: Set<number>): Promise<RunProcess[]> {
	switch (process.platform) {
		case "linux":
			return await fromProc(runId, strangers);
		case "win32":
			return []; // not tried: there is no way to read another process's environment
		default:
			return await fromPs(runId);
	}
}

/** Every live process, but this one, that carries the marker of any run. */
export async function allRunProcesses(): Promise<MarkedProcess[]> {
	switch (process.platform) {
		case "linux":
			return (await Promise.all(processIds().map(markedInProc))).flatMap((each) => each ?? []);
		case "win32":
			return [];
		default:
			return (await listFromPs()).flatMap(({ pid, text }) => {
				const variable = (name: string) => new RegExp(` ${name}=(\\S*)`).exec(text)?.[1];
				return marked(pid, variable, () => text.split(` ${RUN_MARKER}=`)[0] ?? "") ?? [];
			});
	}
}

async function markedInProc(pid: number): Promise<MarkedProcess | undefined> {
	try {
		const variables = (await environmentOf(pid)).toString("utf8").split("\0");
		const variable = (name: string) => variables.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1);
		return marked(pid, variable, () => commandIn(pid));
	} catch {
		return undefined; // gone meanwhile, or somebody else's
	}
}

function marked(
	pid: number,
	variable: (name: string) => string | undefined,
	command: () => string,
): MarkedProcess | undefined {
	const runId = variable(RUN_MARKER);
	if (runId === undefined || !isRunId(runId)) return undefined;
	return { pid, runId, command: commandOf(command()), home: variable("HOME"), temporary: variable("TMPDIR") };
}

const NOBODY_CAN_LOOK: readonly string[] = ["EMFILE", "ENFILE", "ENOMEM"];

async function fromProc(runId: string, strangers: Set<number>): Promise<RunProcess[]> {
	const marker = Buffer.from(`${RUN_MARKER}=${runId}\0`);
	const pids = processIds().filter((pid) => !strangers.has(pid));
	const found = pids.map(async (pid): Promise<RunProcess[]> => {
		try {
			const environment = await environmentOf(pid);
			const at = environment.indexOf(marker);
			if (at !== -1 && (at === 0 || environment[at - 1] === 0)) return [{ pid, command: commandIn(pid) }];
		} catch (error) {
			if (NOBODY_CAN_LOOK.includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
			// gone meanwhile, or somebody else's
		}
		strangers.add(pid);
		return [];
	});
	return (await Promise.all(found)).flat();
}

const EXEC_POLL_MS = 2;
const MAX_EXEC_MS = 500;

/**
 * A process on its way from one program to the next has neither environment nor arguments for a moment, which on a busy
 * machine may last: it is looked at again. One that has a program and arguments, but nothing in its environment, is that way.
 */
async function environmentOf(pid: number): Promise<Buffer> {
	const read = () => readFileSync(`/proc/${pid}/environ`);
	for (const deadline = performance.now() + MAX_EXEC_MS; ; await sleep(EXEC_POLL_MS)) {
		const environment = read();
		if (environment.length > 0 || !hasProgram(pid) || performance.now() > deadline) return environment;
		if (readFileSync(`/proc/${pid}/cmdline`).length > 0) return read();
	}
}

/** Neither a thread of the kernel nor a process that has ended has one. */
function hasProgram(pid: number): boolean {
	try {
		return readlinkSync(`/proc/${pid}/exe`) !== "";
	} catch {
		return false;
	}
}

const processIds = (): number[] =>
	readdirSync("/proc")
		.map(Number)
		.filter((pid) => Number.isInteger(pid) && pid !== process.pid);

const commandIn = (pid: number) => commandOf(readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " "));

async function fromPs(runId: string): Promise<RunProcess[]> {
	return (await listFromPs()).flatMap(({ pid, text }) =>
		text.includes(` ${RUN_MARKER}=${runId}`)
			? [{ pid, command: commandOf(text.split(` ${RUN_MARKER}=`)[0] ?? "") }]
			: [],
	);
}

/** A line per process, with its environment behind its command. */
async function listFromPs(): Promise<{ readonly pid: number; readonly text: string }[]> {
	const list = await promisify(execFile)("ps", ["-axEww", "-o", "pid=,command="], {
		maxBuffer: 64 * 1024 * 1024,
	}).catch(() => ({ stdout: "" }));
	return list.stdout.split("\n").flatMap((line) => {
		const match = /^\s*(\d+)\s+(.*)$/.exec(line);
		const pid = Number(match?.[1]);
		return match?.[2] === undefined || pid === process.pid ? [] : [{ pid, text: match[2] }];
	});
}

const commandOf = (text: string) => text.trim().slice(0, MAX_COMMAND_CHARS);
