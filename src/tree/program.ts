import { execFile } from "node:child_process";
import type { Invocation } from "../domain/spec.ts";

export interface ProgramOptions {
	/** Paths, each with a NUL behind it. */
	readonly input?: readonly string[];
	readonly cwd?: string;
	readonly env?: NodeJS.ProcessEnv;
	/** Exit codes that are no failure. */
	readonly allowed?: readonly number[];
}

const MAX_OUTPUT_BYTES = 1024 * 1024 * 1024;

/** What a program prints. Rejects with its own last words. */
export function outputOf({ command, args }: Invocation, options: ProgramOptions = {}): Promise<string> {
	const { input, cwd, env, allowed = [] } = options;
	return new Promise((resolve, reject) => {
		const child = execFile(command, [...args], { cwd, env, maxBuffer: MAX_OUTPUT_BYTES }, (error, stdout, stderr) => {
			if (!error || allowed.includes(Number(error.code))) resolve(stdout);
			else reject(new Error(stderr.trim().split("\n").at(-1) || error.message));
		});
		child.stdin?.on("error", () => {}); // it may end before it has read all
		child.stdin?.end(input?.map((each) => `${each}\0`).join("") ?? "");
	});
}

/** What a program that printed paths with NULs between them has printed. */
export const pathsIn = (output: string): readonly string[] => output.split("\0").filter((path) => path !== "");
