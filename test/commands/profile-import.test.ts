import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { parseDefinition } from "../../src/definitions/parse.ts";
import { createHome, type Home } from "../rig/home.ts";
import { type ModelServer, startModelServer } from "../rig/model-server.ts";
import { type ProfileSession, startProfileSession } from "./profile-dialog.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));

let server: ModelServer;
let home: Home;
let session: ProfileSession;

before(async () => {
	server = await startModelServer();
	home = createHome(server);
	home.write(
		".claude/agents/team/reviewer.md",
		`---
name: Code Reviewer
description: Use when: code changed
tools: Read, Grep, WebSearch
model: mock-1
effort: high
maxTurns: 9
isolation: worktree
color: blue
---

You review.
`,
	);
	home.write(".claude/agents/apart.md", "---\nname: apart\ndescription: d\nisolation: container\n---\nYou.");
	home.write(
		".opencode/agent/looker.md",
		"---\ndescription: Looks\nmode: subagent\npermission: {edit: deny, bash: ask}\n---\nYou look.",
	);
	home.write(".opencode/agent/build.md", "---\ndescription: Builds\nmode: primary\n---\nYou build.");
	home.write(
		".pi/agents/adder.md",
		"---\ndescription: Adds\nprompt_mode: append\ninheritSkills: false\n---\nBe brief.",
	);
	session = startProfileSession(home, EXTENSION);
});
after(async () => {
	await session.end();
	await server.close();
	home.dispose();
});

const globalPath = (name: string) => join(home.agentDir, "agent-profiles", `${name}.md`);
const saved = (name: string) => {
	const parsed = parseDefinition(readFileSync(globalPath(name), "utf8"), "profile");
	assert.ok(parsed.kind === "definition", JSON.stringify(parsed));
	return parsed.definition;
};
const importing = (name: string) =>
	session.command(`/profile import ${name}`, [
		[/^Scope$/, `Global (${join(home.agentDir, "agent-profiles")})`],
		[/^Save global profile/, true],
	]);

test("The list marks what cannot be called and what is left out, and names what is not offered", async () => {
	const { notice } = await session.command("/profile list");
	assert.match(notice, /^Code-Reviewer \[project claude\] · mock-1 .* · left out: WebSearch$/m);
	assert.match(notice, /^✗ apart \[project claude\] cannot be called: .*apart\.md:4: "isolation: container"/m);
	assert.match(notice, /^looker \[project opencode\] · the session's model/m);
	assert.match(notice, /^Not offered as sub-agents: build$/m);
	assert.match(notice, /reviewer\.md:3: description is not valid YAML: put quotes around it/);
});

test("Show says what each field of a foreign file became, by either name", async () => {
	for (const name of ["Code-Reviewer", "Code Reviewer"]) {
		const { notice } = await session.command(`/profile show ${name}`);
		assert.match(notice, /fields of the file:\n- name → the name\n- description → the description\n/);
		assert.match(notice, /- tools → tools: read, grep, WebSearch\n- model → the model mock-1\n/);
		assert.match(
			notice,
			/- effort → thinkingLevel: high\n- maxTurns → maxTurns: 9\n- isolation → a tree of its own.*\n- color → not used\n/,
		);
	}
	assert.match((await session.command("/profile show apart")).notice, /cannot be used: .*"isolation: container"/);
});

test("Import writes a profile of ours with the same rights, and never overwrites", async () => {
	assert.match((await importing("Code-Reviewer")).notice, /^Saved global profile "Code-Reviewer"/);
	const { description, model, tools, budget, isolation, body } = saved("Code-Reviewer");
	assert.deepEqual(
		[description, model.name, model.thinking, tools, budget.turns, isolation, body],
		[
			"Use when: code changed",
			"mock/mock-1",
			"high",
			{ kind: "allow", names: ["read", "grep"] },
			9,
			"worktree",
			"You review.",
		],
	);
	writeFileSync(globalPath("looker"), "mine");
	const refused = await session.command("/profile import looker", [
		[/^Scope$/, `Global (${join(home.agentDir, "agent-profiles")})`],
	]);
	assert.match(refused.notice, /looker\.md exists, and is no profile "looker"/);
	assert.equal(readFileSync(globalPath("looker"), "utf8"), "mine");
	assert.match(
		(await session.command("/profile import Code-Reviewer")).notice,
		/is a definition of this package already/,
	);
});

test("Denied tools become a list of those that are left, and a text that is added stays added", async () => {
	await session.command("/profile import adder", [
		[/^Scope$/, `Global (${join(home.agentDir, "agent-profiles")})`],
		[/^Save global profile/, true],
	]);
	const adder = saved("adder");
	assert.deepEqual([adder.addition, adder.body, adder.skills], ["Be brief.", "", { kind: "none" }]);
	const looked = await session.command("/profile import looker", [
		[/^Scope$/, /* the project's */ `Project (${join(home.project, ".pi", "agent-profiles")})`],
		[/^Save project profile/, true],
	]);
	assert.match(looked.notice, /^Saved project profile "looker"/);
	const text = readFileSync(join(home.project, ".pi/agent-profiles/looker.md"), "utf8");
	assert.match(text, /tools:\n {2}- read\n---/);
});

test("What cannot be called is not imported, and nothing is saved without a yes", async () => {
	assert.match((await session.command("/profile import apart")).notice, /^"apart" cannot be imported: .*isolation/);
	assert.match((await session.command("/profile import build")).notice, /^"build" cannot be imported: .*"primary"/);
	assert.match((await session.command("/profile import nobody")).notice, /^Unknown profile: "nobody"/);
	assert.match((await session.command("/profile import adder")).notice, /is a definition of this package already/);
	assert.ok(!existsSync(globalPath("apart")));
});

test("A foreign file is neither edited nor deleted", async () => {
	for (const verb of ["edit", "delete"]) {
		const { notice } = await session.command(`/profile ${verb} apart`);
		assert.match(notice, /^"apart" is a file of another program, .*apart\.md: change it there/);
	}
});
