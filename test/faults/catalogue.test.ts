import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

/** Faults, cases of a runaway, invariants, and what an attacker may try: everything that docs/reliability.md speaks of. */
const SERIES = [
	{ letter: "F", count: 59, digits: 2 },
	{ letter: "R", count: 9, digits: 1 },
	{ letter: "I", count: 7, digits: 1 },
	{ letter: "S", count: 29, digits: 2 },
];
const IDS = SERIES.flatMap(({ letter, count, digits }) =>
	Array.from({ length: count }, (_, at) => `${letter}${String(at + 1).padStart(digits, "0")}`),
);
const TESTS = fileURLToPath(new URL("..", import.meta.url));
const PAGE = readFileSync(new URL("../../docs/reliability.md", import.meta.url), "utf8");
const NAMES = /(?:\b(?:test|describe)\(\s*|\bname: )(?:"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g;

/** The ids in the name of a test; `I1–I4` are four. */
function idsIn(name: string): string[] {
	const single = name.match(/\b[FRIS]\d{1,2}\b/g) ?? [];
	const ranges = [...name.matchAll(/\b([FRIS])(\d{1,2})–\1(\d{1,2})\b/g)].flatMap(([, letter, from = "", to]) =>
		Array.from(
			{ length: Number(to) - Number(from) + 1 },
			(_, at) => `${letter}${String(Number(from) + at).padStart(from.length, "0")}`,
		),
	);
	return [...single, ...ranges];
}

/** Which ids the names of the tests of a file have. */
const provenIn: ReadonlyMap<string, ReadonlySet<string>> = new Map(
	readdirSync(TESTS, { recursive: true, encoding: "utf8" })
		.filter((path) => path.endsWith(".test.ts") && !path.endsWith("catalogue.test.ts"))
		.map((path) => {
			const names = [...readFileSync(join(TESTS, path), "utf8").matchAll(NAMES)].map(
				([, plain, marked]) => plain ?? marked,
			);
			return [`test/${path.replaceAll("\\", "/")}`, new Set(names.flatMap((name) => idsIn(name ?? "")))] as const;
		}),
);

/** The rows of the page that begin with an id: what happens, and which files prove it. */
const rows = PAGE.split("\n").flatMap((line) => {
	const [, id, ...cells] = line.split("|").map((cell) => cell.trim());
	if (id === undefined || !/^[FRIS]\d{1,2}$/.test(id)) return [];
	const proof = cells.at(-2) ?? "";
	return [{ id, proof, files: [...proof.matchAll(/`([^`]+\.test\.ts)`/g)].map(([, file = ""]) => `test/${file}`) }];
});

test("Every id of the catalogue has one row in docs/reliability.md, and there are no others", () => {
	assert.deepEqual(rows.map(({ id }) => id).sort(), [...IDS].sort());
});

test("Every row names tests that have its id, or says why there is none", () => {
	for (const { id, proof, files } of rows) {
		if (files.length === 0) assert.match(proof, /^not tested: .{20}/, id);
		for (const file of files) {
			assert.ok(provenIn.has(file), `${id}: ${file} is not there`);
			assert.ok(provenIn.get(file)?.has(id), `${id}: no test of ${file} has it in its name`);
		}
	}
});

test("Every id that a test has in its name is one of the catalogue", () => {
	for (const [file, ids] of provenIn) {
		for (const id of ids) assert.ok(IDS.includes(id), `${file} speaks of ${id}`);
	}
});
