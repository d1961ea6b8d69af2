import assert from "node:assert/strict";
import {
	chmodSync,
	existsSync,
	lstatSync,
	mkdirSync,
	readFileSync,
	readlinkSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { applyChanges, diffOf, discardChanges, undoChanges } from "../../src/tree/apply.ts";
import { contentOf, git, treeMissing } from "../rig/own-tree.ts";
import { createTreeSetup, type TreeSetup } from "./tree-setup.ts";

let setup: TreeSetup;
let startedAt: number;
beforeEach(() => {
	setup = createTreeSetup();
	startedAt = Date.now() + 60_000; // all that the test wrote was there before
});
afterEach(async () => await setup.dispose());

type Ended = Awaited<ReturnType<TreeSetup["run"]>>;
async function apply({ changes, directory }: Ended) {
	const applied = await applyChanges({ startedAt, changes }, directory);
	assert.ok(applied.ok, JSON.stringify(applied));
	return applied.value;
}
function undo({ directory }: Ended) {
	const undone = undoChanges(directory);
	assert.ok(undone.ok, JSON.stringify(undone));
	return undone.value;
}
const read = (path: string) => readFileSync(join(setup.project, path), "utf8");
const files = () => contentOf(setup.project, [".git"]);

describe("changes of a run that are put into the project", { skip: treeMissing() }, () => {
	test("Written, new, deleted, executable and linked files are applied, and undone to the byte [W5]", async () => {
		for (const path of ["a", "gone/deep", "mode", "dir/x", "tofile/z"]) setup.write(path, `${path}\n`);
		setup.commit();
		setup.write("a", "not committed\n");
		const before = files();
		const run = await setup.run(
			"echo more >> a; rm -r gone; chmod +x mode; echo n > dir/new; mkdir fresh; echo f > fresh/f; ln -s a link; rm -r tofile; echo t > tofile",
		);
		const { applied, conflicts, held } = await apply(run);
		assert.deepEqual(
			[applied, conflicts, held],
			[["a", "dir/new", "fresh/f", "gone/deep", "link", "mode", "tofile", "tofile/z"], [], []],
		);
		assert.equal(read("a"), "not committed\nmore\n");
		assert.equal(existsSync(join(setup.project, "gone")), false);
		assert.equal(readlinkSync(join(setup.project, "link")), "a");
		assert.equal(lstatSync(join(setup.project, "mode")).mode & 0o111, 0o111);
		assert.equal(git(setup.project, "diff", "--cached", "--name-only"), "", "the index is as it was");
		assert.equal(existsSync(join(run.directory, "layers")), false);
		assert.deepEqual(undo(run), { restored: applied, changed: [] });
		assert.deepEqual(files(), before);
		assert.equal(git(setup.project, "rev-parse", "--verify", run.branch).length, 40);
	});

	test("A file that somebody changed since is a conflict and stays; the second of two runs that meet has one [W5]", async () => {
		for (const path of ["both", "deleted", "edited"]) setup.write(path, "start\n");
		setup.commit();
		const first = await setup.run("echo first > both; echo 1 > one");
		const second = await setup.run("echo second > both; rm deleted; echo run > edited; echo run > new");
		assert.deepEqual((await apply(first)).applied, ["both", "one"]);
		setup.write("edited", "by the person\n");
		setup.write("deleted", "changed by the person\n");
		setup.write("new", "by the person\n");
		assert.deepEqual(await apply(second), { applied: [], conflicts: ["both", "deleted", "edited", "new"], held: [] });
		assert.deepEqual([read("both"), read("edited"), read("new")], ["first\n", "by the person\n", "by the person\n"]);
		assert.equal(git(setup.project, "show", `${second.branch}:both`), "second");
		setup.write("edited", "start\n");
		assert.deepEqual((await apply(second)).applied, ["edited"], "what fits later is applied later");
	});

	test("A file that was changed after it was applied is not undone [W5]", async () => {
		for (const path of ["a", "b"]) setup.write(path, "start\n");
		setup.commit();
		const run = await setup.run("echo run > a; echo run > b; echo run > c");
		await apply(run);
		setup.write("b", "mine\n");
		assert.deepEqual(undo(run), { restored: ["a", "c"], changed: ["b"] });
		assert.deepEqual([read("a"), read("b"), existsSync(join(setup.project, "c"))], ["start\n", "mine\n", false]);
	});

	test("A file that somebody changed before the state of the project was written down is a conflict too [W5]", async () => {
		for (const path of ["a", "b"]) setup.write(path, "start\n");
		setup.commit();
		const run = await setup.run("echo run >> a; echo run >> b", {
			afterwards: () => setup.write("a", "start\nby the person\n"),
		});
		assert.deepEqual(run.changes.raced, ["a"]);
		assert.deepEqual(await apply(run), { applied: ["b"], conflicts: ["a"], held: [] });
		assert.equal(read("a"), "start\nby the person\n");
	});

	test("Configuration that programs read, paths below a link and links that leave the project are never applied", async () => {
		setup.write("a", "1\n");
		const outside = join(setup.root, "outside");
		mkdirSync(outside);
		writeFileSync(join(outside, "file"), "mine\n");
		symlinkSync(outside, join(setup.project, "linked"));
		setup.commit();
		const before = contentOf(outside);
		const run = await setup.run(
			[
				"mkdir -p .github .pi .claude/agents sub/.agents .opencode; for d in .github .pi .claude/agents sub/.agents .opencode; do echo x > $d/x; done",
				"echo x > .gitattributes; echo x > sub/.GITmodules; rm linked; mkdir linked; echo x > linked/file",
				"ln -s /etc/passwd absolute; ln -s ../../.. up; ln -s sub inside; echo 2 > a",
			].join("\n"),
		);
		const { applied, conflicts, held } = await apply(run);
		assert.deepEqual(held, [
			...[".claude/agents/x", ".gitattributes", ".github/x", ".opencode/x", ".pi/x", "absolute", "linked/file"],
			...["sub/.GITmodules", "sub/.agents/x", "up"],
		]);
		assert.deepEqual([applied, conflicts], [["a", "inside", "linked"], []]);
		assert.deepEqual(contentOf(outside), before);
	});

	test("Without a repository files are copied where their last change is older than the run", async () => {
		for (const path of ["a", "b", "c"]) setup.write(path, "start\n");
		const run = await setup.run("echo run > a; rm b; echo run > c; echo run > d");
		startedAt = Date.now();
		await new Promise((resolve) => setTimeout(resolve, 20));
		setup.write("c", "mine\n");
		assert.deepEqual(await apply(run), { applied: ["a", "b", "d"], conflicts: ["c"], held: [] });
		assert.deepEqual([read("a"), read("c"), existsSync(join(setup.project, "b"))], ["run\n", "mine\n", false]);
		undo(run);
		assert.deepEqual([read("a"), read("b"), existsSync(join(setup.project, "d"))], ["start\n", "start\n", false]);
	});

	test("A directory that cannot be written is a conflict, and nothing half-written is left", {
		skip: process.getuid?.() === 0 && "root can write everywhere",
	}, async () => {
		setup.write("closed/a", "start\n");
		setup.commit();
		const run = await setup.run("echo run > closed/a");
		chmodSync(join(setup.project, "closed"), 0o555);
		const before = files();
		assert.deepEqual((await apply(run)).conflicts, ["closed/a"]);
		assert.deepEqual(files(), before);
		chmodSync(join(setup.project, "closed"), 0o755);
	});

	test("Diff shows them, discard deletes branch and layer, and leaves a branch that has moved on", async () => {
		setup.write("a", "1\n");
		setup.commit();
		const run = await setup.run("echo 2 > a");
		const ended = { startedAt, changes: run.changes };
		const diff = await diffOf(ended, run.directory);
		assert.match(diff.ok ? diff.value : "", /^diff --git a\/a b\/a\n[\s\S]*\n-1\n\+2$/);
		git(setup.project, "branch", "-f", run.branch, "main");
		assert.equal((await discardChanges(ended, run.directory)).ok, false);
		git(setup.project, "branch", "-f", run.branch, run.changes.at.kind === "branch" ? run.changes.at.commit : "");
		assert.equal((await discardChanges(ended, run.directory)).ok, true);
		assert.equal(git(setup.project, "branch", "--list", "subagents/*"), "");
		assert.equal(existsSync(join(run.directory, "layers")), false);
		assert.equal((await applyChanges(ended, run.directory)).ok, false);
	});
});
