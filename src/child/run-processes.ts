import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { promisify } from "node:util";
import { RUN_MARKER } from "./protocol.ts";

export interface RunProcess {
	readonly pid: number;
	readonly command: string;
}

const MAX_COMMAND_CHARS = 200;

/** Every live process, but this one, that carries the marker of this run in its environment. */
export async function processesOf(runId: string): Promise<RunProcess[]> {
	switch (process.platform) {
		case "linux":
			return fromProc(runId);
		case "win32":
			return []; // not tried: there is no way to read another process's environment
		default:
			return await fromPs(runId);
	}
}

function fromProc(runId: string): RunProcess[] {
	const marker = Buffer.from(`${RUN_MARKER}=${runId}\0`);
	return readdirSync("/proc").flatMap((name) => {
		const pid = Number(name);
		if (!Number.isInteger(pid) || pid === process.pid) return [];
		try {
			const environment = readFileSync(`/proc/${pid}/environ`);
			const at = environment.indexOf(marker);
			if (at === -1 || (at > 0 && environment[at - 1] !== 0)) return [];
			return [{ pid, command: commandOf(readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")) }];
		} catch {
			return []; // gone meanwhile, or somebody else's
		}
	});
}

async function fromPs(runId: string): Promise<RunProcess[]> {
	const list = await promisify(execFile)("ps", ["-axEww", "-o", "pid=,command="], {
		maxBuffer: 64 * 1024 * 1024,
	}).catch(() => ({ stdout: "" }));
	return list.stdout.split("\n").flatMap((line) => {
		const match = /^\s*(\d+)\s+(.*)$/.exec(line);
		if (!match?.[1] || !match[2]?.includes(` ${RUN_MARKER}=${runId}`)) return [];
		const pid = Number(match[1]);
		return pid === process.pid ? [] : [{ pid, command: commandOf(match[2].split(` ${RUN_MARKER}=`)[0] ?? "") }];
	});
}

const commandOf = (text: string) => text.trim().slice(0, MAX_COMMAND_CHARS);
