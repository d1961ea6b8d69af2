import assert from "node:assert/strict";
import { chmodSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { type Catalog, describeDiagnostic } from "../../src/definitions/catalog.ts";
import { callable, contradictionAmong, findDefinition, namesakes } from "../../src/definitions/lookup.ts";
import type { AgentDefinition, DefinitionKind } from "../../src/domain/definition.ts";
import { createLibrarySetup, type LibrarySetup, markdown } from "./library-setup.ts";

let setup: LibrarySetup;
beforeEach(() => {
	setup = createLibrarySetup();
});
afterEach(() => setup.dispose());

function found(catalog: Catalog, word: DefinitionKind, name: string): AgentDefinition {
	const result = findDefinition(catalog, word, name);
	assert.ok(result.ok, JSON.stringify(result));
	return result.value;
}
const failure = (catalog: Catalog, word: DefinitionKind, name: string): string => {
	const result = findDefinition(catalog, word, name);
	assert.ok(!result.ok);
	return result.error.message;
};
const problems = (catalog: Catalog): string[] =>
	catalog.diagnostics.map((each) => describeDiagnostic(each).replaceAll(setup.root, "~"));

describe("X3: where definitions are found", () => {
	test("Each kind has its global and its project directory (A141, B13, B14)", () => {
		setup.write("agent/agent-profiles/a.md", markdown("a"));
		setup.write("agent/subagents/b.md", markdown("b"));
		setup.write("agent/prompts/c.md", markdown("c"));
		setup.write("project/.pi/agent-profiles/d.md", markdown("d"));
		setup.write("project/.pi/subagents/e.md", markdown("e"));
		setup.write("project/.pi/prompts/f.md", markdown("f"));
		setup.write("project/prompts/g.md", markdown("g"));
		const catalog = setup.load({ flag: "approve" });
		const origins = callable(catalog, "profile").map(({ name, origin }) => `${name} ${origin.scope} ${origin.kind}`);
		assert.deepEqual(origins, [
			"a global profile",
			"b global preset",
			"c global agent",
			"d project profile",
			"e project preset",
			"f project agent",
			"g project agent",
		]);
		assert.deepEqual(catalog.diagnostics, []);
	});

	test("Each word looks in its own kind first, then in the others in the order of the table", () => {
		for (const [directory, body] of [
			["agent-profiles", "p"],
			["subagents", "s"],
			["prompts", "a"],
		]) {
			setup.write(`agent/${directory}/x.md`, `---\nname: x\ndescription: d\n---\n${body}`);
		}
		setup.write("agent/subagents/y.md", markdown("y"));
		setup.write("agent/prompts/y.md", markdown("y"));
		setup.write("agent/agent-profiles/z.md", markdown("z"));
		setup.write("agent/subagents/z.md", markdown("z"));
		const catalog = setup.load();
		assert.deepEqual(
			(["profile", "preset", "agent"] as const).map((word) => found(catalog, word, "x").body),
			["p", "s", "a"],
		);
		assert.equal(found(catalog, "profile", "y").origin.kind, "preset");
		assert.equal(found(catalog, "agent", "z").origin.kind, "profile");
		assert.deepEqual(
			namesakes(catalog, found(catalog, "profile", "x")).map(({ origin }) => origin.kind),
			["preset", "agent"],
		);
	});

	test("A project's definition takes the place of the global one of its kind, and says so (B15, A141, S02)", () => {
		setup.write("agent/agent-profiles/x.md", markdown("x", "model: global"));
		setup.write("project/.pi/agent-profiles/other-name.md", markdown("x", "model: project"));
		setup.write("agent/agent-profiles/y.md", markdown("y"));
		const catalog = setup.load();
		const { model, origin } = found(catalog, "profile", "x");
		assert.equal(model.name, "project");
		assert.deepEqual([origin.scope, origin.shadows], ["project", true]);
		assert.equal(found(catalog, "profile", "y").origin.shadows, false);
	});

	for (const [kind, directory] of [
		["profile", "agent-profiles"],
		["preset", "subagents"],
		["agent", "prompts"],
	] as const) {
		test(`A project's ${kind} wins over the global one of that name [B15, X36]`, () => {
			setup.write(`agent/${directory}/x.md`, markdown("x", "model: global"));
			setup.write(`project/.pi/${directory}/x.md`, markdown("x", "model: project"));
			assert.equal(found(setup.load(), kind, "x").model.name, "project");
		});
	}

	test("The nearest ancestor counts, and only that one (B14)", () => {
		setup.write("project/.pi/agent-profiles/far.md", markdown("far"));
		setup.write("project/sub/.pi/agent-profiles/near.md", markdown("near"));
		const cwd = join(setup.project, "sub", "deep");
		mkdirSync(cwd);
		assert.deepEqual(
			callable(setup.load({ cwd }), "profile").map(({ name }) => name),
			["near"],
		);
	});

	test("A directory that holds only runs hides no presets (B25, W25)", () => {
		setup.write("project/.pi/subagents/x.md", markdown("x"));
		setup.write("project/sub/.pi/subagents/runs/20200101-000000-00000000/meta.json", "{}");
		const cwd = join(setup.project, "sub");
		assert.equal(found(setup.load({ cwd }), "preset", "x").origin.base, setup.project);
	});

	test("Nor does a directory whose name ends in .md (B24)", () => {
		setup.write("project/.pi/subagents/x.md", markdown("x"));
		mkdirSync(join(setup.project, "sub/.pi/subagents/notes.md"), { recursive: true });
		const cwd = join(setup.project, "sub");
		assert.equal(found(setup.load({ cwd }), "preset", "x").origin.base, setup.project);
	});

	test("./prompts counts also where the session's directory is a link (X3)", () => {
		setup.write("project/prompts/x.md", markdown("x"));
		const cwd = join(setup.root, "link");
		symlinkSync(setup.project, cwd);
		const { origin } = found(setup.load({ cwd, flag: "approve" }), "agent", "x");
		assert.equal(origin.path, join(setup.project, "prompts/x.md"));
	});

	test("A directory that is a link in a circle is none", () => {
		mkdirSync(join(setup.project, ".pi"));
		symlinkSync("prompts", join(setup.project, ".pi/prompts"));
		setup.write("agent/prompts/x.md", markdown("x"));
		assert.equal(found(setup.load(), "agent", "x").origin.scope, "global");
	});

	test("The walk up stops before the home directory", () => {
		setup.write(".pi/agent-profiles/home.md", markdown("home"));
		assert.deepEqual(callable(setup.load(), "profile"), []);
	});

	test("Other files, directories of runs and other directories hold no definitions, and none is bundled (B24, B23, B22)", () => {
		assert.deepEqual(callable(setup.load(), "profile"), []);
		setup.wait(5_000);
		setup.write("agent/subagents/README.txt", markdown("a"));
		setup.write("agent/subagents/runs/b.md", markdown("b"));
		setup.write("agent/subagents/.hidden.md", markdown("c"));
		setup.write("agent/subagents/notes.md", "# only notes");
		setup.write("agent/subagents/README.md", "# what this is for");
		setup.write("project/.pi/chains/d.md", markdown("d"));
		mkdirSync(join(setup.agentDirectory, "subagents", "dir.md"));
		const catalog = setup.load();
		assert.deepEqual(callable(catalog, "profile"), []);
		assert.deepEqual(problems(catalog), [
			'~/agent/subagents/notes.md: has no frontmatter, so it is no definition: begin it with lines such as "---", "name: scout" and "---"',
		]);
	});

	test("Prompt templates of pi are left alone, also broken ones (W30)", () => {
		setup.write("agent/prompts/review.md", "---\ndescription: Use when: you like\n---\nreview $1");
		setup.write("agent/prompts/plain.md", "no frontmatter");
		const catalog = setup.load();
		assert.deepEqual([callable(catalog, "agent"), catalog.diagnostics], [[], []]);
	});

	test("A change is seen after five seconds, or at once when the cache is dropped (A144)", () => {
		assert.equal(callable(setup.load(), "profile").length, 0);
		const path = setup.write("agent/agent-profiles/x.md", markdown("x"));
		setup.wait(4_999);
		assert.equal(callable(setup.load(), "profile").length, 0);
		setup.wait(1);
		assert.equal(callable(setup.load(), "profile").length, 1);
		rmSync(path);
		assert.equal(callable(setup.load(), "profile").length, 1);
		const elsewhere = join(setup.root, "elsewhere");
		mkdirSync(elsewhere);
		assert.equal(callable(setup.load({ cwd: elsewhere }), "profile").length, 0);
		setup.library.invalidate();
		assert.equal(callable(setup.load(), "profile").length, 0);
	});
});

describe("what cannot be used", () => {
	test("An unknown name is told with all that there are (A28, A29, X24)", () => {
		assert.equal(failure(setup.load(), "profile", "x"), 'Unknown profile: "x". Available profiles: (none)');
		setup.library.invalidate();
		setup.write("agent/agent-profiles/b.md", markdown("b"));
		setup.write("agent/subagents/a.md", markdown("a"));
		const catalog = setup.load();
		assert.equal(failure(catalog, "profile", "x"), 'Unknown profile: "x". Available profiles: a, b');
		assert.equal(failure(catalog, "preset", "x"), 'Unknown preset: "x". Available presets: a, b');
		assert.equal(failure(catalog, "agent", "X"), 'Unknown agent: "X". Available agents: a, b');
	});

	test("One broken file breaks no other, and is a diagnostic with file and line", () => {
		setup.write("agent/agent-profiles/good.md", markdown("good"));
		setup.write("agent/agent-profiles/bad.md", "---\nname: bad\ndescription: Use when: x\n---\n");
		setup.write("agent/agent-profiles/worse.md", markdown("worse", "thinkingLevel: much"));
		const catalog = setup.load();
		assert.deepEqual(
			callable(catalog, "profile").map(({ name }) => name),
			["good"],
		);
		assert.deepEqual(problems(catalog), [
			"~/agent/agent-profiles/bad.md:3: Nested mappings are not allowed in compact mappings (put quotes around the value)",
			"~/agent/agent-profiles/worse.md:4: thinkingLevel must be one of off, minimal, low, medium, high, xhigh, max",
		]);
	});

	test("A broken file keeps its name: no other definition is taken for it", () => {
		setup.write("agent/agent-profiles/x.md", markdown("x"));
		setup.write("project/.pi/agent-profiles/other.md", "---\nname: x\nmodel: @\n---\n");
		assert.match(failure(setup.load(), "profile", "x"), /^The profile "x" cannot be used: .*project.*other\.md:3: /);
	});

	test("A profile without a name takes none, whatever its file is called, and is told (A122, A123)", () => {
		setup.write("agent/agent-profiles/reviewer.md", markdown("reviewer"));
		setup.write("agent/subagents/planner.md", markdown("planner"));
		setup.write("project/.pi/agent-profiles/reviewer.md", "---\ntitle: Reviewer\n---\n");
		setup.write("project/.pi/agent-profiles/planner.md", "---\ntitle: Planner\nmodel: @\n---\n");
		const catalog = setup.load();
		const { origin } = found(catalog, "profile", "reviewer");
		assert.deepEqual([origin.scope, origin.shadows], ["global", false]);
		assert.equal(found(catalog, "profile", "planner").origin.kind, "preset");
		assert.deepEqual(problems(catalog), [
			"~/project/.pi/agent-profiles/planner.md:3: Plain value cannot start with reserved character @ (put quotes around the value)",
			'~/project/.pi/agent-profiles/reviewer.md:1: the field "name" is missing',
		]);
	});

	test("A preset without a name or without a description takes none, and is told (B17)", () => {
		setup.write("agent/subagents/scout.md", markdown("scout"));
		setup.write("agent/subagents/other.md", markdown("other"));
		setup.write("agent/subagents/third.md", markdown("third"));
		setup.write("project/.pi/subagents/scout.md", "---\nname: other\n---\n");
		setup.write("project/.pi/subagents/mine.md", "---\nname: scout\n---\n");
		setup.write("project/.pi/subagents/third.md", "---\ndescription: third\n---\n");
		const catalog = setup.load();
		for (const name of ["scout", "other", "third"])
			assert.equal(found(catalog, "preset", name).origin.scope, "global", name);
		assert.deepEqual(problems(catalog), [
			'~/project/.pi/subagents/mine.md:1: the field "description" is missing',
			'~/project/.pi/subagents/scout.md:1: the field "description" is missing',
			'~/project/.pi/subagents/third.md:1: the field "name" is missing',
		]);
	});

	test("Nor does a file that cannot be read take the name of its file (A123)", () => {
		setup.write("agent/agent-profiles/big.md", markdown("big"));
		setup.write("project/.pi/agent-profiles/big.md", "x".repeat(1024 * 1024 + 1));
		const catalog = setup.load();
		assert.equal(found(catalog, "profile", "big").origin.scope, "global");
		assert.deepEqual(problems(catalog), ["~/project/.pi/agent-profiles/big.md: is larger than 1024 KB"]);
	});

	test("What cannot be used hides its name from its own word, but not from the lists (X3)", () => {
		setup.write("agent/agent-profiles/x.md", markdown("x", "thinkingLevel: much"));
		setup.write("agent/subagents/x.md", markdown("x"));
		const catalog = setup.load();
		assert.match(failure(catalog, "profile", "x"), /cannot be used/);
		assert.equal(found(catalog, "preset", "x").origin.kind, "preset");
		assert.deepEqual(
			callable(catalog, "profile").map(({ origin }) => origin.kind),
			["preset"],
		);
	});

	test("But a file of another name that says it is x, is x", () => {
		setup.write("agent/agent-profiles/a.md", markdown("x"));
		setup.write("agent/agent-profiles/x.md", "---\nmodel: @\n---\n");
		assert.equal(found(setup.load(), "profile", "x").name, "x");
	});

	test("Of two files with one name the first counts, and the second is told", () => {
		setup.write("agent/agent-profiles/a.md", markdown("x", "model: first"));
		setup.write("agent/agent-profiles/b.md", markdown("x", "model: second"));
		const catalog = setup.load();
		assert.equal(found(catalog, "profile", "x").model.name, "first");
		assert.deepEqual(problems(catalog), [
			'~/agent/agent-profiles/b.md: the name "x" is taken by ~/agent/agent-profiles/a.md',
		]);
	});

	test("A contradiction is told as such, so that the whole call can be refused (A30, A37)", () => {
		setup.write("agent/agent-profiles/x.md", markdown("x", "tools: read", "excludeTools: bash"));
		setup.write("agent/agent-profiles/y.md", markdown("y"));
		const catalog = setup.load();
		assert.match(contradictionAmong(catalog, "profile", ["y", undefined, "x"]) ?? "", /^Profile "x" has both "tools"/);
		assert.equal(contradictionAmong(catalog, "profile", ["y", "nobody", undefined]), undefined);
	});

	test("A literal key that others can read is told, a reference or a private file is not (S16)", () => {
		setup.write("agent/agent-profiles/open.md", markdown("open", "apiKey: sk-open-123456"), 0o644);
		setup.write("agent/agent-profiles/closed.md", markdown("closed", "apiKey: sk-closed-123456"), 0o600);
		setup.write("agent/agent-profiles/ref.md", markdown("ref", "apiKey: $SOME_KEY"), 0o644);
		setup.write("agent/agent-profiles/cmd.md", markdown("cmd", 'apiKey: "!cat key"'), 0o644);
		const catalog = setup.load();
		assert.deepEqual(problems(catalog), [
			"~/agent/agent-profiles/open.md: holds an API key and can be read by others: chmod 600",
		]);
		assert.equal(found(catalog, "profile", "open").apiKey, "sk-open-123456");
		assert.ok(!JSON.stringify(catalog.diagnostics).includes("sk-open"));
	});
});

describe("X29: links", () => {
	beforeEach(() => {
		setup.write("outside/x.md", markdown("x"));
	});

	test("In a project no file may be a link that leaves it (S26)", () => {
		mkdirSync(join(setup.project, ".pi", "agent-profiles"), { recursive: true });
		symlinkSync(join(setup.root, "outside", "x.md"), join(setup.project, ".pi/agent-profiles/x.md"));
		setup.write("project/definitions/y.md", markdown("y"));
		symlinkSync("../../definitions/y.md", join(setup.project, ".pi/agent-profiles/y.md"));
		const catalog = setup.load();
		assert.deepEqual(
			callable(catalog, "profile").map(({ name }) => name),
			["y"],
		);
		assert.deepEqual(problems(catalog), ["~/project/.pi/agent-profiles/x.md: is a link that leaves the project"]);
	});

	test("Nor may its directories be", () => {
		mkdirSync(join(setup.project, ".pi"));
		symlinkSync(join(setup.root, "outside"), join(setup.project, ".pi/agent-profiles"));
		symlinkSync(join(setup.root, "outside"), join(setup.project, ".pi/subagents"));
		const catalog = setup.load();
		assert.deepEqual(callable(catalog, "profile"), []);
		assert.deepEqual(problems(catalog), [
			"~/project/.pi/agent-profiles: is a link that leaves the project",
			"~/project/.pi/subagents: is a link that leaves the project",
		]);
	});

	test("The global ones are followed, and a link that leads in a circle or nowhere is a diagnostic (S26)", () => {
		mkdirSync(join(setup.agentDirectory, "agent-profiles"));
		symlinkSync(join(setup.root, "outside", "x.md"), join(setup.agentDirectory, "agent-profiles/x.md"));
		symlinkSync("loop.md", join(setup.agentDirectory, "agent-profiles/loop.md"));
		symlinkSync("nowhere", join(setup.agentDirectory, "agent-profiles/void.md"));
		const catalog = setup.load();
		assert.deepEqual(
			callable(catalog, "profile").map(({ name }) => name),
			["x"],
		);
		assert.deepEqual(problems(catalog), [
			"~/agent/agent-profiles/loop.md: is a link that leads in a circle",
			"~/agent/agent-profiles/void.md: leads nowhere",
		]);
	});
});

describe("X12: trust is decided for the directory that holds the definition", () => {
	test("S02 case 1: pi refused the project's resources, so its definitions are ignored, and a notice says so", () => {
		setup.write("project/.pi/settings.json", "{}");
		setup.write("project/.pi/agent-profiles/x.md", markdown("x"));
		setup.write("agent/agent-profiles/x.md", markdown("x", "model: global"));
		const catalog = setup.load({ isProjectTrusted: false });
		assert.equal(found(catalog, "profile", "x").model.name, "global");
		assert.deepEqual(problems(catalog), [
			"~/project/.pi/agent-profiles: 1 definition is ignored, because this project is not trusted (trust it with /trust, or start pi with --approve)",
		]);
	});

	test("Case 1: a stored no counts for a project that pi did not have to ask about, and for its sub-directories", () => {
		setup.write("project/.pi/subagents/x.md", markdown("x"));
		setup.write("agent/trust.json", JSON.stringify({ [setup.project]: false }));
		const cwd = join(setup.project, "sub");
		mkdirSync(cwd);
		for (const context of [{}, { cwd }]) {
			const catalog = setup.load(context);
			assert.deepEqual(callable(catalog, "preset"), []);
			assert.equal(catalog.diagnostics.length, 1);
		}
	});

	test("Whoever asks for an ignored definition is told why there is none, and how to have it (X24)", () => {
		setup.write("project/.pi/settings.json", "{}");
		setup.write("project/.pi/subagents/x.md", markdown("x"));
		setup.write("agent/subagents/y.md", markdown("y"));
		const catalog = setup.load({ isProjectTrusted: false });
		assert.equal(
			failure(catalog, "preset", "x"),
			'Unknown preset: "x". Available presets: y. The project has one of this name, which is ignored, because the project is not trusted (trust it with /trust, or start pi with --approve)',
		);
		assert.equal(failure(catalog, "preset", "z"), 'Unknown preset: "z". Available presets: y');
		assert.equal(
			failure(setup.load({ flag: "approve" }), "preset", "z"),
			'Unknown preset: "z". Available presets: x, y',
		);
	});

	test("Case 2: somebody said yes", () => {
		setup.write("project/.pi/agent-profiles/x.md", markdown("x", "extraArgs: --verbose"));
		const trustIn = (context: Parameters<LibrarySetup["load"]>[0]) =>
			found(setup.load(context), "profile", "x").origin.trust;
		assert.equal(trustIn({ flag: "approve" }), "trusted");
		assert.equal(trustIn({ trustsByDefault: true }), "trusted");
		setup.write("agent/trust.json", JSON.stringify({ [setup.project]: true }));
		setup.library.invalidate();
		assert.equal(trustIn({}), "trusted");
	});

	test("S01 case 3: there was nothing to ask about: the definition counts, and knows that nobody decided", () => {
		setup.write("project/.pi/agent-profiles/x.md", markdown("x"));
		assert.equal(found(setup.load(), "profile", "x").origin.trust, "unasked");
	});

	test("A directory of another user is left out (S04)", {
		skip: process.getuid?.() === 0 ? false : "needs root",
	}, async () => {
		const { chownSync } = await import("node:fs");
		setup.write("project/.pi/agent-profiles/x.md", markdown("x"));
		chmodSync(setup.project, 0o777);
		chownSync(join(setup.project, ".pi/agent-profiles"), 12_345, 12_345);
		const catalog = setup.load();
		assert.deepEqual(callable(catalog, "profile"), []);
		assert.deepEqual(problems(catalog), ["~/project/.pi/agent-profiles: belongs to another user"]);
	});
});
