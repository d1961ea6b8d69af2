import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { writeOnce } from "../../src/files/write-once.ts";
import { openArtifacts } from "../../src/run-directory/artifacts.ts";

const MIB = 1024 * 1024;

describe("the files of a run", () => {
	let directory: string;
	beforeEach(() => {
		directory = mkdtempSync(join(tmpdir(), "pi-artifacts-"));
	});
	afterEach(() => rmSync(directory, { recursive: true, force: true }));
	const size = (name: string) => statSync(join(directory, name)).size;

	test("Deltas are kept up to 50 MB of events, whole records always (F36, X7)", () => {
		const artifacts = openArtifacts(directory);
		const delta = Buffer.alloc(MIB, 0x64);
		for (let round = 0; round < 60; round++) {
			artifacts.record(delta, "delta");
			artifacts.flush();
		}
		const kept = size("events.jsonl");
		assert.ok(kept > 50 * MIB && kept < 52 * MIB, `${kept} bytes`);
		artifacts.record(Buffer.from("whole"), "whole");
		artifacts.flush();
		assert.equal(size("events.jsonl"), kept + "whole\n".length);
		assert.deepEqual(artifacts.errors, []);
	});

	test("stdout.log and stderr.log stop growing at 5 MB, and not in the middle of a line (F37)", () => {
		const artifacts = openArtifacts(directory);
		const line = `${"e".repeat(MIB - 1)}\n`;
		for (let round = 0; round < 8; round++) {
			artifacts.stderr(line);
			artifacts.stdout(line);
		}
		for (const name of ["stderr.log", "stdout.log"]) {
			assert.equal(size(name), 5 * MIB);
			assert.ok(readFileSync(join(directory, name)).at(-1) === 10);
		}
	});

	test("Nothing is written before it is flushed, and everything in its order", () => {
		const artifacts = openArtifacts(directory);
		artifacts.record(Buffer.from("one"), "whole");
		artifacts.own({ type: "settled" });
		artifacts.record(Buffer.from("two"), "delta");
		assert.equal(size("events.jsonl"), 0);
		artifacts.flush();
		artifacts.flush();
		const events = readFileSync(join(directory, "events.jsonl"), "utf8");
		assert.equal(events, 'one\n{"type":"subagents","event":{"type":"settled"}}\ntwo\n');
	});

	test("Files are for their owner only, and the owner may write, under any umask", () => {
		const before = process.umask(0o277);
		try {
			openArtifacts(directory);
			assert.equal(writeOnce(directory, "result.json", "x"), undefined);
		} finally {
			process.umask(before);
		}
		for (const name of readdirSync(directory)) {
			assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600, name);
		}
	});

	test("The first writer wins, and what was prepared for the second is taken away (M10)", () => {
		assert.equal(writeOnce(directory, "result.json", "first"), undefined);
		assert.match(writeOnce(directory, "result.json", "second") ?? "", /result\.json: EEXIST/);
		assert.equal(readFileSync(join(directory, "result.json"), "utf8"), "first");
		assert.deepEqual(readdirSync(directory), ["result.json"]);
		assert.match(writeOnce(join(directory, "gone"), "result.json", "x") ?? "", /ENOENT/);
	});
});
