import { readFileSync } from "node:fs";

/** A process that lives, told apart from a later one with the same pid where the system can tell; undefined if it is gone. */
export function identityOf(pid: number): string | undefined {
	if (!Number.isInteger(pid) || pid <= 0 || !isRunning(pid)) return undefined;
	const stat = statOf(pid);
	if (stat?.state === "Z") return undefined; // it was killed, and nobody has asked for its exit code yet
	return stat === undefined ? String(pid) : `${pid}:${stat.start}`;
}

/** Its start is in ticks since the system's start. */
function statOf(pid: number): { readonly state: string | undefined; readonly start: string | undefined } | undefined {
	try {
		// The name in parentheses may hold anything, so the fields are counted from its end.
		const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(")").at(-1)?.trim().split(" ") ?? [];
		return { state: fields[0], start: fields[19] };
	} catch {
		return undefined;
	}
}

function isRunning(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return true;
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === "EPERM";
	}
}
