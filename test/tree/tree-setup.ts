import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Changes } from "../../src/domain/changes.ts";
import { removeTree } from "../../src/files/remove-tree.ts";
import { createRunId } from "../../src/plan/ids.ts";
import { carryBack } from "../../src/tree/carry-back.ts";
import { startInTree } from "../../src/tree/layers.ts";
import { specFor } from "../rig/fake-run.ts";
import { git } from "../rig/own-tree.ts";

/** A home, a project in it and a place outside of it, for commands that are run in trees of their own. */
export interface TreeSetup {
	readonly root: string;
	readonly home: string;
	readonly project: string;
	write(path: string, text: string, mode?: number): string;
	/** Makes the project a repository in which all that was written is committed. */
	commit(directory?: string): void;
	/** Runs a shell command in a tree of its own, and brings its changes back. */
	run(command: string, options?: RunOptions): Promise<TreeRun>;
	dispose(): Promise<void>;
}

interface RunOptions {
	readonly cwd?: string;
	/** Between the end of the command and the way back of its changes. */
	readonly afterwards?: () => void;
}

interface TreeRun {
	readonly runId: string;
	readonly directory: string;
	readonly output: string;
	readonly changes: Changes;
	readonly branch: string;
}

/** Sets HOME of this process. */
export function createTreeSetup(): TreeSetup {
	const root = realpathSync(mkdtempSync(join(tmpdir(), "pi-tree-")));
	const home = join(root, "home");
	const project = join(home, "project");
	mkdirSync(project, { recursive: true });
	const before = { HOME: process.env.HOME, PI_CODING_AGENT_DIR: process.env.PI_CODING_AGENT_DIR };
	process.env.HOME = home;
	delete process.env.PI_CODING_AGENT_DIR;
	const write: TreeSetup["write"] = (path, text, mode) => {
		const target = join(project, path);
		mkdirSync(dirname(target), { recursive: true });
		writeFileSync(target, text);
		if (mode !== undefined) chmodSync(target, mode);
		return target;
	};
	return {
		...{ root, home, project, write },
		commit(directory = project) {
			git(directory, "init", "-q", "-b", "main", ".");
			git(directory, "add", "-A");
			git(directory, "commit", "-q", "--allow-empty", "-m", "first");
		},
		async run(command, { cwd = project, afterwards = () => {} } = {}) {
			await setTimeout(20); // the clock of files ticks more slowly than ours
			const runId = createRunId(new Date());
			const directory = join(home, ".pi", "agent", "subagents", "runs", "project", runId);
			mkdirSync(directory, { recursive: true, mode: 0o700 });
			const spec = { ...specFor(cwd), runId, invocation: { command: "sh", args: ["-ec", command] } };
			const started = await startInTree(spec, directory);
			if (!started.ok) throw new Error(started.error);
			const ended = spawnSync(started.value.command, started.value.args, { encoding: "utf8" });
			if (ended.status !== 0) throw new Error(`exit ${ended.status}: ${ended.stdout}${ended.stderr}`);
			afterwards();
			const changes = await carryBack({ runId, label: "worker" }, directory, undefined);
			return { runId, directory, output: ended.stdout, changes, branch: `subagents/${runId}` };
		},
		async dispose() {
			for (const [name, value] of Object.entries(before)) {
				if (value === undefined) delete process.env[name];
				else process.env[name] = value;
			}
			await removeTree(root);
		},
	};
}

/** A program that leaves a mark wherever it is run. */
export function createAlarm(setup: TreeSetup): { readonly path: string; rang(): string } {
	const path = join(setup.root, "alarm");
	const marks = join(setup.root, "alarms");
	writeFileSync(path, `#!/bin/sh\necho "$0 $*" >> ${marks}\ncat\n`);
	chmodSync(path, 0o755);
	return {
		path,
		rang: () => execFileSync("sh", ["-c", `cat ${marks} 2>/dev/null || true`], { encoding: "utf8" }),
	};
}
