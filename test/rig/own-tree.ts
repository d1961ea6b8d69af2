import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Why no run can have a tree of its own on this machine; false where it can. */
export function treeMissing(): string | false {
	const directory = mkdtempSync(join(tmpdir(), "pi-tree-probe-"));
	try {
		const user = process.getuid?.() === 0 ? [] : ["--map-root-user"];
		const options = process.getuid?.() === 0 ? "" : "userxattr,";
		const script = `cd ${directory} && mkdir a up work mnt && mount -t overlay overlay -o ${options}lowerdir=a,upperdir=up,workdir=work mnt && bwrap --ro-bind / / --unshare-pid true`;
		execFileSync("unshare", [...user, "--mount", "sh", "-c", script], { stdio: "pipe" });
		return false;
	} catch (error) {
		return `no tree of its own here: ${error instanceof Error ? error.message.split("\n")[1] || error.message : error}`;
	} finally {
		execFileSync("chmod", ["-R", "u+rwx", directory]);
		rmSync(directory, { recursive: true, force: true });
	}
}

const GIT_ENV = {
	...process.env,
	...{ GIT_AUTHOR_NAME: "Ann", GIT_AUTHOR_EMAIL: "ann@localhost", GIT_COMMITTER_NAME: "Ann" },
	...{ GIT_COMMITTER_EMAIL: "ann@localhost", GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
};

/** What git prints in a directory, as a person who has configured nothing. */
export const git = (cwd: string, ...args: string[]): string =>
	execFileSync("git", args, { cwd, encoding: "utf8", env: GIT_ENV, stdio: ["ignore", "pipe", "pipe"] }).trimEnd();

/** Every file, link and directory below a path, with its mode and content; `but` are paths that are passed over. */
export function contentOf(root: string, but: readonly string[] = []): Readonly<Record<string, string>> {
	const below = (directory: string): string[] =>
		readdirSync(join(root, directory), { withFileTypes: true })
			.map((entry) => ({ path: join(directory, entry.name), isDirectory: entry.isDirectory() }))
			.filter(({ path }) => !but.includes(path))
			.flatMap(({ path, isDirectory }) => (isDirectory ? [path, ...below(path)] : [path]));
	return Object.fromEntries(
		below("")
			.sort()
			.map((path) => [path, describe(join(root, path))]),
	);
}

function describe(path: string): string {
	const stat = lstatSync(path);
	const mode = (stat.mode & 0o7777).toString(8);
	if (stat.isDirectory()) return `directory ${mode}`;
	if (stat.isSymbolicLink()) return `-> ${readlinkSync(path)}`;
	return stat.isFile() ? `${mode} ${createHash("sha256").update(readFileSync(path)).digest("hex")}` : `special ${mode}`;
}
