import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	realpathSync,
	renameSync,
	rmSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { type TestContext, test } from "node:test";
import { lookAfter, lookBefore } from "../../../src/child/receipt/scan.ts";
import { CLOCK_LAG_MS } from "../../../src/domain/attribution.ts";
import { until } from "../../rig/until.ts";

const PATIENCE_MS = 60_000;

interface Place {
	readonly root: string;
	write(path: string, text: string): string;
	git(...args: readonly string[]): string;
	/** Looks, has the directory changed, and looks again: what was seen, and why there may be more. */
	seen(
		change: () => void,
		cwd?: string,
	): Promise<{ readonly files: readonly string[]; readonly missing: string | undefined }>;
}

function createPlace(t: TestContext): Place {
	const root = realpathSync(mkdtempSync(join(tmpdir(), "pi-scan-")));
	t.after(() => rmSync(root, { recursive: true, force: true }));
	return {
		root,
		write(path, text) {
			mkdirSync(dirname(join(root, path)), { recursive: true });
			writeFileSync(join(root, path), text);
			return join(root, path);
		},
		git: (...args) =>
			execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", ...args], {
				cwd: root,
				encoding: "utf8",
				stdio: ["ignore", "pipe", "ignore"],
			}),
		async seen(change, cwd = root) {
			const before = await lookBefore(cwd, PATIENCE_MS);
			const since = Date.now();
			change();
			const { sightings, missing } = await lookAfter(before, since, PATIENCE_MS);
			return { files: sightings.map(({ path, change }) => `${change} ${relative(root, path)}`).sort(), missing };
		},
	};
}

/** A file system stamps files with a clock that lags: waits until what is there is older than what a run would write. */
async function settle(): Promise<void> {
	const from = Date.now();
	await until(() => Date.now() > from + 2 * CLOCK_LAG_MS, "the clock to go on");
}

async function createRepository(t: TestContext, files: Readonly<Record<string, string>>): Promise<Place> {
	const place = createPlace(t);
	place.git("init", "-q");
	for (const [path, text] of Object.entries(files)) place.write(path, text);
	place.git("add", "-A");
	place.git("commit", "-qm", "first");
	await settle();
	return place;
}

const FILES = { "a.txt": "a\n", "b.txt": "b\n", "dir/c.txt": "c\n", "dir/d.txt": "d\n", ".gitignore": "out/\n" };

for (const kind of ["a repository", "a plain directory"] as const) {
	const create = async (t: TestContext): Promise<Place> => {
		if (kind === "a repository") return await createRepository(t, FILES);
		const place = createPlace(t);
		for (const [path, text] of Object.entries(FILES)) place.write(path, text);
		await settle();
		return place;
	};

	test(`In ${kind} each way to change a file is seen: written, renamed into place, with its time set back, moved with its directory, removed (R2)`, async (t) => {
		const place = await create(t);
		const { root } = place;
		const { files, missing } = await place.seen(() => {
			place.write("a.txt", "changed\n");
			utimesSync(join(root, "a.txt"), 1, 1);
			place.write("b.tmp", "new\n");
			renameSync(join(root, "b.tmp"), join(root, "b.txt"));
			place.write("new/e.txt", "e\n");
			renameSync(join(root, "dir"), join(root, "moved"));
			symlinkSync("a.txt", join(root, "link"));
		});
		assert.deepEqual(files, [
			...["added link", "added moved/c.txt", "added moved/d.txt", "added new/e.txt"],
			...["changed a.txt", "changed b.txt", "removed dir/c.txt", "removed dir/d.txt"],
		]);
		assert.equal(missing, undefined);
	});

	test(`In ${kind} a run that changes nothing is seen to change nothing, whatever was changed before it (R2)`, async (t) => {
		const place = await create(t);
		place.write("a.txt", "dirty\n");
		place.write("untracked.txt", "u\n");
		rmSync(join(place.root, "b.txt"));
		await settle();
		assert.deepEqual(await place.seen(() => {}), { files: [], missing: undefined });
		assert.deepEqual((await place.seen(() => place.write("dir/new.txt", "n\n"))).files, ["added dir/new.txt"]);
		await settle();
		assert.deepEqual((await place.seen(() => rmSync(join(place.root, "untracked.txt")))).files, [
			"removed untracked.txt",
		]);
	});
}

test("Files that were committed, taken back to the last commit, or left untouched by a commit are told apart (R2)", async (t) => {
	const place = await createRepository(t, FILES);
	place.write("b.txt", "dirty\n");
	await settle();
	const { files } = await place.seen(() => {
		place.write("a.txt", "committed\n");
		place.write("e.txt", "new\n");
		rmSync(join(place.root, "dir/c.txt"));
		place.git("add", "-A", "--", "a.txt", "e.txt", "dir");
		place.git("commit", "-qm", "second");
		place.git("checkout", "-q", "--", "b.txt");
	});
	assert.deepEqual(files, ["added e.txt", "changed a.txt", "changed b.txt", "removed dir/c.txt"]);
	assert.deepEqual((await place.seen(() => place.git("commit", "-q", "--allow-empty", "-m", "third"))).files, []);
});

test("The first commit of a repository, a linked worktree and a subdirectory are looked at as a whole (R2)", async (t) => {
	const fresh = createPlace(t);
	fresh.git("init", "-q");
	await settle();
	const first = await fresh.seen(() => {
		fresh.write("a.txt", "a\n");
		fresh.git("add", "-A");
		fresh.git("commit", "-qm", "first");
	});
	assert.deepEqual(first.files, ["added a.txt"]);
	const place = await createRepository(t, FILES);
	place.git("worktree", "add", "-q", "-b", "other", join(place.root, "out/tree"));
	await settle();
	const linked = await place.seen(() => place.write("out/tree/a.txt", "x\n"), join(place.root, "out/tree"));
	assert.deepEqual(linked.files, ["changed out/tree/a.txt"]);
	const below = await place.seen(() => place.write("a.txt", "x\n"), join(place.root, "dir"));
	assert.deepEqual(below.files, ["changed a.txt"]);
});

const indexOf = ({ root }: Place) =>
	createHash("sha256")
		.update(readFileSync(join(root, ".git/index")))
		.digest("hex");

test("A look executes nothing that a repository names and leaves its index as it is, byte for byte (R8)", async (t) => {
	const place = await createRepository(t, { ...FILES, ".gitattributes": "*.txt filter=evil diff=evil\n" });
	const proof = join(place.root, "out/executed");
	mkdirSync(dirname(proof), { recursive: true });
	const script = place.write("out/evil.sh", `#!/bin/sh\necho "$0 $*" >> ${proof}\ncat\n`);
	chmodSync(script, 0o755);
	for (const hook of ["post-index-change", "fsmonitor-watchman", "post-checkout", "reference-transaction"]) {
		writeFileSync(join(place.root, ".git/hooks", hook), readFileSync(script), { mode: 0o755 });
	}
	const set = (key: string, value: string) => place.git("config", key, value);
	set("core.fsmonitor", script);
	set("diff.external", script);
	set("diff.evil.textconv", script);
	set("diff.evil.command", script);
	set("core.pager", script);
	set("core.sshCommand", script);
	place.write("a.txt", "A\n"); // of the same size, so that only its content tells
	await settle();
	const index = indexOf(place);
	const changed = await place.seen(() => {
		place.write("b.txt", "B\n");
	});
	assert.deepEqual(changed, { files: ["changed b.txt"], missing: undefined });
	assert.ok(!existsSync(proof), existsSync(proof) ? readFileSync(proof, "utf8") : "");
	assert.equal(indexOf(place), index);

	for (const key of ["filter.evil.clean", "filter.evil.process", "filter.evil.smudge"]) set(key, script);
	set("filter.evil.required", "true");
	await settle();
	const filtered = await place.seen(() => place.write("dir/c.txt", "C\n"));
	assert.deepEqual(filtered, { files: ["changed dir/c.txt"], missing: undefined }, "by walking");
	assert.ok(!existsSync(proof));
	assert.equal(indexOf(place), index);
	// The control: git as it is would have executed it.
	assert.throws(() => place.git("status"), "its filter is broken, and required");
	assert.match(readFileSync(proof, "utf8"), /evil/);
});

test("A repository that gets filters, or is broken, while the run works is looked at without git, and the rest is not known (R8)", async (t) => {
	const place = await createRepository(t, FILES);
	const proof = join(place.root, "out/executed");
	const filtered = await place.seen(() => {
		place.write("a.txt", "A\n");
		mkdirSync(dirname(proof), { recursive: true });
		place.git("config", "filter.x.clean", `touch ${proof}`);
		place.write(".gitattributes", "* filter=x\n");
	});
	assert.deepEqual(filtered.files, ["changed .gitattributes", "changed a.txt"]);
	assert.match(filtered.missing ?? "", /names filters/);
	assert.ok(!existsSync(proof));
	place.git("config", "--remove-section", "filter.x");
	await settle();
	const broken = await place.seen(() => {
		place.write("b.txt", "B\n");
		writeFileSync(join(place.root, ".git/index"), "not an index");
	});
	assert.deepEqual(broken.files, ["changed b.txt"]);
	assert.notEqual(broken.missing, undefined);
});

test("A repository that is locked, or was broken before, is looked at all the same (R8)", async (t) => {
	const place = await createRepository(t, FILES);
	writeFileSync(join(place.root, ".git/index.lock"), "");
	assert.deepEqual((await place.seen(() => place.write("a.txt", "A\n"))).files, ["changed a.txt"]);
	writeFileSync(join(place.root, ".git/HEAD"), "nonsense");
	await settle();
	assert.deepEqual(await place.seen(() => place.write("b.txt", "B\n")), {
		files: ["changed b.txt"],
		missing: undefined,
	});
});

test("A directory that is too large is not known, and one that takes too long costs no more than the limit (R8)", async (t) => {
	const place = createPlace(t);
	for (let directory = 0; directory < 21; directory++) {
		mkdirSync(join(place.root, `d${directory}`));
		for (let file = 0; file < 1_000; file++) writeFileSync(join(place.root, `d${directory}`, `${file}`), "");
	}
	const { files, missing } = await place.seen(() => place.write("a.txt", "a\n"));
	assert.deepEqual([files, missing], [[], "there are more than 20000 files"]);
	const repository = await createRepository(t, FILES);
	const before = await lookBefore(repository.root, 0);
	assert.deepEqual(before, { kind: "unknown", why: "git took too long" });
	assert.deepEqual(await lookAfter(before, Date.now(), PATIENCE_MS), { sightings: [], missing: "git took too long" });
});

test("The person's own filters are switched off, not executed (R8)", async (t) => {
	const place = await createRepository(t, FILES);
	const proof = join(place.root, "out/executed");
	mkdirSync(dirname(proof), { recursive: true });
	const own = place.write("out/gitconfig", `[filter "lfs"]\n\tclean = touch ${proof}; cat\n\trequired = true\n`);
	const before = process.env.HOME;
	const home = dirname(place.write("out/home/.gitconfig", readFileSync(own, "utf8")));
	process.env.HOME = home;
	t.after(() => {
		process.env.HOME = before;
	});
	place.write(".git/info/attributes", "*.txt filter=lfs\n");
	assert.deepEqual((await place.seen(() => place.write("a.txt", "A\n"))).files, ["changed a.txt"]);
	assert.ok(!existsSync(proof));
	place.git("status");
	assert.ok(existsSync(proof), "git as it is would have executed it");
});
