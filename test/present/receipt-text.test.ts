import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReceiptCommand, ReceiptFile, RunReceipt } from "../../src/domain/receipt.ts";
import { noUsage } from "../../src/domain/usage.ts";
import { receiptLines } from "../../src/present/receipt-text.ts";

const NONE: RunReceipt = {
	...{ files: [], scan: { kind: "complete" }, commands: [], tests: [], models: [], usage: noUsage, unseen: [] },
};
const written = (path: string, added = 1, removed = 0): ReceiptFile => ({
	path,
	change: "changed",
	added,
	removed,
	how: "tool",
});
const found = (path: string, more: Partial<ReceiptFile> = {}): ReceiptFile => ({
	path,
	change: "changed",
	how: "command",
	...more,
});
const command = (text: string, exit: ReceiptCommand["exit"], masked = false): ReceiptCommand => ({
	...{ command: text, exit, ms: 1, masked },
});

test("A receipt is told in a line: files, tests, the last failure; and a warning below it (R6)", () => {
	const [tsc, tests] = [command("npx tsc", 2), command("npm test", 1)];
	assert.deepEqual(
		receiptLines({
			...NONE,
			files: [written("src/a.ts", 40, 7), written("test/a.test.ts", 1)],
			...{ commands: [tests, tsc], tests: [tests], failing: tsc, unseen: ["docs/x.md"] },
		}),
		[
			"changed src/a.ts, test/a.test.ts (+41 −7) · tests: npm test exit 1 · last failed: npx tsc (exit 2)",
			"! it says that it wrote docs/x.md: nothing shows that",
		],
	);
});

test("What is not known is never called unchanged, and a run that cannot write is told nothing of (R6, R8)", () => {
	const incomplete = { kind: "incomplete", why: "git took too long" } as const;
	assert.deepEqual(receiptLines(NONE), ["changed no file"]);
	assert.deepEqual(receiptLines({ ...NONE, scan: incomplete }), ["files: not known"]);
	assert.deepEqual(receiptLines({ ...NONE, scan: incomplete, files: [written("a")] }), [
		"changed a (+1 −0) · other files: not known",
	]);
	assert.deepEqual(receiptLines({ ...NONE, scan: { kind: "read-only" }, unseen: ["x.md"] }), []);
	assert.deepEqual(receiptLines(undefined), []);
});

test("Files that somebody else can have changed name the others, and the same failure is not told twice (R3, R6)", () => {
	const failed = command("npm test", 1);
	assert.deepEqual(
		receiptLines({
			...NONE,
			files: [found("a"), found("b", { by: ["me", "scan"] }), found("c", { by: ["me", "map", "scan"] })],
			...{ tests: [failed], failing: failed },
		}),
		['changed a · perhaps b, c (or "scan", "map" did) · tests: npm test exit 1'],
	);
});

test("A line never has more than 200 characters with its indentation, and a warning never more than 120 (R6)", () => {
	const long = (length: number) => `${"very/long/".repeat(length)}name.ts`;
	const commands = command(`npm test -- ${"x".repeat(300)}\n${"y".repeat(50)}`, 1);
	for (const count of [0, 1, 2, 5, 6, 100]) {
		for (const length of [0, 1, 5, 50]) {
			for (const kind of ["complete", "incomplete"] as const) {
				const files = Array.from({ length: count }, (_, at) => [
					written(`${at}${long(length)}`, 1_000, 1_000),
					found(`f${at}${long(length)}`),
					found(`r${at}${long(length)}`, { change: "removed" }),
					found(`b${at}${long(length)}`, { by: ["me", "another with a very long name indeed", "b", "c", "d"] }),
				]).flat();
				const unseen = Array.from({ length: count }, (_, at) => `${at}${long(length)}`);
				const receipt = { ...NONE, files, unseen, tests: [commands], failing: command(`z${commands.command}`, 2) };
				const lines = receiptLines({ ...receipt, scan: kind === "complete" ? { kind } : { kind, why: "" } });
				const [line = "", warning = ""] = lines;
				assert.ok(line.length + 2 <= 200, `${line.length}: ${line}`);
				assert.ok(warning.length + 2 <= 120, `${warning.length}: ${warning}`);
				assert.ok(!lines.some((each) => each.includes("\n")));
			}
		}
	}
});
