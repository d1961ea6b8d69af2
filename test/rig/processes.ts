import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const POLL_MS = 10;

export interface FoundProcess {
	pid: number;
	command: string;
}

/** A zombie is not alive. */
export function isAlive(pid: number): boolean {
	return statusOf(pid) !== undefined;
}

/** The wait status of a process that has ended and was not waited for by its parent. */
export function zombieStatus(pid: number): number | undefined {
	const fields = statFields(pid);
	return fields[0] === "Z" ? Number(fields.at(-1)) : undefined;
}

/** SIGSTOP has reached it. */
export const isStopped = (pid: number): boolean => statFields(pid)[0] === "T";

/** Less than the processes last that tests leave behind on purpose: one that survives must not pass by ending on its own. */
const GONE_MS = 30_000;

/** Rejects when the process is still there after `timeoutMs`. */
export async function waitGone(pid: number, timeoutMs = GONE_MS): Promise<void> {
	const deadline = performance.now() + timeoutMs;
	while (isAlive(pid)) {
		if (performance.now() > deadline) {
			throw new Error(`Process ${pid} (${commandOf(pid)}) is still alive after ${timeoutMs} ms.`);
		}
		await pause(POLL_MS);
	}
}

/** Living processes that were started with `name=value` in their environment. */
export function processesWithEnv(name: string, value: string): FoundProcess[] {
	const wanted = `${name}=${value}`;
	return allPids()
		.filter((pid) => isAlive(pid) && read(`/proc/${pid}/environ`).split("\0").includes(wanted))
		.map(describeProcess);
}

/** Living processes with exactly this command line, arguments joined by blanks. */
export function processesWithCommand(command: string): number[] {
	return allPids().filter((pid) => commandOf(pid) === command && isAlive(pid));
}

/** Every value that the variable has in the environment of a living process. */
export function valuesInEnv(name: string): string[] {
	const prefix = `${name}=`;
	const entries = allPids().flatMap((pid) => (isAlive(pid) ? read(`/proc/${pid}/environ`).split("\0") : []));
	return [...new Set(entries.filter((entry) => entry.startsWith(prefix)).map((entry) => entry.slice(prefix.length)))];
}

/** Rejects when such a process is still there after `timeoutMs`. */
export async function waitNoneWithEnv(name: string, value: string, timeoutMs = GONE_MS): Promise<void> {
	const deadline = performance.now() + timeoutMs;
	for (let found = processesWithEnv(name, value); found.length > 0; found = processesWithEnv(name, value)) {
		if (performance.now() > deadline) {
			const list = found.map((one) => `${one.pid} ${one.command}`).join("; ");
			throw new Error(`After ${timeoutMs} ms there still live with ${name}=${value}: ${list}`);
		}
		await pause(POLL_MS);
	}
}

/** Living children of the process, their children and so on; a child whose parent ended first is not found. */
export function descendants(pid: number): FoundProcess[] {
	const children = new Map<number, number[]>();
	for (const one of allPids()) {
		const parent = statusOf(one)?.parent;
		if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), one]);
	}
	const found: number[] = [];
	for (const queue = [pid]; queue.length > 0; ) {
		const below = children.get(queue.pop() ?? 0) ?? [];
		found.push(...below);
		queue.push(...below);
	}
	return found.map(describeProcess);
}

/** Undefined where the process has ended. */
export const parentOf = (pid: number): number | undefined => statusOf(pid)?.parent;

function statusOf(pid: number): { parent: number } | undefined {
	const [state, parent] = statFields(pid);
	if (state === undefined || parent === undefined || state === "Z" || state === "X") return undefined;
	return { parent: Number(parent) };
}

function statFields(pid: number): string[] {
	// The command in parentheses may hold anything, so the fields are counted from its end.
	return read(`/proc/${pid}/stat`).split(")").at(-1)?.trim().split(" ") ?? [];
}

function allPids(): number[] {
	return readdirSync("/proc").map(Number).filter(Number.isInteger);
}

export function describeProcess(pid: number): FoundProcess {
	return { pid, command: commandOf(pid) };
}

function commandOf(pid: number): string {
	return read(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim();
}

function read(path: string): string {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return "";
	}
}
