import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { RunReceipt } from "../../src/domain/receipt.ts";
import type { RunResult } from "../../src/domain/run-result.ts";
import type { Home } from "../rig/home.ts";
import { type Reply, text, toolCall } from "../rig/model-server.ts";
import { createStage, type Plays, type Stage } from "./agent-stage.ts";

const RECEIPTS = { settings: { subagents: { receipts: true } } };
const bash = (command: string): Reply => toolCall("bash", { command });
const write = (path: string, content: string): Reply => toolCall("write", { path, content });

function git({ project, env }: Pick<Home, "project" | "env">, ...args: readonly string[]): string {
	const who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
	return execFileSync("git", [...who, ...args], { cwd: project, env, encoding: "utf8" });
}

/** A repository with one commit of these files. */
function repository(home: Home, files: Readonly<Record<string, string>>): void {
	git(home, "init", "-q");
	for (const [path, content] of Object.entries(files)) home.write(path, content);
	git(home, "add", "-A");
	git(home, "commit", "-qm", "first");
}

const resultOf = (stage: Stage, task: string): RunResult =>
	JSON.parse(readFileSync(join(stage.runs().get(task)?.directory ?? "", "result.json"), "utf8")) as RunResult;

function receiptOf(stage: Stage, task: string): RunReceipt {
	const { receipt } = resultOf(stage, task);
	assert.ok(receipt, `no receipt of ${task}`);
	return receipt;
}

/** The lines below each task's line, by the task's name. */
function linesIn(result: string): Map<string, string[]> {
	const lines = new Map<string, string[]>();
	let current: string[] = [];
	for (const line of result.split("\n")) {
		const name = /^[✓✗■●] ([\w-]+):/.exec(line)?.[1];
		if (name === undefined) {
			current.push(line);
			continue;
		}
		current = [];
		lines.set(name, current);
	}
	return lines;
}

/** One call of delegate_to_subagents in which each play is a task. */
async function delegated(stage: Stage, plays: Plays): Promise<Map<string, string[]>> {
	const tasks = Object.keys(plays).map((name) => ({ name, prompt: name }));
	const [result] = await stage.call([{ tool: "delegate_to_subagents", tasks }], plays);
	return linesIn(result?.text ?? "");
}

test("A result says which files a run has changed, by write calls and by commands, and which commands failed (R2, R4)", async (t) => {
	const stage = await createStage(t, RECEIPTS);
	repository(stage.home, { "src/a.txt": "one\n", "old.txt": "old\n" });
	const lines = await delegated(stage, {
		work: [write("docs/new.md", "a\nb\n"), bash("echo two >> src/a.txt"), bash("rm old.txt && exit 3"), text("Done.")],
		idle: [text("Nothing to do.")],
	});
	assert.deepEqual(lines.get("work"), [
		"  changed docs/new.md (+2 −0), src/a.txt · removed old.txt · last failed: rm old.txt && exit 3 (exit 3)",
	]);
	assert.deepEqual(lines.get("idle"), ["  changed no file"]);
	const receipt = receiptOf(stage, "work");
	assert.deepEqual(receipt.files, [
		{ path: "docs/new.md", change: "added", added: 2, removed: 0, how: "tool" },
		{ path: "old.txt", change: "removed", how: "command" },
		{ path: "src/a.txt", change: "changed", how: "command" },
	]);
	assert.deepEqual(
		receipt.commands.map(({ command, exit }) => [command, exit]),
		[
			["echo two >> src/a.txt", 0],
			["rm old.txt && exit 3", 3],
		],
	);
	assert.deepEqual(receipt.scan, { kind: "complete" });
	assert.ok(!existsSync(join(stage.home.project, "old.txt")));
});
