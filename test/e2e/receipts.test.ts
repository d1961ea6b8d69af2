import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { RunReceipt } from "../../src/domain/receipt.ts";
import type { RunResult } from "../../src/domain/run-result.ts";
import type { Home } from "../rig/home.ts";
import { type Reply, text, toolCall } from "../rig/model-server.ts";
import { createSetup, type Plays, type Setup } from "./agent-setup.ts";

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

const resultOf = (setup: Setup, task: string): RunResult =>
	JSON.parse(readFileSync(join(setup.runs().get(task)?.directory ?? "", "result.json"), "utf8")) as RunResult;

function receiptOf(setup: Setup, task: string): RunReceipt {
	const { receipt } = resultOf(setup, task);
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
async function delegated(setup: Setup, plays: Plays): Promise<Map<string, string[]>> {
	const tasks = Object.keys(plays).map((name) => ({ name, prompt: name }));
	const [result] = await setup.call([{ tool: "delegate_to_subagents", tasks }], plays);
	return linesIn(result?.text ?? "");
}

test("A result says which files a run has changed, by write calls and by commands, and which commands failed (R2, R4)", async (t) => {
	const setup = await createSetup(t, RECEIPTS);
	repository(setup.home, { "src/a.txt": "one\n", "old.txt": "old\n" });
	const lines = await delegated(setup, {
		work: [write("docs/new.md", "a\nb\n"), bash("echo two >> src/a.txt"), bash("rm old.txt && exit 3"), text("Done.")],
		idle: [text("Nothing to do.")],
	});
	assert.deepEqual(lines.get("work"), [
		"  changed docs/new.md (+2 −0), src/a.txt · removed old.txt · last failed: rm old.txt && exit 3 (exit 3)",
	]);
	assert.deepEqual(lines.get("idle"), ["  changed no file"]);
	const receipt = receiptOf(setup, "work");
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
	assert.ok(!existsSync(join(setup.home.project, "old.txt")));
});

test("A child that says it wrote a file and did not is told on, also when it wrote another; one that did, or says it did not, is not (R1)", async (t) => {
	const setup = await createSetup(t, RECEIPTS);
	repository(setup.home, { "src/a.txt": "one\n" });
	const lines = await delegated(setup, {
		liar: [text("I wrote docs/x.md with all you need.")],
		other: [write("docs/y.md", "y\n"), text("Created docs/z.md.")],
		stale: [text("I have updated src/a.txt.")],
		honest: [write("docs/h.md", "h\n"), text("I wrote docs/h.md.")],
		modest: [text("I did not change src/a.txt.")],
		builder: [
			bash("mkdir -p out && echo o > out/o.txt && echo out/ > .git/info/exclude"),
			text("I generated out/o.txt."),
		],
	});
	const says = (path: string) => `  ! it says that it wrote ${path}: nothing shows that`;
	assert.deepEqual(Object.fromEntries(lines), {
		liar: ["  changed no file", says("docs/x.md")],
		other: ["  changed docs/y.md (+1 −0)", says("docs/z.md")],
		stale: ["  changed no file", says("src/a.txt")],
		honest: ["  changed docs/h.md (+1 −0)"],
		modest: ["  changed no file"],
		builder: ["  changed no file"],
	});
	assert.deepEqual(receiptOf(setup, "liar").unseen, ["docs/x.md"]);
});

test("Files changed by commands alone are listed: renamed into place, with their time set back, committed, removed, written and removed again (R2)", async (t) => {
	const setup = await createSetup(t, RECEIPTS);
	const files = ["back", "gone", "kept", "moved", "target"].map((name) => [`${name}.txt`, `${name}\n`]);
	repository(setup.home, Object.fromEntries(files));
	const commit = "git -c user.name=a -c user.email=a@b -c commit.gpgsign=false commit -qam more";
	const lines = await delegated(setup, {
		work: [
			bash("echo x >> back.txt && touch -d 2001-01-01 back.txt"),
			bash("echo new > t.tmp && mv t.tmp target.txt"),
			bash(`echo y >> kept.txt && ${commit}`),
			bash("rm gone.txt && git mv moved.txt renamed.txt"),
			write("brief.txt", "b\n"),
			bash("rm brief.txt"),
			text("Done."),
		],
	});
	assert.deepEqual(
		receiptOf(setup, "work")
			.files.map(({ path, change, how }) => `${change} ${path} by ${how}`)
			.sort(),
		[
			...["added renamed.txt by command", "changed back.txt by command", "changed kept.txt by command"],
			...["changed target.txt by command", "removed brief.txt by tool", "removed gone.txt by command"],
			"removed moved.txt by command",
		],
	);
	const [line = "", ...more] = lines.get("work") ?? [];
	assert.match(line, /^ {2}changed [^·]*\.txt · removed [^·]*\.txt/);
	assert.ok(line.length <= 200);
	assert.deepEqual(more, []);
});

test("Exit codes are the shell's, a masked test is never said to have passed, and every model and token is counted (R4, R5)", async (t) => {
	const setup = await createSetup(t, RECEIPTS);
	setup.home.write("package.json", JSON.stringify({ scripts: { test: "exit 1" } }));
	const used = { usage: { input: 100, output: 7 } };
	const lines = await delegated(setup, {
		codes: [0, 1, 2, 127, 137]
			.map((code): Reply => toolCall("bash", { command: `exit ${code}` }, used))
			.concat(text("Done.", used)),
		masked: [bash("npm test | tail -1"), text("All tests pass.")],
		failed: [bash("npm test --silent"), bash("ls missing"), text("Done.")],
		slow: [toolCall("bash", { command: "sleep 60", timeout: 1 }), text("Done.")],
	});
	const codes = receiptOf(setup, "codes");
	assert.deepEqual(
		codes.commands.map(({ exit }) => exit),
		[0, 1, 2, 127, 137],
	);
	assert.deepEqual(codes.models, ["mock/mock-1"]);
	assert.equal(codes.usage.totalTokens, 6 * 107);
	assert.deepEqual(codes.usage, resultOf(setup, "codes").usage);
	assert.deepEqual(lines.get("masked"), ["  changed no file · tests: npm test | tail -1 (its exit code is hidden)"]);
	assert.deepEqual(lines.get("failed"), [
		"  changed no file · tests: npm test --silent exit 1 · last failed: ls missing (exit 2)",
	]);
	assert.deepEqual(lines.get("slow"), ["  changed no file · last failed: sleep 60 (timed out)"]);
});

test("Three siblings in one checkout write a hundred files: none is put down to a run that did not write it, and none is missed (R3)", async (t) => {
	const setup = await createSetup(t, { settings: { subagents: { receipts: true, maxConcurrency: 3 } } });
	repository(setup.home, { "a.txt": "a\n" });
	const names = ["one", "two", "three"];
	const play = (name: string): Reply[] => [
		...Array.from({ length: 4 }, (_, round) =>
			bash(`for i in 1 2 3 4 5 6 7 8; do echo $i > ${name}-${round}-$i.txt; sleep 0.0${round + 1}; done`),
		),
		write(`${name}-written.txt`, "w\n"),
		bash(`echo late > ${name}-late.txt`),
		text("Done."),
	];
	const lines = await delegated(setup, Object.fromEntries(names.map((name) => [name, play(name)])));
	let exact = 0;
	for (const name of names) {
		const { files, scan } = receiptOf(setup, name);
		assert.deepEqual(scan, { kind: "complete" });
		const own = files.map(({ path }) => path).filter((path) => path.startsWith(`${name}-`));
		const wrote = readdirSync(setup.home.project).filter((path) => path.startsWith(`${name}-`));
		assert.equal(wrote.length, 34);
		assert.deepEqual(own.toSorted(), wrote.toSorted(), `${name} wrote 34 files`);
		for (const { path, by } of files) {
			const writer = path.split("-", 1)[0] ?? "";
			assert.ok(
				by === undefined ? writer === name : by.includes(writer) && by.includes(name),
				`${path} by ${by} in ${name}`,
			);
			if (by === undefined) exact++;
		}
		for (const line of lines.get(name) ?? []) assert.ok(line.length <= 200, line);
	}
	t.diagnostic(`${exact} of 102 files were put down to exactly one run`);
	assert.ok(exact >= 3, "what write calls name is always exact");
});
