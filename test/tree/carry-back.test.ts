import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { ChangesPlace } from "../../src/domain/changes.ts";
import { removeTree } from "../../src/files/remove-tree.ts";
import { contentOf, git, treeMissing } from "../rig/own-tree.ts";
import { createAlarm, createTreeSetup, type TreeSetup } from "./tree-setup.ts";

let setup: TreeSetup;
beforeEach(() => {
	setup = createTreeSetup();
});
afterEach(async () => await setup.dispose());

/** All of a repository but what a branch adds to it. */
const ofPerson = (directory = setup.project) => contentOf(directory, [".git/objects", ".git/refs/heads/subagents"]);
const changedOn = (branch: string, directory = setup.project) =>
	git(directory, "-c", "core.quotePath=false", "diff", "--name-status", "--no-renames", `${branch}~1`, branch).split(
		"\n",
	);
const stuck = (at: ChangesPlace): string => (at.kind === "stuck" ? at.why : JSON.stringify(at));

describe("what a run changed comes back as a commit", { skip: treeMissing() }, () => {
	test("Files, modes, links, deletions, and directories that were removed, made again or replaced by files [W3]", async () => {
		for (const path of [
			"a",
			"gone",
			"dir/one",
			"dir/two",
			"emptied/x",
			"deep/er/y",
			"tofile/z",
			"todir",
			"mode",
			"same",
		])
			setup.write(path, `${path}\n`);
		setup.commit();
		const before = ofPerson();
		const { changes, branch } = await setup.run(
			[
				"echo more >> a; rm gone; rm -rf dir; mkdir dir; echo 1 > dir/three; rm -rf emptied; mkdir emptied",
				"rm -rf deep; rm -rf tofile; echo f > tofile; rm todir; mkdir todir; echo d > todir/inner; chmod +x mode",
				"echo same > same; ln -s nowhere link; printf '\\000\\001' > binary; mkdir empty; touch a",
			].join("\n"),
		);
		assert.deepEqual(changedOn(branch), [
			...["M\ta", "A\tbinary", "D\tdeep/er/y", "D\tdir/one", "A\tdir/three", "D\tdir/two", "D\temptied/x", "D\tgone"],
			...["A\tlink", "M\tmode", "D\ttodir", "A\ttodir/inner", "A\ttofile", "D\ttofile/z"],
		]);
		assert.equal(git(setup.project, "ls-tree", branch, "mode").slice(0, 6), "100755");
		assert.equal(git(setup.project, "show", `${branch}:link`), "nowhere");
		assert.equal(changes.count, 14);
		assert.deepEqual(ofPerson(), before);
		assert.equal(git(setup.project, "rev-parse", `${branch}~1`), git(setup.project, "rev-parse", "main"));
		assert.equal(git(setup.project, "fsck", "--full", "--strict"), "");
	});

	test("Names with spaces, line breaks, signs and other letters, whatever they look like to git [W3]", async () => {
		setup.commit();
		const names = [
			"with space",
			"new\nline",
			"-dash",
			":(top)x",
			"*.star",
			"grün",
			'quo"te',
			"tab\there",
			"back\\slash",
		];
		const { changes } = await setup.run(names.map((name) => `echo x > './${name}'`).join("\n"));
		assert.deepEqual(changes.files.map(({ path }) => path).sort(), [...names].sort());
	});

	test("What the person changes meanwhile is not among the changes of the run [W3]", async () => {
		for (const path of ["mine", "theirs", "dir/mine"]) setup.write(path, "start\n");
		setup.commit();
		const { branch } = await setup.run("echo run > theirs; echo run > dir/new", {
			afterwards: () => setup.write("dir/mine", "edited by the person\n"),
		});
		assert.deepEqual(changedOn(branch), ["A\tdir/new", "M\ttheirs"]);
	});

	test("Uncommitted, staged and untracked files are in the commit below it; ignored files are counted [W3]", async () => {
		setup.write("tracked", "1\n");
		setup.write(".gitignore", "*.log\n/out/\n");
		setup.commit();
		setup.write("tracked", "2\n");
		setup.write("staged", "s\n");
		git(setup.project, "add", "staged");
		setup.write("loose", "l\n");
		setup.write("old.log", "o\n");
		const { changes, branch } = await setup.run("echo n > new; echo l > b.log; mkdir out; echo o > out/x; rm old.log");
		assert.deepEqual(changedOn(branch), ["A\tnew"]);
		assert.equal(changes.ignored, 3);
		assert.deepEqual(git(setup.project, "diff", "--name-only", "main", `${branch}~1`).split("\n"), [
			"loose",
			"staged",
			"tracked",
		]);
		assert.deepEqual(git(setup.project, "status", "--porcelain").split("\n"), ["A  staged", " M tracked", "?? loose"]);
	});

	test("Nothing of the project's git configuration is run: hooks, monitor, filters, drivers, signing [W3]", async () => {
		const alarm = createAlarm(setup);
		setup.write("file.txt", "one\n");
		setup.write(".gitattributes", "* filter=evil diff=evil merge=evil\n");
		setup.commit();
		for (const [key, value] of [
			["core.fsmonitor", alarm.path],
			["core.hooksPath", join(setup.root, "hooks")],
			["filter.evil.clean", alarm.path],
			["filter.evil.smudge", alarm.path],
			["filter.evil.process", alarm.path],
			["filter.evil.required", "true"],
			["diff.evil.textconv", alarm.path],
			["diff.evil.command", alarm.path],
			["diff.external", alarm.path],
			["commit.gpgSign", "true"],
			["gpg.program", alarm.path],
			["core.pager", alarm.path],
			["core.editor", alarm.path],
			["core.sshCommand", alarm.path],
		])
			git(setup.project, "config", key ?? "", value ?? "");
		mkdirSync(join(setup.root, "hooks"));
		for (const hook of ["reference-transaction", "post-index-change", "pre-commit", "post-commit", "post-checkout"])
			for (const directory of [join(setup.root, "hooks"), join(setup.project, ".git", "hooks")])
				writeFileSync(join(directory, hook), readFileSync(alarm.path), { mode: 0o755 });
		setup.write("file.txt", "one\ndirty\n");
		setup.write("untracked.txt", "u\n");
		const before = ofPerson();
		const { branch } = await setup.run("echo two >> file.txt; echo x > new.txt; rm untracked.txt");
		assert.equal(alarm.rang(), "");
		assert.equal(git(setup.project, "rev-parse", "--verify", branch).length, 40);
		assert.equal(alarm.rang(), ""); // rev-parse runs nothing either, so the alarm is tried below
		assert.deepEqual(ofPerson(), before);
		assert.throws(() => git(setup.project, "status"));
		assert.notEqual(alarm.rang(), "");
	});

	test("A configuration, attributes and a repository that the run itself wrote change nothing about that [W1 W3]", async () => {
		const alarm = createAlarm(setup);
		setup.write("file.txt", "one\n");
		setup.commit();
		const { changes } = await setup.run(
			[
				`git config core.fsmonitor ${alarm.path}; git config filter.evil.clean ${alarm.path}; echo '* filter=evil' > .gitattributes`,
				`printf '#!/bin/sh\\n${alarm.path}\\n' > .git/hooks/reference-transaction; chmod +x .git/hooks/reference-transaction`,
				"echo two > file.txt; mkdir nested; git -C nested init -q; echo x > nested/file",
			].join("\n"),
		);
		assert.deepEqual(
			changes.files.map(({ path }) => path),
			[".gitattributes", "file.txt"],
		);
		assert.deepEqual(changes.leftOut, ["nested"]);
		assert.equal(alarm.rang(), "");
	});

	test("Commits and branches that the run made stay in its layer; what they changed is on the branch [W3]", async () => {
		setup.write("a", "1\n");
		setup.commit();
		const identity = "-c user.name=x -c user.email=x@x";
		const { branch } = await setup.run(`git checkout -q -b side; echo 2 > a; git ${identity} commit -qam inside`);
		assert.deepEqual(changedOn(branch), ["M\ta"]);
		assert.equal(git(setup.project, "branch", "--format=%(refname:short)"), `main\n${branch}`);
	});

	test("A repository without a commit gets a branch whose base has no parent [W3]", async () => {
		git(setup.project, "init", "-q", "-b", "main", ".");
		setup.write("loose", "l\n");
		const { branch } = await setup.run("echo 1 > a");
		assert.deepEqual(changedOn(branch), ["A\ta"]);
		assert.equal(git(setup.project, "rev-list", "--count", branch), "2");
	});

	test("A lock on the person's index is neither waited for nor taken away", async () => {
		setup.write("a", "1\n");
		setup.commit();
		setup.write(".git/index.lock", "");
		const { branch } = await setup.run("echo 2 > a");
		assert.deepEqual(changedOn(branch), ["M\ta"]);
		assert.ok(existsSync(join(setup.project, ".git/index.lock")));
	});

	test("From a subdirectory all of the repository is the project, and its base is whole [W3]", async () => {
		setup.write("top.txt", "t\n");
		setup.write("sub/dir/a", "1\n");
		setup.commit();
		setup.write("top.txt", "changed\n");
		const cwd = join(setup.project, "sub/dir");
		const { branch, output } = await setup.run("pwd; echo 2 > a; echo 3 > ../../other", { cwd });
		assert.equal(output.trim(), cwd);
		assert.deepEqual(changedOn(branch), ["A\tother", "M\tsub/dir/a"]);
		assert.equal(git(setup.project, "show", `${branch}~1:top.txt`), "changed");
	});

	test("In a linked worktree, also of a repository outside of the home, a commit works inside and changes nothing outside [W11]", async () => {
		const main = join(setup.root, "main");
		mkdirSync(main);
		writeFileSync(join(main, "a"), "1\n");
		setup.commit(main);
		const linked = join(setup.home, "linked");
		git(main, "worktree", "add", "-q", linked);
		const before = [ofPerson(main), contentOf(linked)];
		const identity = "-c user.name=x -c user.email=x@x";
		const command = `echo 2 > a; git ${identity} commit -qam inside; git log --oneline`;
		const { branch, output } = await setup.run(command, { cwd: linked });
		assert.match(output, /inside/);
		assert.deepEqual([ofPerson(main), contentOf(linked)], before);
		assert.deepEqual(changedOn(branch, main), ["M\ta"]);
	});

	test("Files of a submodule are named, and not on the branch; a submodule as the project has a branch of its own", async () => {
		const library = join(setup.root, "library");
		mkdirSync(library);
		writeFileSync(join(library, "l"), "1\n");
		setup.commit(library);
		setup.write("a", "1\n");
		setup.commit();
		git(setup.project, "-c", "protocol.file.allow=always", "submodule", "add", "-q", library, "lib");
		git(setup.project, "commit", "-q", "-m", "with a submodule");
		const outer = await setup.run("echo 2 > lib/l; echo 2 > a");
		assert.deepEqual(changedOn(outer.branch), ["M\ta"]);
		assert.deepEqual(outer.changes.leftOut, ["lib"]);
		const cwd = join(setup.project, "lib");
		const inner = await setup.run("echo 3 > l; git status --porcelain", { cwd });
		assert.equal(inner.output, " M l\n");
		assert.deepEqual(changedOn(inner.branch, cwd), ["M\tl"]);
		assert.equal(git(setup.project, "status", "--porcelain"), "");
	});

	test("Without a repository the files are listed, and where they are [W4]", async () => {
		setup.write("a", "1\n");
		setup.write("b", "1\n");
		const { changes, directory } = await setup.run("echo 2 > a; rm b; echo 3 > c");
		const up = join(directory, "layers/project/up");
		assert.deepEqual(changes.at, { kind: "layer", directory: up });
		assert.deepEqual(
			changes.files.map(({ path, status }) => `${status} ${path}`),
			["modified a", "deleted b", "added c"],
		);
		assert.equal(readFileSync(join(up, "c"), "utf8"), "3\n");
		assert.deepEqual(readdirSync(setup.project), ["a", "b"]);
	});

	test("Our own .pi/subagents is never on a branch; other files of .pi are", async () => {
		setup.commit();
		setup.write(".pi/subagents/untracked.md", "u\n");
		const { changes, branch } = await setup.run("echo x > .pi/subagents/evil.md; echo y > .pi/notes");
		assert.deepEqual(changedOn(branch), ["A\t.pi/notes"]);
		assert.deepEqual(changes.leftOut, [".pi/subagents"]);
		assert.equal(git(setup.project, "ls-tree", "-r", "--name-only", branch), ".pi/notes");
	});

	test("Where no branch can be made, the reason and the place of the files are told", async () => {
		setup.write("a", "1\n");
		setup.commit();
		git(setup.project, "branch", "subagents"); // a branch of this name leaves no room for others below it
		const { changes, directory } = await setup.run("echo 2 > a");
		assert.match(stuck(changes.at), /subagents/);
		assert.equal(readFileSync(join(directory, "layers/project/up/a"), "utf8"), "2\n");
	});

	test("Files and directories that the run closed to itself come back, and are removed with the run [W10]", async () => {
		setup.write("a", "1\n");
		setup.commit();
		const { branch, directory } = await setup.run(
			"mkdir closed; echo 1 > closed/x; chmod 000 closed/x closed; mkdir gone; chmod 000 gone",
		);
		assert.deepEqual(changedOn(branch), ["A\tclosed/x"]);
		chmodSync(join(directory, "layers/project/up/closed"), 0o000);
		await removeTree(directory);
		assert.ok(!existsSync(directory));
	});

	test("A file that the person cannot read is left out of the base, and nothing fails because of it", async () => {
		setup.write("a", "1\n");
		setup.commit();
		const secret = setup.write("secret", "s\n", 0o000);
		const { branch } = await setup.run("echo 2 > a");
		assert.deepEqual(changedOn(branch), ["M\ta"]);
		rmSync(secret);
	});
});
