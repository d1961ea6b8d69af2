import { existsSync, readFileSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, isAbsolute, join } from "node:path";
import type { Invocation } from "../domain/spec.ts";
import { isRoot, withMounts } from "./namespace.ts";
import { isWithin, layerAt, realOf, type TreePlan } from "./plan.ts";

/** What a run needs to be started in its tree. */
export interface Entrance {
	readonly invocation: Invocation;
	readonly cwd: string;
	readonly runDirectory: string;
	/** The one file outside of its layers that it writes to. */
	readonly session: string | undefined;
}

/** Caches of compiled code below the temporary directory: without them pi starts a second later. They are never writable. */
const CACHES = ["node-compile-cache", "jiti"];

/** What root could do harm with even without capabilities. */
const PROC_FILES = ["sys", "sysrq-trigger", "irq", "bus"].map((name) => `/proc/${name}`);
/** Root needs these for projects of other users. */
const ROOT_CAPABILITIES = ["CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_CHOWN"];

/**
 * pi with the layers of its run over the directories that it may change. All else is read-only, `/tmp` and `/run` are empty
 * (a socket can be connected to wherever it can be seen), it has no processes but its own, and they end with it.
 */
export function enterTree(tree: TreePlan, entrance: Entrance): Invocation {
	const { invocation } = entrance;
	const layers = [tree.project, ...tree.others].sort((one, other) => one.at.length - other.at.length);
	const bwrap = [
		"bwrap",
		...(isRoot() ? [] : ["--unshare-user", "--uid", String(process.getuid?.()), "--gid", String(process.getgid?.())]),
		...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"],
		...PROC_FILES.flatMap((path) => ["--ro-bind-try", path, path]),
		...emptied(tree),
		...readable(tree, entrance).flatMap((path) => ["--ro-bind", path, path]),
		...layers.flatMap(({ at, directory }) => ["--bind", join(directory, "mnt"), at]),
		...mountsBelow(tree).flatMap((path) => ["--ro-bind-try", path, path]),
		...(entrance.session === undefined ? [] : ["--bind", entrance.session, entrance.session]),
		...["--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session", "--cap-drop", "ALL"],
		...(isRoot() ? ROOT_CAPABILITIES.flatMap((capability) => ["--cap-add", capability]) : []),
		...["--chdir", realOf(entrance.cwd), "--", invocation.command, ...invocation.args],
	];
	return withMounts(layers, "write", bwrap);
}

/** The directories that are empty for the run, but for what is mounted in them. */
function hidden(tree: TreePlan): readonly string[] {
	const temporary = realOf(tmpdir());
	const always = ["/tmp", "/run"].filter((path) => existsSync(path)).map(realOf);
	const isElsewhere = layerAt(tree, temporary) === undefined && !always.some((path) => isWithin(temporary, path));
	return isElsewhere ? [...always, temporary] : always;
}

function emptied(tree: TreePlan): readonly string[] {
	const temporary = realOf(tmpdir());
	const directories = hidden(tree);
	const isMissing = layerAt(tree, temporary) === undefined && !directories.includes(temporary);
	return [...directories.flatMap((path) => ["--tmpfs", path]), ...(isMissing ? ["--dir", temporary] : [])];
}

/** Files that pi needs and that would be hidden. */
function readable(tree: TreePlan, { invocation, runDirectory }: Entrance): readonly string[] {
	const directories = hidden(tree);
	const caches = CACHES.map((name) => join(tmpdir(), name)).filter((path) => existsSync(path));
	const used = [process.execPath, invocation.command, ...invocation.args].filter(
		(path) => isAbsolute(path) && existsSync(path),
	);
	const resolver = existsSync("/etc/resolv.conf") ? [realOf("/etc/resolv.conf")] : [];
	const wanted = [
		...[...caches.map(realOf), ...resolver, realOf(runDirectory)],
		...used.flatMap((path) => [codeAround(path, directories), codeAround(realpathSync(path), directories)]),
	].filter(
		(path) => layerAt(tree, path) === undefined && directories.some((each) => isWithin(path, each) && path !== each),
	);
	const unique = [...new Set(wanted)];
	return unique.filter((path) => !unique.some((other) => other !== path && isWithin(path, other)));
}

/** The package that a program or an extension belongs to, with all that it imports; else its directory. */
function codeAround(path: string, stopAt: readonly string[]): string {
	const outermost = path.indexOf("/node_modules/");
	if (outermost >= 0) {
		const owner = path.slice(0, outermost);
		return stopAt.includes(owner) ? `${owner}/node_modules` : owner;
	}
	for (
		let directory = dirname(path);
		!stopAt.includes(directory) && directory !== "/";
		directory = dirname(directory)
	) {
		if (existsSync(join(directory, "package.json"))) return directory;
	}
	return stopAt.includes(dirname(path)) ? path : dirname(path);
}

/** File systems that are mounted inside of a layer's directory do not show through it: they stay, and can only be read. */
function mountsBelow(tree: TreePlan): readonly string[] {
	const layers = [tree.project, ...tree.others];
	const lines = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
	const points = lines.flatMap((line) => line.split(" ")[4]?.replace(/\\(\d{3})/g, unescapeOctal) ?? []);
	return points.filter((point) => layers.some(({ at }) => point !== at && isWithin(point, at))).filter(isNoLayer);
}

const isNoLayer = (point: string) => basename(point) !== "mnt" || basename(dirname(dirname(point))) !== "layers";

const unescapeOctal = (_match: string, digits: string) => String.fromCharCode(Number.parseInt(digits, 8));
