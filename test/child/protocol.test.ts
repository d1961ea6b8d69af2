import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { ensureSocketDirectory, socketPathOf } from "../../src/child/protocol.ts";

const RUN_ID = "20310203-040506-0a1b2c3d";

describe("the control socket's place", () => {
	let root: string;
	const own = process.env.TMPDIR;
	before(() => {
		root = mkdtempSync(join(tmpdir(), "pi-socket-"));
	});
	after(() => {
		if (own === undefined) delete process.env.TMPDIR;
		else process.env.TMPDIR = own;
		rmSync(root, { recursive: true, force: true });
	});

	test("Is in the temporary directory, or in /tmp where that would make the path too long for a socket", () => {
		process.env.TMPDIR = root;
		assert.equal(socketPathOf(RUN_ID), join(root, `pi-subagents-${process.getuid?.()}`, RUN_ID));
		process.env.TMPDIR = join(root, "x".repeat(90));
		assert.equal(socketPathOf(RUN_ID), join("/tmp", `pi-subagents-${process.getuid?.()}`, RUN_ID));
		assert.ok(Buffer.byteLength(socketPathOf(RUN_ID)) <= 100);
	});

	test("Is made for its owner alone; one that others could have prepared is refused", () => {
		const directory = join(root, "sockets");
		const before = process.umask(0);
		try {
			ensureSocketDirectory(directory);
		} finally {
			process.umask(before);
		}
		assert.equal(statSync(directory).mode & 0o777, 0o700);
		ensureSocketDirectory(directory);
		chmodSync(directory, 0o770);
		assert.throws(() => ensureSocketDirectory(directory), /mode 0700/);
		mkdirSync(join(root, "elsewhere"), { mode: 0o700 });
		symlinkSync(join(root, "elsewhere"), join(root, "link"));
		assert.throws(() => ensureSocketDirectory(join(root, "link")), /mode 0700/);
	});
});
