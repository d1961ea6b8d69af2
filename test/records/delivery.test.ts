import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { claimDelivery, isMarkedTold, markTold } from "../../src/records/delivery.ts";

function place(t: TestContext): string {
	const directory = mkdtempSync(join(tmpdir(), "pi-claim-"));
	t.after(() => rmSync(directory, { recursive: true }));
	return directory;
}

/** The pid of a process that is no more. */
const deadPid = () => spawnSync(process.execPath, ["-e", ""]).pid;

describe("who tells of a run's end", () => {
	test("A claim is had once, also by the same process, until it is released (B61, F52)", (t) => {
		const directory = place(t);
		const claim = claimDelivery(directory);
		assert.equal(claim.kind, "taken");
		assert.equal(claimDelivery(directory).kind, "held");
		assert.match(readlinkSync(join(directory, "delivered")), new RegExp(`^${process.pid}\\b`));
		if (claim.kind === "taken") claim.release();
		assert.equal(claimDelivery(directory).kind, "taken");
	});

	test("The claim of a dead process is followed by another, and stays where it is", (t) => {
		const directory = place(t);
		symlinkSync(`${deadPid()}:1`, join(directory, "delivered"));
		symlinkSync("nonsense", join(directory, "delivered-2"));
		assert.equal(claimDelivery(directory).kind, "taken");
		assert.equal(claimDelivery(directory).kind, "held");
		assert.deepEqual(readdirSync(directory).sort(), ["delivered", "delivered-2", "delivered-3"]);
	});

	test("A pid that was given to somebody else since holds nothing (F49)", {
		skip: process.platform !== "linux",
	}, (t) => {
		const directory = place(t);
		symlinkSync(`${process.pid}:1`, join(directory, "delivered"));
		assert.equal(claimDelivery(directory).kind, "taken");
	});

	test("Where nobody can claim, the end is told all the same", (t) => {
		assert.equal(claimDelivery(join(place(t), "gone")).kind, "taken");
	});
});

test("What a process has told is marked, so that whoever claims after its end finds it done (F52)", (t) => {
	const directory = mkdtempSync(join(tmpdir(), "pi-told-"));
	t.after(() => rmSync(directory, { recursive: true, force: true }));
	assert.equal(isMarkedTold(directory), false);
	markTold(directory);
	markTold(directory);
	assert.equal(isMarkedTold(directory), true);
	assert.doesNotThrow(() => markTold(join(directory, "gone")));
});
