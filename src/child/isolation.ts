import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import type { Exit } from "../domain/event.ts";
import { err, ok, type Result } from "../domain/result.ts";
import type { Invocation, RunSpec } from "../domain/spec.ts";
import { startInTree } from "../tree/layers.ts";
import { kill } from "./stop-ladder.ts";

const PROBE_TIMEOUT_MS = 5_000;

/** What pi is started by and told through, where something may stand between it and its supervisor. */
export interface Isolation {
	readonly invocation: Invocation;
	/** Signals the pi that the process with this pid has started, or is. */
	signal(pid: number, signal: NodeJS.Signals): void;
	/** How pi ended, from how that process did. */
	exitOf(exit: Exit): Exit;
}

/** How this run's pi is started. An error, where it cannot be isolated as it was asked to be: it never runs without. */
export async function isolate(spec: RunSpec, runDirectory: string): Promise<Result<Isolation>> {
	const { isolation, invocation } = spec;
	if (isolation === "none") return ok({ invocation, signal: kill, exitOf: (exit) => exit });
	if (isolation === "worktree") {
		const started = await startInTree(spec, runDirectory);
		return started.ok ? ok({ invocation: started.value, signal: signalWithin, exitOf: exitWithin }) : started;
	}
	const missing = await whyNoNamespace();
	if (missing !== undefined) {
		return err(
			`subagents.isolation is "pid-namespace", which is not available here (${missing}). Allow user namespaces, or set it to "none"`,
		);
	}
	return ok({ invocation: inNamespace(invocation), signal: signalWithin, exitOf: exitWithin });
}

/**
 * The first process of the namespace, as whom pi itself would neither be ended by a signal that it does not handle nor see
 * to processes that lost their parent. When pi ends this ends, and with the first process the kernel ends all others.
 * A shell gives what it starts in the background no stdin of its own accord; fd 3 is inherited.
 */
const INIT = 'exec 4<&0; "$@" <&4 4<&- & exec </dev/null >/dev/null 2>&1 3<&- 4<&-; wait $!';

/** Root needs no user namespace, and in one could not use other users' files. */
const unshareFlags = (): string[] => [
	...(process.getuid?.() === 0 ? [] : ["--map-current-user"]),
	...["--pid", "--kill-child", "--mount-proc"],
];

const inNamespace = ({ command, args }: Invocation): Invocation => ({
	command: "unshare",
	args: [...unshareFlags(), "sh", "-c", INIT, "init", command, ...args],
});

function whyNoNamespace(): Promise<string | undefined> {
	if (process.platform !== "linux") return Promise.resolve(`it needs Linux, this is ${process.platform}`);
	return new Promise((resolve) => {
		execFile("unshare", [...unshareFlags(), "true"], { timeout: PROBE_TIMEOUT_MS }, (error, _stdout, stderr) => {
			if (error?.code === "ENOENT") resolve("unshare is not installed");
			else resolve(error ? stderr.trim().split("\n", 1)[0] || error.message : undefined);
		});
	});
}

/**
 * Neither unshare nor bwrap passes SIGTERM on: it goes to the first process that init has started. SIGKILL of the outer process ends
 * them all.
 */
function signalWithin(unsharePid: number, signal: NodeJS.Signals): void {
	const [init] = childrenOf(unsharePid);
	const [pi] = init === undefined ? [] : childrenOf(init);
	if (signal === "SIGKILL" || pi === undefined) kill(unsharePid, "SIGKILL");
	else kill(pi, signal);
}

function childrenOf(pid: number): number[] {
	try {
		return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
	} catch {
		return [];
	}
}

/** pi's own exit codes after these signals are what a shell makes of them, too: they stay codes. */
const HANDLED: readonly string[] = ["SIGHUP", "SIGINT", "SIGTERM"];

function exitWithin(exit: Exit): Exit {
	if (exit.kind !== "code") return exit;
	const name = Object.entries(constants.signals).find(([, number]) => exit.code === 128 + number)?.[0];
	return name === undefined || HANDLED.includes(name) ? exit : { kind: "signal", signal: name as NodeJS.Signals };
}
