import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";
import { loadSettings } from "../../src/settings/settings.ts";
import { allBlocks, anchorsOf, DOCUMENTS, describeBlock, proseOf, ROOT, readDocument } from "./documents.ts";

test("Every link in the documents leads somewhere, with its anchor", () => {
	let checked = 0;
	for (const file of DOCUMENTS) {
		for (const [, target = ""] of proseOf(file).matchAll(/\]\(([^)\s]+)\)/g)) {
			if (/^https?:/.test(target)) continue;
			const [path = "", anchor] = target.split("#");
			const absolute = path === "" ? join(ROOT, file) : resolve(ROOT, dirname(file), path);
			assert.ok(existsSync(absolute), `${file}: ${target} is not there`);
			if (anchor !== undefined) {
				assert.ok(anchorsOf(relative(ROOT, absolute)).includes(anchor), `${file}: ${target} has no such heading`);
			}
			checked++;
		}
	}
	assert.ok(checked > 30, `only ${checked} links were found`);
});

test("Every document of docs/ can be reached from the README (B70)", () => {
	const reached = new Set<string>();
	const visit = (file: string) => {
		if (reached.has(file)) return;
		reached.add(file);
		for (const [, target = ""] of proseOf(file).matchAll(/\]\(([^)\s#]+\.md)(?:#[^)]*)?\)/g)) {
			if (!/^https?:/.test(target)) visit(relative(ROOT, resolve(ROOT, dirname(file), target)));
		}
	};
	visit("README.md");
	const missing = DOCUMENTS.filter((file) => !reached.has(file) && file !== "AGENTS.md");
	assert.deepEqual(missing, []);
});

test("Files and scripts that the documents name are there", () => {
	const { scripts } = JSON.parse(readDocument("package.json")) as { scripts: Record<string, string> };
	for (const file of DOCUMENTS) {
		for (const [, name = ""] of readDocument(file).matchAll(/npm run ([\w:-]+)/g)) {
			assert.ok(scripts[name], `${file}: npm run ${name}`);
		}
		for (const [, path = ""] of readDocument(file).matchAll(/`((?:src|test|scripts|docs|examples)\/[\w./-]+\.\w+)`/g)) {
			const isExample = /^src\/(auth|server)/.test(path);
			assert.ok(isExample || existsSync(join(ROOT, path)), `${file}: ${path}`);
		}
	}
	assert.ok(readFileSync(join(ROOT, "AGENTS.md"), "utf8").split("\n").length <= 80);
});

const RENAMED: Readonly<Record<string, string>> = {
	idleGraceSeconds: "extend_timeout_debounce",
	repeatedCalls: "looping_tool_count",
};
const WORDS: Readonly<Record<string, string>> = { families: "all", definitionSources: "all" };

/** The settings that the table has, with what it says are their defaults. */
function documentedDefaults(): Map<string, string> {
	const [table = ""] = readDocument("docs/settings.md").split("\n## ");
	const rows = table.matchAll(/^\| ((?:`\w+`(?:, )?)+) \| ([^|]*) \|/gm);
	return new Map(
		[...rows].flatMap(([, keys = "", defaults = ""]) => {
			const values = defaults.split(", ").map((value) => value.replaceAll("`", ""));
			return [...keys.matchAll(/`(\w+)`/g)].map(([, key = ""], index): [string, string] => [key, values[index] ?? ""]);
		}),
	);
}

test("Every setting is in the table with its default, and every example is read without a warning (A157, X19)", (t) => {
	const directory = mkdtempSync(join(tmpdir(), "pi-settings-"));
	t.after(() => rmSync(directory, { recursive: true }));
	const trust = {
		cwd: ROOT,
		agentDirectory: directory,
		isProjectTrusted: true,
		flag: undefined,
		trustsByDefault: true,
	};
	const { refusal, ...settings } = loadSettings(directory, trust).settings;
	assert.equal(refusal, undefined);
	const expected = Object.entries(settings).map(([name, value]): [string, string] => {
		const key = RENAMED[name] ?? name;
		return [key, WORDS[key] ?? JSON.stringify(value) ?? "none"];
	});
	const documented = documentedDefaults();
	assert.deepEqual([...documented].sort(), expected.sort());
	const examples = allBlocks("json").filter(({ text }) => "subagents" in (JSON.parse(text) as object));
	assert.ok(examples.length >= 2);
	for (const block of examples) {
		writeFileSync(join(directory, "settings.json"), block.text);
		assert.deepEqual(loadSettings(directory, trust).warnings, [], describeBlock(block));
		const { subagents } = JSON.parse(block.text) as { subagents: object };
		for (const key of Object.keys(subagents)) assert.ok(documented.has(key), `${describeBlock(block)}: ${key}`);
	}
});
