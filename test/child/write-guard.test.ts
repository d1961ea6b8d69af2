import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { playSchedules } from "./guard-schedules.ts";

let directory: string;
before(() => {
	directory = mkdtempSync(join(tmpdir(), "pi-guard-"));
});
after(() => rmSync(directory, { recursive: true, force: true }));

const seeds = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

describe("random schedules of two and three writers", () => {
	test("None of the changes that were acknowledged is lost in 1,000 schedules (F59)", async () => {
		const { lost, acknowledged } = await playSchedules(directory, seeds(1_000), "guarded");
		assert.deepEqual(lost, []);
		assert.ok(acknowledged > 4_000, String(acknowledged));
	});

	test("The control: without the guard more than a fifth is lost (F59)", async () => {
		const { lost, acknowledged } = await playSchedules(directory, seeds(100), "unguarded");
		assert.ok(lost.length > acknowledged / 5, `${lost.length} of ${acknowledged}`);
	});
});
