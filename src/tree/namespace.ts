import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { Invocation } from "../domain/spec.ts";
import type { Layer } from "./plan.ts";

export const isRoot = (): boolean => process.getuid?.() === 0;

/**
 * Mounts a layer in each directory up to "--", goes to the directory after it and becomes the program after that. The names are relative, because a path may
 * hold characters that mean something in mount options.
 */
const MOUNT = `set -e
options=$1; shift
while [ "$1" != -- ]; do
	cd "$1"
	mount -t overlay overlay -o "$options" mnt
	shift
done
cd "$2"
shift 2
exec "$@"`;

/** Without these the kernel may describe a renamed directory, or a file's new mode, in the layer instead of copying it. */
const ROOT_OPTIONS = "redirect_dir=off,metacopy=off,index=off";
const options = () => (isRoot() ? ROOT_OPTIONS : "userxattr");

/** A program in a mount namespace of its own, in which these layers are mounted at their `mnt`, to be written or only read. */
export function withMounts(
	layers: readonly Pick<Layer, "directory">[],
	use: "write" | "read",
	program: readonly string[],
	cwd = "/",
): Invocation {
	const parts = use === "write" ? "lowerdir=lower,upperdir=up,workdir=work" : "ro,lowerdir=up:lower";
	return {
		command: "unshare",
		args: [
			...(isRoot() ? [] : ["--map-root-user"]),
			...["--mount", "--propagation", "private", "sh", "-c", MOUNT, "mount-layers", `${options()},${parts}`],
			...[...layers.map(({ directory }) => directory), "--", cwd, ...program],
		],
	};
}

const PROBE_TIMEOUT_MS = 10_000;
const PROGRAMS = [
	["unshare", "util-linux"],
	["mount", "util-linux"],
	["bwrap", "bubblewrap"],
] as const;

/** What is not installed that a tree of its own needs, and the package that has it. */
export function missingProgram(): string | undefined {
	if (process.platform !== "linux") return `it needs Linux, this is ${process.platform}`;
	const directories = (process.env.PATH ?? "").split(delimiter);
	const missing = PROGRAMS.find(([program]) => !directories.some((directory) => canRun(join(directory, program))));
	return missing && `${missing[0]} is not installed: install ${missing[1]}`;
}

function canRun(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return true;
	} catch {
		return false;
	}
}

/** Runs a program that does nothing, and gives the first words of what keeps it from running. */
export function whyItFails({ command, args }: Invocation): Promise<string | undefined> {
	return new Promise((resolve) => {
		execFile(command, [...args], { timeout: PROBE_TIMEOUT_MS }, (error, _stdout, stderr) => {
			resolve(error ? stderr.trim().split("\n", 1)[0] || error.message : undefined);
		});
	});
}
