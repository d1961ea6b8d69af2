import assert from "node:assert/strict";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { type Catalog, describeDiagnostic } from "../../src/definitions/catalog.ts";
import { callable, findDefinition, hiddenBy, notOffered, uncallable } from "../../src/definitions/lookup.ts";
import { recallNotices, rememberNotices } from "../../src/definitions/told-notices.ts";
import { DEFINITION_KINDS, FOREIGN_SOURCES } from "../../src/domain/definition.ts";
import { createLibrarySetup, type LibrarySetup, markdown } from "./library-setup.ts";

let setup: LibrarySetup;
beforeEach(() => {
	setup = createLibrarySetup();
});
afterEach(() => setup.dispose());

const where = (catalog: Catalog, word: "profile" | "preset" | "agent", name: string): string => {
	const found = findDefinition(catalog, word, name);
	assert.ok(found.ok, JSON.stringify(found));
	return found.value.origin.path.replace(setup.root, "~");
};
const agent = (name: string, ...lines: readonly string[]) =>
	`---\nname: ${name}\ndescription: d\n${lines.join("\n")}\n---\nYou.`;

/** In the order in which they win. */
const PLACES = [
	"project/.pi/agent-profiles",
	"agent/agent-profiles",
	"project/.pi/subagents",
	"agent/subagents",
	"project/.pi/prompts",
	"project/prompts",
	"agent/prompts",
	"project/.pi/agents",
	"agent/agents",
	"project/.agents/agents",
	".agents/agents",
	"project/.claude/agents",
	".claude/agents",
	"project/.opencode/agent",
	"project/.opencode/agents",
	".config/opencode/agent",
	".config/opencode/agents",
];

describe("X36: the places of other programs' agents", () => {
	test("All are read, with subfolders, and any of the three words reaches them", () => {
		for (const [at, place] of PLACES.entries()) setup.write(`${place}/team/a${at}.md`, markdown(`a${at}`));
		const catalog = setup.load({ flag: "approve" });
		for (const word of DEFINITION_KINDS) {
			for (const [at, place] of PLACES.entries())
				assert.equal(where(catalog, word, `a${at}`), `~/${place}/team/a${at}.md`);
		}
		const sources = new Set(callable(catalog, "profile").map(({ origin }) => origin.kind));
		assert.deepEqual([...sources].sort(), [...DEFINITION_KINDS, ...FOREIGN_SOURCES].sort());
		assert.deepEqual(catalog.diagnostics, []);
	});

	test("Our own win, then the others in their order, a project's before the person's; what is hidden is known", () => {
		for (const place of PLACES) setup.write(`${place}/x.md`, markdown("x"));
		for (let first = 0; first < PLACES.length; first++) {
			if (first > 0) setup.write(`${PLACES[first - 1]}/x.md`, markdown("other"));
			setup.library.invalidate();
			const catalog = setup.load({ flag: "approve" });
			assert.equal(where(catalog, "profile", "x"), `~/${PLACES[first]}/x.md`);
			const found = findDefinition(catalog, "profile", "x");
			const hidden = found.ok ? hiddenBy(catalog, found.value) : [];
			if (first >= 7) assert.equal(hidden.length, PLACES.length - first - 1);
		}
	});

	test("Of two equal names in one place the first path wins, and the other is known as hidden", () => {
		setup.write(".claude/agents/a/x.md", agent("x", "model: first"));
		setup.write(".claude/agents/b/x.md", agent("x", "model: second"));
		const catalog = setup.load();
		assert.equal(where(catalog, "agent", "x"), "~/.claude/agents/a/x.md");
		const found = findDefinition(catalog, "agent", "x");
		assert.deepEqual(found.ok && hiddenBy(catalog, found.value).map(({ path }) => path.replace(setup.root, "~")), [
			"~/.claude/agents/b/x.md",
		]);
		assert.deepEqual(catalog.diagnostics, []);
	});

	test("definitionSources chooses, and ours are always read", () => {
		setup.write(".claude/agents/c.md", agent("c"));
		setup.write("agent/agents/p.md", agent("p"));
		setup.write("agent/agent-profiles/o.md", markdown("o"));
		const { agentDirectory, project } = setup;
		const trust = { cwd: project, agentDirectory, isProjectTrusted: true, flag: undefined, trustsByDefault: false };
		const names = (sources: typeof FOREIGN_SOURCES) =>
			callable(setup.library.load({ agentDirectory, sources, trust }), "profile").map(({ name }) => name);
		assert.deepEqual(names(["claude"]), ["c", "o"]);
		assert.deepEqual(names(["pi"]), ["o", "p"]);
		assert.deepEqual(names([]), ["o"]);
	});

	test("In a project that nobody has decided about, a foreign file hides nothing of the person's own", () => {
		setup.write("project/.claude/agents/x.md", agent("x"));
		setup.write(".config/opencode/agent/x.md", agent("x"));
		setup.write("project/.claude/agents/only.md", agent("only"));
		const catalog = setup.load();
		assert.equal(where(catalog, "profile", "x"), "~/.config/opencode/agent/x.md");
		assert.equal(where(catalog, "profile", "only"), "~/project/.claude/agents/only.md");
		const trusted = setup.load({ flag: "approve" });
		assert.equal(where(trusted, "profile", "x"), "~/project/.claude/agents/x.md");
	});

	test("A project that is not trusted brings none, and that is said", () => {
		setup.write("project/.claude/agents/x.md", agent("x"));
		const catalog = setup.load({ flag: "no-approve" });
		assert.deepEqual(callable(catalog, "profile"), []);
		assert.match(catalog.diagnostics.map(describeDiagnostic).join(), /1 definition is ignored/);
	});

	test("No link of a project leads out of it, here either", () => {
		setup.write("outside/x.md", agent("x"));
		mkdirSync(join(setup.project, ".claude"));
		symlinkSync(join(setup.root, "outside"), join(setup.project, ".claude/agents"));
		mkdirSync(join(setup.project, ".agents/agents"), { recursive: true });
		symlinkSync(join(setup.root, "outside/x.md"), join(setup.project, ".agents/agents/x.md"));
		assert.deepEqual(callable(setup.load(), "profile"), []);
	});

	test("A name as its file writes it can be called while only one file has it", () => {
		setup.write(".claude/agents/a.md", agent('"Code Reviewer"'));
		assert.equal(where(setup.load(), "profile", "Code Reviewer"), "~/.claude/agents/a.md");
		assert.equal(where(setup.load(), "profile", "Code-Reviewer"), "~/.claude/agents/a.md");
		setup.write(".claude/agents/b.md", agent("Code-Reviewer"));
		setup.write(".claude/agents/c.md", agent('"Code  Reviewer"'));
		setup.library.invalidate();
		assert.equal(where(setup.load(), "profile", "Code-Reviewer"), "~/.claude/agents/a.md");
		assert.equal(findDefinition(setup.load(), "profile", "code reviewer").ok, false);
	});

	test("What cannot be called is known before it is called, with its file and line, and hides others of its name", () => {
		setup.write(".claude/agents/x.md", agent("x", "isolation: container"));
		setup.write(".config/opencode/agent/x.md", agent("x"));
		const catalog = setup.load();
		assert.deepEqual(callable(catalog, "profile"), []);
		assert.deepEqual(
			uncallable(catalog).map(({ name, problem }) => [name, problem.line]),
			[["x", 4]],
		);
		const found = findDefinition(catalog, "profile", "x");
		assert.match(
			found.ok ? "" : found.error.message,
			/cannot be used: .*x\.md:4: "isolation: container" cannot be had/,
		);
	});

	test("A primary agent is not offered, and whoever calls it is told why", () => {
		setup.write(".config/opencode/agent/build.md", "---\ndescription: d\nmode: primary\n---\nYou.");
		const catalog = setup.load();
		assert.deepEqual([callable(catalog, "profile"), notOffered(catalog).map(({ name }) => name)], [[], ["build"]]);
		const found = findDefinition(catalog, "preset", "build");
		assert.match(found.ok ? "" : found.error.message, /^The preset "build" is no sub-agent: .*"mode" is "primary"/);
	});
});

describe("what a session start costs", () => {
	test("A stamp changes with every file that would be read, and with the sources and the trust", () => {
		const path = setup.write("project/.claude/agents/x.md", agent("x"));
		setup.write("project/.claude/agents/notes.txt", "none");
		const { agentDirectory, project, library } = setup;
		const trust = { cwd: project, agentDirectory, isProjectTrusted: true, flag: undefined, trustsByDefault: false };
		const stamp = (sources = FOREIGN_SOURCES, flag?: "approve") =>
			library.stamp({ agentDirectory, sources, trust: { ...trust, flag } });
		const stamps = [stamp(), stamp(["pi"]), stamp(FOREIGN_SOURCES, "approve")];
		assert.equal(stamp(), stamps[0]);
		setup.write("project/.claude/agents/x.md", agent("x", "model: opus"));
		stamps.push(stamp());
		setup.write(".claude/agents/team/y.md", agent("y"));
		stamps.push(stamp());
		rmSync(path);
		stamps.push(stamp());
		assert.equal(new Set(stamps).size, stamps.length);
	});

	test("What was told of a project is remembered, others' are kept, and a broken memory is none", () => {
		const told = { stamp: "s", own: "o", foreign: undefined };
		rememberNotices(setup.agentDirectory, "/a", told);
		rememberNotices(setup.agentDirectory, "/b", { ...told, stamp: "t" });
		assert.equal(recallNotices(setup.agentDirectory, "/a")?.own, "o");
		assert.equal(recallNotices(setup.agentDirectory, "/b")?.stamp, "t");
		assert.equal(recallNotices(setup.agentDirectory, "/c"), undefined);
		setup.write("agent/subagents/told-notices.json", "[");
		assert.equal(recallNotices(setup.agentDirectory, "/a"), undefined);
	});
});
