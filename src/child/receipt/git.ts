import { execFile } from "node:child_process";
import { lstatSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { err, ok, type Result } from "../../domain/result.ts";

/** A checkout and where its repository is. */
export interface Checkout {
	readonly root: string;
	readonly gitDirectory: string;
}

/** What git says of a file: it is there and differs, is new to git, or is missing. */
export type GitEntry = "differs" | "new" | "missing";

export interface GitStatus {
	/** The commit; empty before the first one. */
	readonly head: string;
	/** By path from the root. */
	readonly entries: ReadonlyMap<string, GitEntry>;
}

const MAX_OUTPUT_BYTES = 32 * 1024 * 1024;
/** What a diff against nothing is made with, by the length of the repository's hashes. */
const EMPTY_TREES: Readonly<Record<number, string>> = {
	40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
	64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
};

/** The checkout that a directory lies in. Git itself is not asked: that would already read the repository's configuration. */
export function findCheckout(directory: string): Checkout | undefined {
	const dotGit = join(directory, ".git");
	const stat = lstatSync(dotGit, { throwIfNoEntry: false });
	if (stat?.isDirectory()) return { root: directory, gitDirectory: dotGit };
	if (stat?.isFile()) {
		const target = /^gitdir: (.+?)\s*$/.exec(readFileSync(dotGit, "utf8"))?.[1];
		return target === undefined ? undefined : { root: directory, gitDirectory: resolve(directory, target) };
	}
	const parent = dirname(directory);
	return parent === directory ? undefined : findCheckout(parent);
}

/**
 * Git, with all off that would execute what a repository's configuration names: its file system monitor, hooks, filters,
 * external diffs and text conversions, submodules, and fetching of missing objects. The index is never written.
 */
export function createGit({ root, gitDirectory }: Checkout, deadline: number) {
	const run = (args: readonly string[], accepted: readonly number[] = [0]): Promise<Result<string>> =>
		new Promise((done) => {
			const timeout = deadline - Date.now();
			if (timeout <= 0) return done(err(TOO_SLOW));
			const all = [`--git-dir=${gitDirectory}`, `--work-tree=${root}`, ...SAFE, ...args];
			const options = {
				cwd: root,
				env: environment(),
				timeout,
				killSignal: "SIGKILL",
				maxBuffer: MAX_OUTPUT_BYTES,
			} as const;
			execFile("git", all, options, (error, stdout, stderr) => {
				const code = error?.code;
				if (!error || (typeof code === "number" && accepted.includes(code))) return done(ok(stdout));
				if (error.killed) return done(err(TOO_SLOW));
				done(err(code === "ENOENT" ? "git is not installed" : stderr.trim().split("\n", 1)[0] || error.message));
			}).stdin?.end();
		});
	return {
		/** Why git cannot be asked without executing something; else what it is asked with. */
		async filters(): Promise<Result<readonly string[]>> {
			const listed = await run(["config", "--null", "--show-scope", "--get-regexp", "^filter\\."], [0, 1]);
			return listed.ok ? withoutFilters(listed.value) : listed;
		},
		async status(options: readonly string[]): Promise<Result<GitStatus>> {
			const args = ["status", "--porcelain=v2", "--branch", "--no-ahead-behind", "-z", "--untracked-files=all"];
			const said = await run([...options, ...args, "--no-renames", "--ignore-submodules=all"]);
			return said.ok ? ok(parseStatus(said.value)) : said;
		},
		async diff(options: readonly string[], from: string, to: string): Promise<Result<GitStatus["entries"]>> {
			if (from === to) return ok(new Map());
			const commits = [from, to].map((commit) => commit || (EMPTY_TREES[(from || to).length] ?? ""));
			const args = [
				"diff",
				"--name-status",
				"-z",
				"--no-renames",
				"--no-ext-diff",
				"--no-textconv",
				"--ignore-submodules=all",
			];
			const said = await run([...options, ...args, ...commits, "--"]);
			return said.ok ? ok(parseNames(said.value)) : said;
		},
	};
}

export type Git = ReturnType<typeof createGit>;

/** Of a repository that takes longer than anybody waits for a receipt. */
export const TOO_SLOW = "git took too long";

const SAFE: readonly string[] = [
	"--no-optional-locks",
	...["core.fsmonitor=false", "core.hooksPath=/dev/null", "core.untrackedCache=false", "core.pager=cat"].flatMap(
		(setting) => ["-c", setting],
	),
];

/** Nothing that steers git is inherited, and no protocol is allowed: a missing object is not fetched. */
function environment(): NodeJS.ProcessEnv {
	const own = Object.entries(process.env).filter(([name]) => !/^(?:GIT_|SSH_|LESS|PAGER)/i.test(name));
	return {
		...Object.fromEntries(own),
		...{
			LC_ALL: "C",
			GIT_OPTIONAL_LOCKS: "0",
			GIT_NO_LAZY_FETCH: "1",
			GIT_ALLOW_PROTOCOL: "none",
			GIT_TERMINAL_PROMPT: "0",
		},
	};
}

/** The person's own filters are switched off. A repository that brings filters of its own is not git's to scan. */
function withoutFilters(listed: string): Result<readonly string[]> {
	const fields = listed.split("\0");
	const names = new Set<string>();
	for (let at = 0; at + 1 < fields.length; at += 2) {
		const name = /^filter\.([^\n]*)\.[^.\n]*(?:\n|$)/s.exec(fields[at + 1] ?? "")?.[1];
		const isOwn = fields[at] === "global" || fields[at] === "system";
		if (!isOwn || name === undefined || name.includes("=")) return err("the repository's configuration names filters");
		names.add(name);
	}
	const off = (name: string) =>
		["clean=", "smudge=", "process=", "required=false"].map((value) => `filter.${name}.${value}`);
	return ok([...names].flatMap(off).flatMap((setting) => ["-c", setting]));
}

/** Porcelain v2 with `-z`: so many fields stand before the path, by how a line begins. */
const FIELDS_BEFORE: Readonly<Record<string, number>> = { "1": 8, u: 10, "?": 1 };

function parseStatus(said: string): GitStatus {
	const entries = new Map<string, GitEntry>();
	let head = "";
	for (const line of said.split("\0")) {
		head = /^# branch\.oid ([0-9a-f]+)$/.exec(line)?.[1] ?? head;
		const fields = line.split(" ");
		const before = FIELDS_BEFORE[fields[0] ?? ""];
		if (before === undefined) continue;
		const path = fields.slice(before).join(" ").replace(/\/$/, "");
		const entry = fields[0] === "?" ? "new" : entryOf(fields[1] ?? "");
		// One that was taken out of the index and left where it is has two lines.
		entries.set(path, entry === "new" && entries.get(path) === "missing" ? "differs" : entry);
	}
	return { head, entries };
}

/** The first letter is about the index, the second about the file. */
function entryOf(states: string): GitEntry {
	if (states.endsWith("D") || states === "D.") return "missing";
	return states.startsWith("A") ? "new" : "differs";
}

function parseNames(said: string): GitStatus["entries"] {
	const fields = said.split("\0");
	const entries = new Map<string, GitEntry>();
	for (let at = 0; at + 1 < fields.length; at += 2) {
		const state = fields[at];
		entries.set(fields[at + 1] ?? "", state === "A" ? "new" : state === "D" ? "missing" : "differs");
	}
	return entries;
}
