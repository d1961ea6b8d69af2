import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { describeDiagnostic } from "../../src/definitions/catalog.ts";
import { callable, contradictionAmong, findDefinition } from "../../src/definitions/lookup.ts";
import { createLibrarySetup, type LibrarySetup, markdown } from "./library-setup.ts";

let setup: LibrarySetup;
beforeEach(() => {
	setup = createLibrarySetup();
});
afterEach(() => setup.dispose());

const names = () => callable(setup.load(), "profile").map(({ name }) => name);
const problems = () => setup.load().diagnostics.map((each) => describeDiagnostic(each).replaceAll(setup.root, "~"));

describe("subfolders of a definitions directory", () => {
	test("Files are read five folders deep, and a deeper folder is named as not read", () => {
		setup.write("agent/agent-profiles/one/a.md", markdown("a"));
		setup.write("agent/agent-profiles/1/2/3/4/5/b.md", markdown("b"));
		setup.write("agent/agent-profiles/1/2/3/4/5/6/c.md", markdown("c"));
		setup.write("agent/subagents/team/d.md", markdown("d"));
		setup.write("project/prompts/team/e.md", markdown("e"));
		assert.deepEqual(names(), ["a", "b", "d", "e"]);
		assert.deepEqual(problems(), [
			"~/agent/agent-profiles/1/2/3/4/5/6: lies more than 5 folders deep: its files are not read",
		]);
	});

	test("A link to a directory is not followed, and is named; a link to a file is followed as before", () => {
		setup.write("elsewhere/a.md", markdown("a"));
		mkdirSync(join(setup.agentDirectory, "agent-profiles/team"), { recursive: true });
		symlinkSync(join(setup.root, "elsewhere"), join(setup.agentDirectory, "agent-profiles/team/linked"));
		symlinkSync("..", join(setup.agentDirectory, "agent-profiles/team/up"));
		symlinkSync(join(setup.root, "elsewhere/a.md"), join(setup.agentDirectory, "agent-profiles/team/a.md"));
		assert.deepEqual(names(), ["a"]);
		assert.deepEqual(problems(), [
			"~/agent/agent-profiles/team/linked: is a link to a directory: its files are not read",
			"~/agent/agent-profiles/team/up: is a link to a directory: its files are not read",
		]);
	});

	test("Runs is never entered, whether it is a directory or a link to one", () => {
		setup.write("project/.pi/subagents/team/a.md", markdown("a"));
		setup.write("project/.pi/subagents/runs/b.md", markdown("b"));
		setup.write("project/.pi/subagents/team/runs/c.md", markdown("c"));
		setup.write("elsewhere/d.md", markdown("d"));
		mkdirSync(join(setup.agentDirectory, "subagents"));
		symlinkSync(join(setup.root, "elsewhere"), join(setup.agentDirectory, "subagents/runs"));
		assert.deepEqual(names(), ["a"]);
		assert.deepEqual(problems(), []);
	});

	test("Of two files with one name the first path counts, and the other is told", () => {
		setup.write("agent/agent-profiles/a/x.md", markdown("x"));
		setup.write("agent/agent-profiles/b/x.md", markdown("x"));
		assert.deepEqual(names(), ["x"]);
		assert.deepEqual(problems(), [
			'~/agent/agent-profiles/b/x.md: the name "x" is taken by ~/agent/agent-profiles/a/x.md',
		]);
	});

	test("In a project no subfolder leads out of it", () => {
		setup.write("elsewhere/a.md", markdown("a"));
		mkdirSync(join(setup.project, ".pi/agent-profiles/team"), { recursive: true });
		symlinkSync(join(setup.root, "elsewhere/a.md"), join(setup.project, ".pi/agent-profiles/team/a.md"));
		assert.deepEqual(names(), []);
		assert.deepEqual(problems(), ["~/project/.pi/agent-profiles/team/a.md: is a link that leaves the project"]);
	});
});

describe("a definition that cannot be used", () => {
	test("An empty tools field fails the tasks that use it and refuses no other", () => {
		for (const [name, line] of [
			["list", "tools: []"],
			["text", 'tools: ""'],
			["nothing", "tools:"],
			["none", "approved_tools: null"],
			["twice", "tools: read\nallowed_tools: bash"],
		] as const) {
			setup.write(`agent/agent-profiles/${name}.md`, markdown(name, line));
		}
		const catalog = setup.load();
		for (const name of ["list", "text", "nothing", "none", "twice"]) {
			const result = findDefinition(catalog, "profile", name);
			assert.ok(!result.ok, `${name} can be used`);
			assert.equal(result.error.kind, "rejected", name);
			assert.match(result.error.message, /cannot be used: .*(empty|Keep one of them)/);
		}
		assert.equal(contradictionAmong(catalog, "profile", ["list", "twice"]), undefined);
	});

	test("Lists that exclude each other still refuse the whole call", () => {
		setup.write("agent/agent-profiles/x.md", markdown("x", "tools: read", "excludeTools: bash"));
		assert.match(contradictionAmong(setup.load(), "profile", ["x"]) ?? "", /mutually exclusive/);
	});
});

describe("loading is bounded by work, not by the clock", () => {
	test("A thousand definitions are all there, however slow the machine is", () => {
		for (let at = 0; at < 1_000; at++) {
			setup.write(`agent/agent-profiles/d${at}.md`, markdown(`d${at}`, `model: ${"m".repeat(900)}`));
		}
		const before = performance.now;
		let now = 0;
		performance.now = () => (now += 60_000); // every look at the clock finds a minute gone
		try {
			assert.equal(names().length, 1_000);
		} finally {
			performance.now = before;
		}
		assert.deepEqual(problems(), []);
	});

	test("A folder full of YAML that takes long to understand is read in part, and each file that is left out is named", () => {
		const slow = `---\nname: slow\nx: ${'"'.repeat(30_000)}\n---\n`;
		for (let at = 0; at < 12; at++) setup.write(`agent/agent-profiles/a${String(at).padStart(2, "0")}.md`, slow);
		const unread = problems().filter((each) => each.includes("was not read"));
		assert.ok(unread.length > 0 && unread.length < 12, String(unread.length));
	});
});
