import { readdirSync, readFileSync } from "node:fs";

export interface ProcessWatch {
	/** What was seen until now. */
	stop(): {
		readonly looks: number;
		/** How many processes were seen, and the first word of each command. */
		readonly pids: number;
		readonly programs: ReadonlySet<string>;
		/** Where a secret stood. */
		readonly leaks: ReadonlySet<string>;
	};
}

const PERIOD_MS = 4;

/**
 * Looks at the arguments and the environment of every process of a home, from its first moment on, for things that must
 * not be there.
 */
export function watchProcesses(
	home: string,
	secrets: { readonly inArguments: readonly string[]; readonly inEnvironment: readonly string[] },
): ProcessWatch {
	const pids = new Set<number>();
	const programs = new Set<string>();
	const leaks = new Set<string>();
	let looks = 0;
	const inspect = (pid: number) => {
		const environment = read(`/proc/${pid}/environ`);
		if (!environment.includes(`HOME=${home}\0`)) return;
		const command = read(`/proc/${pid}/cmdline`);
		pids.add(pid);
		programs.add(command.split(/[\0 ]/, 1)[0] ?? "");
		const inArguments = secrets.inArguments.filter((secret) => command.includes(secret));
		const inEnvironment = secrets.inEnvironment.filter((secret) => environment.includes(secret));
		for (const secret of inArguments) leaks.add(`${secret} in ${command}`);
		for (const secret of inEnvironment) leaks.add(`${secret} in the environment of ${command}`);
	};
	const look = () => {
		looks++;
		for (const name of readdirSync("/proc")) if (/^\d+$/.test(name)) inspect(Number(name));
	};
	const timer = setInterval(look, PERIOD_MS);
	return {
		stop() {
			clearInterval(timer);
			return { looks, pids: pids.size, programs, leaks };
		},
	};
}

function read(path: string): string {
	try {
		return readFileSync(path, "latin1");
	} catch {
		return "";
	}
}
