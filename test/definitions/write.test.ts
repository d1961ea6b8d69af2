import assert from "node:assert/strict";
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import fc from "fast-check";
import type { Field } from "../../src/definitions/fields.ts";
import { parseDefinition } from "../../src/definitions/parse.ts";
import {
	type Changes,
	createFile,
	deleteFile,
	type FieldValue,
	renderChanged,
	renderDefinition,
	replaceFile,
} from "../../src/definitions/write.ts";
import { THINKING_LEVELS } from "../../src/domain/definition.ts";
import { ISOLATIONS } from "../../src/domain/isolation.ts";
import { createLibrarySetup, type LibrarySetup } from "./library-setup.ts";

const anyText = fc.oneof(
	fc.string({ unit: "binary", maxLength: 200 }),
	fc.string({ unit: "grapheme", maxLength: 200 }),
	fc
		.array(
			fc.constantFrom(
				"---",
				"\n",
				"\r\n",
				"\r",
				"\t",
				" ",
				": ",
				"- ",
				"#",
				'"',
				"'",
				",",
				"|",
				">",
				"{",
				"[",
				"!",
				"$",
				"\\",
				"\u2028",
				"\uFEFF",
				"\0",
				"é",
				"🎉",
				"a",
			),
			{ maxLength: 30 },
		)
		.map((parts) => parts.join("")),
);
const oneLine = anyText.map((text) => text.trim()).filter((text) => text !== "");
const list = fc.array(anyText, { minLength: 1, maxLength: 4 });
const some = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined });

/** Values as the wizard has them, and as they must be read again. */
const drafts = fc.record({
	description: some(oneLine),
	provider: some(oneLine),
	model: some(oneLine),
	thinkingLevel: some(fc.constantFrom(...THINKING_LEVELS)),
	tools: some(list),
	extensions: some(list),
	noExtensions: some(fc.constant(true)),
	suggestedSkills: some(list),
	loadSkills: some(list),
	noContextFiles: some(fc.constant(true)),
	appendSystemPrompt: some(anyText.filter((text) => text !== "")),
	apiKey: some(oneLine),
	extraArgs: some(list),
	timeout: some(fc.integer({ min: 1, max: 86_400 })),
	fallbackModels: some(list),
	maxTokens: some(fc.integer({ min: 1 })),
	maxCost: some(fc.double({ min: 0.000_001, max: 1_000_000, noNaN: true })),
	maxTurns: some(fc.integer({ min: 1 })),
	mayAsk: some(fc.boolean()),
	isolation: fc.constantFrom(...ISOLATIONS),
	changes: some(fc.constantFrom("branch" as const, "apply" as const)),
});
type Draft = typeof drafts extends fc.Arbitrary<infer T> ? T : never;

const changesOf = (draft: Draft, body: string): Changes => ({
	fields: new Map(Object.entries(draft).filter(([, value]) => value !== undefined) as [Field, FieldValue][]),
	body,
});
const expectedOf = (draft: Draft, body: string) => ({
	name: "x",
	description: draft.description ?? "",
	model: { rule: "own", provider: draft.provider, name: draft.model, thinking: draft.thinkingLevel },
	body: body.replace(/\r\n?/g, "\n").trim(),
	addition: draft.appendSystemPrompt ?? "",
	tools: draft.tools ? { kind: "allow", names: draft.tools } : { kind: "inherit" },
	skills:
		draft.suggestedSkills || draft.loadSkills
			? { kind: "named", suggested: draft.suggestedSkills ?? [], loaded: draft.loadSkills ?? [] }
			: { kind: "inherit" },
	extensions: { discover: !draft.noExtensions, paths: draft.extensions ?? [] },
	contextFiles: draft.noContextFiles ? "none" : "inherit",
	apiKey: draft.apiKey,
	extraArgs: draft.extraArgs ?? [],
	timeoutSeconds: draft.timeout,
	fallbackModels: draft.fallbackModels ?? [],
	budget: { tokens: draft.maxTokens ?? 0, cost: draft.maxCost ?? 0, turns: draft.maxTurns ?? 0 },
	mayAsk: draft.mayAsk ?? true,
	output: undefined,
	isolation: draft.isolation,
	changes: draft.changes,
	promptMode: "replace",
	translated: [],
});

/** What a file on disk can hold: lone surrogates have no encoding. */
const throughDisk = (text: string) => Buffer.from(text, "utf8").toString("utf8");

describe("A154 W21: what is saved is read again, whatever the text", () => {
	test("A new definition", async () => {
		await fc.assert(
			fc.asyncProperty(drafts, anyText, async (draft, body) => {
				const text = throughDisk(await renderDefinition("x", changesOf(draft, body)));
				assert.deepEqual(parseDefinition(text, "profile"), {
					kind: "definition",
					definition: expectedOf(draft, body),
					writtenName: "x",
					warnings: [],
				});
			}),
			{ numRuns: 500 },
		);
	});

	test("A changed one: every field has the new value", async () => {
		await fc.assert(
			fc.asyncProperty(drafts, drafts, anyText, async (before, after, body) => {
				const first = await renderDefinition("x", changesOf(before, "old"));
				const fields = new Map(Object.entries(after) as [Field, FieldValue][]);
				const changed = await renderChanged(first, { fields, body });
				assert.ok(changed.ok);
				const parsed = parseDefinition(throughDisk(changed.value), "profile");
				assert.deepEqual(parsed, {
					kind: "definition",
					definition: expectedOf(after, body),
					writtenName: "x",
					warnings: [],
				});
			}),
			{ numRuns: 300 },
		);
	});

	test("What is not asked about survives: comments, order, fields of other programs, the body (X21)", async () => {
		const text =
			"---\r\n# mine\r\ncolor: red\nname: x\nmodel: a # the cheap one\ntimeout: 5\n---\n\n# Body\n\n  indented\n";
		const changed = await renderChanged(text, { fields: new Map([["model", "b: c"]]), body: undefined });
		assert.deepEqual(changed, {
			ok: true,
			value: '---\n# mine\ncolor: red\nname: x\nmodel: "b: c"\ntimeout: 5\n---\n\n# Body\n\n  indented\n',
		});
	});
});

describe("the file itself", () => {
	let setup: LibrarySetup;
	beforeEach(() => {
		setup = createLibrarySetup();
	});
	afterEach(() => setup.dispose());
	const ok = { ok: true, value: undefined };

	test("The directory is made, a global profile is private, and nothing is left beside it (A154)", () => {
		const path = join(setup.agentDirectory, "agent-profiles", "x.md");
		assert.deepEqual(createFile(path, "text", "private"), ok);
		assert.equal(readFileSync(path, "utf8"), "text");
		assert.equal(statSync(path).mode & 0o777, 0o600);
		assert.deepEqual(readdirSync(join(setup.agentDirectory, "agent-profiles")), ["x.md"]);
	});

	test("A file that is there is not overwritten by a new one", () => {
		const path = setup.write("agent/agent-profiles/x.md", "before");
		assert.deepEqual(createFile(path, "after", "private"), { ok: false, error: `${path} exists already` });
		assert.equal(readFileSync(path, "utf8"), "before");
		assert.deepEqual(readdirSync(join(setup.agentDirectory, "agent-profiles")), ["x.md"]);
	});

	test("A changed file keeps its mode, and a link stays one", () => {
		const target = setup.write("elsewhere/x.md", "before");
		chmodSync(target, 0o640);
		mkdirSync(join(setup.agentDirectory, "agent-profiles"));
		const path = join(setup.agentDirectory, "agent-profiles", "x.md");
		symlinkSync(target, path);
		assert.deepEqual(replaceFile(path, "after"), ok);
		assert.equal(readFileSync(target, "utf8"), "after");
		assert.equal(statSync(target).mode & 0o777, 0o640);
		assert.ok(lstatSync(path).isSymbolicLink());
		assert.deepEqual(deleteFile(path), ok);
		assert.equal(readFileSync(target, "utf8"), "after");
	});
});
