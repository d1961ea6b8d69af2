import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type FileRequest, readFiles } from "../../src/plan/files.ts";

describe("the files of a task", () => {
	let root: string;
	before(() => {
		root = realpathSync(mkdtempSync(join(tmpdir(), "pi-files-")));
		write("five.txt", "one\ntwo\nthree\nfour\nfive\n");
	});
	after(() => rmSync(root, { recursive: true, force: true }));
	const write = (name: string, content: string | Buffer) => writeFileSync(join(root, name), content);
	const block = async (request: FileRequest) => (await readFiles([request], root))[0];
	const all = (path: string): FileRequest => ({ kind: "all", path });
	const range = (start: number, end: number): FileRequest => ({ kind: "range", path: "five.txt", start, end });

	test("A49, A50, X27: the path as it was given, then the text without its last line end", async () => {
		assert.equal(await block(all("five.txt")), "=== five.txt ===\none\ntwo\nthree\nfour\nfive");
		assert.equal(await block(all("./five.txt")), "=== ./five.txt ===\none\ntwo\nthree\nfour\nfive");
		write("two-ends.txt", "a\n\n");
		assert.equal(await block(all("two-ends.txt")), "=== two-ends.txt ===\na\n");
		write("crlf.txt", "a\r\nb\r\n");
		assert.equal(await block(all("crlf.txt")), "=== crlf.txt ===\na\r\nb");
		write("empty.txt", "");
		assert.equal(await block(all("empty.txt")), "=== empty.txt ===\n");
		write("no-end.txt", "a\nb");
		assert.equal(await block(all("no-end.txt")), "=== no-end.txt ===\na\nb");
	});

	test("A51: a range counts from 1 and includes both ends", async () => {
		assert.equal(await block(range(2, 3)), "=== five.txt ===\ntwo\nthree");
		assert.equal(await block(range(4, Number.POSITIVE_INFINITY)), "=== five.txt ===\nfour\nfive");
		assert.equal(await block(range(1, 1)), "=== five.txt ===\none");
		assert.equal(await block(range(5, 99)), "=== five.txt ===\nfive");
		assert.equal(await block(range(6, 9)), "=== five.txt ===\n");
		assert.equal(await block(range(3, 2)), "=== five.txt ===\n");
	});

	test("A52: head and tail count lines; the last line end makes no line", async () => {
		assert.equal(await block({ kind: "head", path: "five.txt", lines: 2 }), "=== five.txt ===\none\ntwo");
		assert.equal(await block({ kind: "tail", path: "five.txt", lines: 2 }), "=== five.txt ===\nfour\nfive");
		assert.equal(await block({ kind: "tail", path: "five.txt", lines: 1 }), "=== five.txt ===\nfive");
		const whole = "=== five.txt ===\none\ntwo\nthree\nfour\nfive";
		assert.equal(await block({ kind: "head", path: "five.txt", lines: 99 }), whole);
		assert.equal(await block({ kind: "tail", path: "five.txt", lines: 99 }), whole);
	});

	test("A53: paths are relative to the task's directory; absolute ones are taken as they are", async () => {
		mkdirSync(join(root, "sub"));
		write("sub/in.txt", "inside\n");
		assert.deepEqual(await readFiles([all("in.txt")], join(root, "sub")), ["=== in.txt ===\ninside"]);
		const absolute = join(root, "five.txt");
		assert.deepEqual(await readFiles([{ kind: "head", path: absolute, lines: 1 }], join(root, "sub")), [
			`=== ${absolute} ===\none`,
		]);
		assert.deepEqual(await readFiles([all("../five.txt")], join(root, "sub")), [
			"=== ../five.txt ===\none\ntwo\nthree\nfour\nfive",
		]);
	});

	test("A54: what is not there", async () => {
		assert.equal(await block(all("gone.txt")), "[file not found: gone.txt]");
		assert.equal(await block(all("five.txt/below")), "[file not found: five.txt/below]");
		symlinkSync("nothing", join(root, "dangling"));
		assert.equal(await block(all("dangling")), "[file not found: dangling]");
	});

	test("A55: what cannot be read: a directory, another encoding, a pipe, no path at all", async () => {
		mkdirSync(join(root, "directory"));
		write("latin1.txt", Buffer.from([0x66, 0xfc, 0x72]));
		spawnSync("mkfifo", [join(root, "fifo")]);
		symlinkSync("loop", join(root, "loop"));
		const long = "x".repeat(5_000);
		for (const path of ["directory", "latin1.txt", "fifo", "/dev/zero", "loop", "a\0b", long]) {
			assert.equal(await block(all(path)), `[could not read file: ${path}]`);
		}
	});

	test("A55: what this user may not read", {
		skip: process.getuid?.() === 0 && "root may read everything",
	}, async () => {
		write("locked.txt", "x");
		chmodSync(join(root, "locked.txt"), 0);
		assert.equal(await block(all("locked.txt")), "[could not read file: locked.txt]");
	});

	test("A56: more than 1 MB", async () => {
		write("limit.txt", "x".repeat(1_048_576));
		assert.equal((await block(all("limit.txt")))?.length, "=== limit.txt ===\n".length + 1_048_576);
		write("over.txt", "x".repeat(1_048_577));
		assert.equal(await block(all("over.txt")), "[file too large: over.txt (1024KB, limit 1024KB)]");
		write("big.txt", "x".repeat(2_500_000));
		const tail: FileRequest = { kind: "tail", path: "big.txt", lines: 1 };
		assert.equal(await block(tail), "[file too large: big.txt (2441KB, limit 1024KB)]");
	});

	test("A57: several files keep their order, and what cannot be read fails none of them", async () => {
		const blocks = await readFiles([all("gone"), range(1, 1), all("directory"), range(2, 2)], root);
		assert.deepEqual(blocks, [
			"[file not found: gone]",
			"=== five.txt ===\none",
			"[could not read file: directory]",
			"=== five.txt ===\ntwo",
		]);
		assert.deepEqual(await readFiles([], root), []);
	});

	test("characters beyond ASCII, and a byte order mark, arrive as they are", async () => {
		write("utf8.txt", "\uFEFFStraße 🎉\u2028日本\n");
		assert.equal(await block(all("utf8.txt")), "=== utf8.txt ===\n\uFEFFStraße 🎉\u2028日本");
	});
});
