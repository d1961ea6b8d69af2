import { writeSync } from "node:fs";
import module from "node:module";
import type { FromChild } from "./protocol.ts";

/** Node was asked to write something when it exits: a profile, coverage, a report. */
const WRITES_AT_EXIT = /prof|coverage|trace|report|snapshot|inspect/i;

/**
 * Exits, for a process that nothing keeps alive any more: its shutdown handlers have run and its output is written. Node
 * would now take its heap apart for 10 to 20 ms, and somebody waits for the answer. So the process tells its supervisor how
 * it exits, and kills itself.
 */
export function exitQuickly(supervisorFd: number, code: number): never {
	// Registered last: every other listener has run by then.
	if (canBeKilled()) process.once("exit", () => tellAndKill(supervisorFd, process.exitCode ?? code));
	return process.exit(code);
}

function canBeKilled(): boolean {
	const asked = [...process.execArgv, process.env.NODE_OPTIONS ?? "", process.env.NODE_V8_COVERAGE ? "coverage" : ""];
	return process.platform !== "win32" && !WRITES_AT_EXIT.test(asked.join(" "));
}

function tellAndKill(supervisorFd: number, code: number | string): void {
	const told: FromChild = { exit: Number(code) };
	try {
		module.flushCompileCache(); // a killed process leaves no cache, and every later start would pay for it
		writeSync(supervisorFd, `${JSON.stringify(told)}\n`);
	} catch {
		return; // the supervisor does not know: this process has to exit by itself
	}
	process.kill(process.pid, "SIGKILL");
}
