import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";

const SRC = fileURLToPath(new URL("../src/", import.meta.url));

/** What the files of each folder may import of ours, beside their own folder: a folder, or one file. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
	domain: [],
	files: ["domain"],
	"run-directory": ["domain", "files", "child/presence.ts", "child/protocol.ts"],
	tree: ["domain", "files", "child/protocol.ts", "child/slot-tickets.ts"],
	child: ["domain", "files", "run-directory", "tree"],
	definitions: ["domain"],
	plan: ["domain", "run-directory/names.ts", "run-directory/places.ts", "definitions", "settings"],
	run: [
		"domain",
		"files",
		"run-directory",
		"tree",
		"child/presence.ts",
		"child/protocol.ts",
		"child/run-processes.ts",
		"child/scripts.ts",
		"child/stop-ladder.ts",
	],
	records: ["domain", "files", "run-directory/names.ts"],
	present: ["domain", "run-directory/names.ts"],
	pane: ["domain", "run-directory", "run", "present"],
	session: ["domain", "files", "run-directory", "run", "records", "present"],
	"head-start": [
		"domain",
		"files",
		"run-directory",
		"child/scripts.ts",
		"plan",
		"run",
		"call/host.ts",
		"tools/background-schema.ts",
		"tools/delegate-schema.ts",
		"tools/subagent-schema.ts",
	],
	call: [
		"domain",
		"run-directory",
		"child/protocol.ts",
		"child/scripts.ts",
		"definitions",
		"plan",
		"run",
		"records",
		"present",
		"session",
		"head-start",
		"settings",
		"agent-directory.ts",
	],
	tools: [
		"domain",
		"run-directory",
		"definitions",
		"plan",
		"run",
		"present",
		"session",
		"call",
		"settings",
		"agent-directory.ts",
	],
	commands: [
		"domain",
		"files",
		"run-directory",
		"child/protocol.ts",
		"child/scripts.ts",
		"tree",
		"definitions",
		"run",
		"present",
		"session",
		"settings",
	],
	settings: ["domain", "definitions"],
	"agent-directory.ts": [],
	"host.ts": [
		"run-directory",
		"definitions",
		"records",
		"present",
		"session",
		"head-start",
		"call",
		"commands",
		"agent-directory.ts",
	],
	"after-start.ts": [
		"run-directory",
		"definitions",
		"plan",
		"run",
		"present",
		"session",
		"call",
		"agent-directory.ts",
		"host.ts",
	],
	"index.ts": [
		"domain",
		"plan",
		"records",
		"present",
		"session",
		"call",
		"tools",
		"commands",
		"settings",
		"agent-directory.ts",
		"host.ts",
		"after-start.ts",
	],
};

/** Who may use pi's packages for more than types. How wide a text is on the screen, pi-tui tells all of `present`. */
const MEASURES_TEXT = /^present\//;
const KNOWS_PI = [
	/^index\.ts$/,
	/^agent-directory\.ts$/,
	/^(tools|call|commands|session)\//,
	/^present\/.*-view\.ts$/,
	/^definitions\//,
	/^child\/extension(-runner)?\.ts$/,
];

interface Import {
	readonly from: string;
	readonly specifier: string;
	readonly typeOnly: boolean;
}

const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
const imports = files.flatMap((from) => importsOf(from, readFileSync(join(SRC, from), "utf8")));

function importsOf(from: string, text: string): Import[] {
	const statements = text.matchAll(/^\s*(?:import|export)\s+(type\s+)?([^"';]*?)\s*from\s+"([^"]+)"/gm);
	const found = [...statements].map(([, type, names = "", specifier = ""]) => ({
		from,
		specifier,
		typeOnly: type !== undefined || isListOfTypes(names),
	}));
	const others = text.matchAll(/(?:^\s*import|\bimport\s*\()\s*"([^"]+)"/gm);
	return [...found, ...[...others].map(([, specifier = ""]) => ({ from, specifier, typeOnly: false }))];
}

function isListOfTypes(names: string): boolean {
	const list = /^\{(.*)\}$/s.exec(names)?.[1];
	if (list === undefined) return false;
	return list
		.split(",")
		.map((name) => name.trim())
		.filter((name) => name !== "")
		.every((name) => name.startsWith("type "));
}

const placeOf = (file: string) => (file.includes("/") ? (file.split("/")[0] ?? "") : file);

const arrows = imports
	.filter(({ specifier }) => specifier.startsWith("."))
	.map(({ from, specifier }) => ({ from, to: relative(SRC, resolve(SRC, dirname(from), specifier)) }))
	.filter(({ from, to }) => placeOf(from) !== placeOf(to));
const isArrow = (to: string, allowed: string) => allowed === to || allowed === placeOf(to);

describe("architecture", () => {
	test("Every import of ours was understood", () => {
		assert.ok(imports.length > files.length);
		for (const file of files) {
			const text = readFileSync(join(SRC, file), "utf8");
			const written = text.match(/^\s*(?:import|export)\b[^;]*?\bfrom\s+"/gm)?.length ?? 0;
			assert.equal(imports.filter(({ from }) => from === file).length >= written, true, file);
		}
	});

	test("Imports between the folders go one way", () => {
		const wrong = arrows
			.filter(({ from, to }) => !(MAY_IMPORT[placeOf(from)] ?? []).some((allowed) => isArrow(to, allowed)))
			.map(({ from, to }) => `${from} → ${to}`);
		assert.deepEqual(wrong, []);
	});

	test("Only imports that exist are allowed", () => {
		const unused = Object.entries(MAY_IMPORT).flatMap(([place, allowed]) =>
			allowed
				.filter((each) => !arrows.some(({ from, to }) => placeOf(from) === place && isArrow(to, each)))
				.map((each) => `${place} → ${each}`),
		);
		assert.deepEqual(unused, []);
	});

	test("Every folder has its place in the order", () => {
		assert.deepEqual(
			[...new Set(files.map(placeOf))].filter((place) => MAY_IMPORT[place] === undefined),
			[],
		);
	});

	test("Only the edges know pi: all else takes no more than types from its packages", () => {
		const wrong = imports
			.filter(({ specifier, typeOnly }) => specifier.startsWith("@earendil-works/") && !typeOnly)
			.filter(({ from, specifier }) => !(specifier.endsWith("/pi-tui") && MEASURES_TEXT.test(from)))
			.filter(({ from }) => !KNOWS_PI.some((pattern) => pattern.test(from)))
			.map(({ from, specifier }) => `${from} → ${specifier}`);
		assert.deepEqual(wrong, []);
	});

	test("The programs outside of pi load nothing that has to be installed", () => {
		const reached = new Set<string>();
		const packages = new Set<string>();
		const visit = (file: string) => {
			if (reached.has(file)) return;
			reached.add(file);
			const used = imports.filter(({ from, typeOnly }) => from === file && !typeOnly).map(({ specifier }) => specifier);
			const [own, others] = [true, false].map((ours) => used.filter((each) => each.startsWith(".") === ours));
			for (const specifier of own ?? []) visit(relative(SRC, resolve(SRC, dirname(file), specifier)));
			for (const specifier of others ?? []) packages.add(specifier);
		};
		visit("child/supervisor.ts");
		visit("pane/show.ts");
		assert.ok(reached.has("domain/state.ts"));
		assert.deepEqual(
			[...packages].filter((name) => !name.startsWith("node:")),
			[],
		);
	});
});
