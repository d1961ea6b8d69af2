import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import type { Part } from "../../src/plan/file-part.ts";
import { type FileRequest, readFiles } from "../../src/plan/files.ts";

describe("the files of a task", () => {
	let root: string;
	before(() => {
		root = realpathSync(mkdtempSync(join(tmpdir(), "pi-files-")));
		write("five.txt", "one\ntwo\nthree\nfour\nfive\n");
	});
	after(() => rmSync(root, { recursive: true, force: true }));
	const write = (name: string, content: string | Buffer) => writeFileSync(join(root, name), content);
	const block = async (request: FileRequest) => (await readFiles([request], root)).blocks[0];
	const shortfall = async (...requests: FileRequest[]) => (await readFiles(requests, root)).shortfall;
	const all = (path: string): FileRequest => ({ kind: "all", path });
	const range = (start: number, end: number): FileRequest => ({ kind: "range", path: "five.txt", start, end });

	test("The path as it was given, then the text without its last line end (A49, A50, X27)", async () => {
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

	test("A range counts from 1 and includes both ends (A51)", async () => {
		assert.equal(await block(range(2, 3)), "=== five.txt ===\ntwo\nthree");
		assert.equal(await block(range(4, Number.POSITIVE_INFINITY)), "=== five.txt ===\nfour\nfive");
		assert.equal(await block(range(1, 1)), "=== five.txt ===\none");
		assert.equal(await block(range(5, 99)), "=== five.txt ===\nfive");
		assert.equal(await block(range(6, 9)), "[no such lines in five.txt: it has 5 lines]");
		assert.equal(await block(range(3, 2)), "[no such lines in five.txt: start 3 is after end 2]");
	});

	test("Head and tail count lines; the last line end makes no line (A52)", async () => {
		assert.equal(await block({ kind: "head", path: "five.txt", lines: 2 }), "=== five.txt ===\none\ntwo");
		assert.equal(await block({ kind: "tail", path: "five.txt", lines: 2 }), "=== five.txt ===\nfour\nfive");
		assert.equal(await block({ kind: "tail", path: "five.txt", lines: 1 }), "=== five.txt ===\nfive");
		const whole = "=== five.txt ===\none\ntwo\nthree\nfour\nfive";
		assert.equal(await block({ kind: "head", path: "five.txt", lines: 99 }), whole);
		assert.equal(await block({ kind: "tail", path: "five.txt", lines: 99 }), whole);
	});

	test("Paths are relative to the task's directory; absolute ones are taken as they are (A53)", async () => {
		mkdirSync(join(root, "sub"));
		write("sub/in.txt", "inside\n");
		assert.deepEqual((await readFiles([all("in.txt")], join(root, "sub"))).blocks, ["=== in.txt ===\ninside"]);
		const absolute = join(root, "five.txt");
		assert.deepEqual((await readFiles([{ kind: "head", path: absolute, lines: 1 }], join(root, "sub"))).blocks, [
			`=== ${absolute} ===\none`,
		]);
		assert.deepEqual((await readFiles([all("../five.txt")], join(root, "sub"))).blocks, [
			"=== ../five.txt ===\none\ntwo\nthree\nfour\nfive",
		]);
	});

	test("What is not there (A54)", async () => {
		assert.equal(await block(all("gone.txt")), "[file not found: gone.txt]");
		assert.equal(await block(all("five.txt/below")), "[file not found: five.txt/below]");
		symlinkSync("nothing", join(root, "dangling"));
		assert.equal(await block(all("dangling")), "[file not found: dangling]");
	});

	test("What cannot be read: a directory, another encoding, a pipe, no path at all (A55)", async () => {
		mkdirSync(join(root, "directory"));
		write("latin1.txt", Buffer.from([0x66, 0xfc, 0x72]));
		spawnSync("mkfifo", [join(root, "fifo")]);
		symlinkSync("loop", join(root, "loop"));
		const long = "x".repeat(5_000);
		for (const path of ["directory", "latin1.txt", "fifo", "/dev/zero", "loop", "a\0b", long]) {
			assert.equal(await block(all(path)), `[could not read file: ${path}]`);
		}
	});

	test("What this user may not read (A55)", {
		skip: process.getuid?.() === 0 && "root may read everything",
	}, async () => {
		write("locked.txt", "x");
		chmodSync(join(root, "locked.txt"), 0);
		assert.equal(await block(all("locked.txt")), "[could not read file: locked.txt]");
	});

	test("More than 1 MB (A56)", async () => {
		write("limit.txt", "x".repeat(1_048_576));
		assert.equal((await block(all("limit.txt")))?.length, "=== limit.txt ===\n".length + 1_048_576);
		write("over.txt", "x".repeat(1_048_577));
		assert.equal(await block(all("over.txt")), "[file too large: over.txt (1024KB, limit 1024KB)]");
		write("big.txt", "x".repeat(2_500_000));
		assert.equal(await block(all("big.txt")), "[file too large: big.txt (2441KB, limit 1024KB)]");
		const tail: FileRequest = { kind: "tail", path: "big.txt", lines: 1 };
		assert.match(
			(await block(tail)) ?? "",
			/^\[file too large: big\.txt \(\d+KB, limit 1024KB\)\]$/,
			"one endless line",
		);
	});

	test("Head, tail and ranges work on files of any size, and read only what is needed [X38]", async () => {
		const lines = Array.from({ length: 300_000 }, (_, index) => `line ${index + 1} é`);
		for (const [name, text] of [
			["long.log", `${lines.join("\n")}\n`],
			["no-last-end.log", lines.join("\n")],
		] as const) {
			write(name, text);
			const part = async (wanted: Part) => (await block({ ...wanted, path: name }))?.split("\n").slice(1);
			assert.deepEqual(await part({ kind: "head", lines: 2 }), lines.slice(0, 2));
			assert.deepEqual(await part({ kind: "tail", lines: 2 }), lines.slice(-2));
			assert.deepEqual(await part({ kind: "tail", lines: 20_000 }), lines.slice(-20_000));
			assert.deepEqual(await part({ kind: "range", start: 150_000, end: 150_001 }), lines.slice(149_999, 150_001));
			assert.deepEqual(await part({ kind: "range", start: 299_999, end: 999_999 }), lines.slice(-2));
			assert.equal(
				await block({ kind: "range", start: 300_001, end: 300_002, path: name }),
				`[no such lines in ${name}: it has 300000 lines]`,
			);
			assert.match((await block({ kind: "head", lines: 300_000, path: name })) ?? "", /^\[file too large: /);
		}
	});

	test("Every part of a file is what its lines are, whatever its line ends", async () => {
		await fc.assert(
			fc.asyncProperty(
				fc.array(fc.constantFrom("\n", "a", "é", "\r\n", "x".repeat(40_000)), { maxLength: 12 }),
				fc.integer({ min: 1, max: 8 }),
				fc.integer({ min: 0, max: 8 }),
				async (pieces, start, more) => {
					const text = pieces.join("");
					write("random.txt", text);
					const expected = text.replace(/\r?\n$/, "").split("\n");
					const part = async (wanted: Part) =>
						(await block({ ...wanted, path: "random.txt" }))?.replace(/^===.*\n/, "");
					const said = (lines: readonly string[]) => lines.join("\n").replace(/\r$/, "");
					const trimmed = async (wanted: Part) => (await part(wanted))?.replace(/\r$/, "");
					assert.equal(await trimmed({ kind: "head", lines: start }), said(expected.slice(0, start)));
					assert.equal(await trimmed({ kind: "tail", lines: start }), said(expected.slice(-start)));
					if (text === "" || start > expected.length) return;
					const end = start + more;
					assert.equal(await trimmed({ kind: "range", start, end }), said(expected.slice(start - 1, end)));
				},
			),
			{ numRuns: 200 },
		);
	});

	test("A pattern attaches the files that match, sorted, at most 50; a file of that very name wins", async () => {
		mkdirSync(join(root, "glob/deep"), { recursive: true });
		mkdirSync(join(root, "glob/node_modules"));
		mkdirSync(join(root, "glob/dir.ts"));
		for (const name of ["b.ts", "a.ts", "c.md", "deep/d.ts", "node_modules/x.ts", "[id].ts", "i.ts"]) {
			write(`glob/${name}`, `${name}\nsecond\n`);
		}
		const names = async (request: FileRequest) =>
			(await readFiles([request], root)).blocks.map((each) =>
				/^=== (.*) ===\n(.*)$/s.exec(each)?.slice(1, 3).join("|"),
			);
		const head: FileRequest = { kind: "head", lines: 1, path: "glob/?.ts" };
		assert.deepEqual(await names(head), ["glob/a.ts|a.ts", "glob/b.ts|b.ts", "glob/i.ts|i.ts"]);
		assert.equal((await names(all("glob/**/*.ts"))).length, 5, "nothing that is installed, no directory");
		assert.deepEqual(await names({ ...head, path: join(root, "glob/{a,b}.ts") }), [
			`${join(root, "glob/a.ts")}|a.ts`,
			`${join(root, "glob/b.ts")}|b.ts`,
		]);
		assert.deepEqual(await names({ ...head, path: "glob/[id].ts" }), ["glob/[id].ts|[id].ts"]);
		mkdirSync(join(root, "many"));
		for (let number = 0; number < 60; number++) write(`many/${number}.txt`, "x");
		assert.equal((await readFiles([all("many/*")], root)).blocks.length, 50);
		assert.equal(await shortfall(all("many/*")), '50 of 60 files attached: 10 more match "many/*"');
	});

	test("What is missing is counted and named for the status line; with nothing missing there is nothing to say", async () => {
		assert.equal(await shortfall(range(1, 1), all("five.txt")), undefined);
		assert.equal(
			await shortfall(range(1, 1), all("src/*.nope"), range(9, 9)),
			'1 of 3 files attached: "src/*.nope" matches no file; "five.txt" has no such lines: it has 5 lines',
		);
		assert.equal(
			await shortfall(...["a", "b", "c", "d", "e"].map(all)),
			'0 of 5 files attached: "a" was not found; "b" was not found; "c" was not found; 2 more',
		);
	});

	test("Images and other binary files are named as what they are", async () => {
		const zero = Buffer.alloc(4);
		for (const [name, bytes, what] of [
			["logo.png", Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), zero]), "a PNG image"],
			["photo.jpg", Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), zero]), "a JPEG image"],
			["paper.pdf", Buffer.from("%PDF-1.7\n"), "a PDF document"],
			["data.bin", Buffer.concat([Buffer.from("data"), zero]), "a binary file"],
		] as const) {
			write(name, bytes);
			assert.equal(await block(all(name)), `[not attached: ${name} is ${what}]`);
			assert.equal(await shortfall(all(name)), `0 of 1 files attached: "${name}" is ${what}`);
		}
		write("words.txt", "BMW and GIF89a are words\n");
		assert.equal(await shortfall(all("words.txt")), undefined);
	});

	test("Several files keep their order, and what cannot be read fails none of them (A57)", async () => {
		const { blocks } = await readFiles([all("gone"), range(1, 1), all("directory"), range(2, 2)], root);
		assert.deepEqual(blocks, [
			"[file not found: gone]",
			"=== five.txt ===\none",
			"[could not read file: directory]",
			"=== five.txt ===\ntwo",
		]);
		assert.deepEqual(await readFiles([], root), { blocks: [], shortfall: undefined });
	});

	test("Characters beyond ASCII, and a byte order mark, arrive as they are", async () => {
		write("utf8.txt", "\uFEFFStraße 🎉\u2028日本\n");
		assert.equal(await block(all("utf8.txt")), "=== utf8.txt ===\n\uFEFFStraße 🎉\u2028日本");
	});
});
