import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { resultOf } from "../../src/domain/conclude.ts";
import type { RunResult } from "../../src/domain/run-result.ts";
import { initialState } from "../../src/domain/state.ts";
import { openArtifacts } from "../../src/run-directory/artifacts.ts";

/** A disk of 256 kB, or why there is none. Only root can mount one. */
function smallDisk(t: TestContext): string | undefined {
	const directory = mkdtempSync(join(tmpdir(), "pi-small-disk-"));
	t.after(() => {
		if (mounted) execFileSync("umount", ["--lazy", directory]); // the files of the run are still open
		rmSync(directory, { recursive: true, force: true });
	});
	let mounted = false;
	try {
		execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", directory], { stdio: "pipe" });
		mounted = true;
	} catch (error) {
		t.skip(`a small disk could not be mounted: ${error instanceof Error ? error.message.split("\n")[0] : error}`);
		return undefined;
	}
	return directory;
}

function fill(directory: string): void {
	const { bavail, bsize } = statfsSync(directory);
	writeFileSync(join(directory, "ballast"), Buffer.alloc(bavail * bsize));
}

const resultWith = (text: string): RunResult =>
	resultOf("20260102-030405-0a1b2c3d", initialState, {
		outcome: { kind: "completed", text, end: "natural" },
		exit: { kind: "code", code: 0 },
		endedAt: 1,
		leftovers: [],
		artifactErrors: [],
	});

test("On a disk that fills up while a run goes on its result is still written whole (F41)", (t) => {
	const disk = smallDisk(t);
	if (disk === undefined) return;
	const artifacts = openArtifacts(disk);
	fill(disk);
	artifacts.record(Buffer.alloc(8_192, 0x64), "whole");
	artifacts.flush();
	assert.match(artifacts.errors.join(), /events\.jsonl: ENOSPC/);
	assert.equal(artifacts.result(resultWith("the answer")), undefined);
	assert.deepEqual(JSON.parse(readFileSync(join(disk, "result.json"), "utf8")), {
		...JSON.parse(JSON.stringify(resultWith("the answer"))),
	});
	assert.equal(existsSync(join(disk, ".reserve")), false);
});

test("An answer for which a full disk has no room is written cut, with the reason (F41)", (t) => {
	const disk = smallDisk(t);
	if (disk === undefined) return;
	const artifacts = openArtifacts(disk);
	fill(disk);
	assert.equal(artifacts.result(resultWith("long ".repeat(40_000))), undefined);
	const written = JSON.parse(readFileSync(join(disk, "result.json"), "utf8")) as RunResult;
	assert.equal(written.outcome.kind === "completed" && written.outcome.text.length, 8_000);
	assert.match(written.artifactErrors.join(), /ENOSPC/);
});
