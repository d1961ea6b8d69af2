import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { planCwd } from "../../src/plan/cwd.ts";

describe("the cwd of a task", () => {
	let root: string;
	before(() => {
		root = realpathSync(mkdtempSync(join(tmpdir(), "pi-cwd-")));
	});
	after(() => rmSync(root, { recursive: true, force: true }));
	const errorOf = (asked: string) => {
		const planned = planCwd(asked, root);
		return planned.ok ? undefined : planned.error;
	};

	test("Is the session's by default, or what was asked for, as it was written (A6)", () => {
		mkdirSync(join(root, "sub"));
		assert.deepEqual(planCwd(undefined, root), { ok: true, value: root });
		assert.deepEqual(planCwd(join(root, "sub"), root), { ok: true, value: join(root, "sub") });
	});

	test("Must be absolute; the raw value is looked at (A7, W9)", () => {
		for (const asked of ["sub", "./sub", "", " /tmp", "~", "~/x"]) {
			assert.equal(errorOf(asked), "cwd must be an absolute path");
		}
	});

	test("Must not contain '..' as a segment; a name with dots in it is fine (A8, W9)", () => {
		for (const asked of [`${root}/..`, `${root}/../x`, "/..", `${root}/a/../b`]) {
			assert.equal(errorOf(asked), "cwd must not contain '..' path segments");
		}
		for (const name of ["a..b", "..a", "a..", "..."]) {
			mkdirSync(join(root, name));
			assert.equal(errorOf(join(root, name)), undefined, name);
		}
	});

	test("A directory that is missing is named; so is what is no directory (X1)", () => {
		assert.equal(errorOf(join(root, "gone")), `cwd does not exist: ${root}/gone`);
		writeFileSync(join(root, "file"), "");
		assert.equal(errorOf(join(root, "file")), `cwd is not a directory: ${root}/file`);
		assert.equal(errorOf(join(root, "file", "below")), `cwd does not exist: ${root}/file/below`);
		symlinkSync(join(root, "nothing"), join(root, "dangling"));
		assert.equal(errorOf(join(root, "dangling")), `cwd does not exist: ${root}/dangling`);
	});

	test("A path that the system refuses is this task's error and nobody else's (A83, W8)", () => {
		symlinkSync("loop", join(root, "loop"));
		assert.match(errorOf(join(root, "loop")) ?? "", /^cwd cannot be used: .*\/loop \(ELOOP\)$/);
		assert.match(errorOf(`/${"x".repeat(5_000)}`) ?? "", /^cwd cannot be used: .* \(ENAMETOOLONG\)$/);
		assert.match(errorOf(`${root}/a\0b`) ?? "", /^cwd cannot be used: /);
	});
});
