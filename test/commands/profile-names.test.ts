import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createHome, type Home } from "../rig/home.ts";
import { type ModelServer, startModelServer } from "../rig/model-server.ts";
import { type Answer, type ProfileSession, startProfileSession } from "./profile-dialog.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));

let server: ModelServer;
let home: Home;
let session: ProfileSession;

beforeEach(async () => {
	server = await startModelServer();
	home = createHome(server);
});
afterEach(async () => {
	await session.end();
	await server.close();
	home.dispose();
});

const globalPath = (name: string) => join(home.agentDir, "agent-profiles", `${name}.md`);
const projectPath = (name: string) => join(home.project, ".pi", "agent-profiles", `${name}.md`);
const write = (path: string, ...lines: readonly string[]) => home.write(path, `---\n${lines.join("\n")}\n---\n`);
const inGlobal = (): [RegExp, Answer] => [/^Scope/, `Global (${join(home.agentDir, "agent-profiles")})`];
const inProject = (): [RegExp, Answer] => [/^Scope/, `Project (${join(home.project, ".pi", "agent-profiles")})`];

describe("/profile and a file that cannot be used", () => {
	test("Edit, show and create name the file to mend, and do not send in a circle (A149)", async () => {
		write(globalPath("some-file"), "name: broken", "thinkingLevel: zzz");
		write(globalPath("torn"), "name: torn", "tools: read", "excludeTools: bash");
		session = startProfileSession(home, EXTENSION);
		const whatToDo = (name: string) => `\nMend that file in an editor, or remove it with /profile delete ${name}`;
		const wrong = `${globalPath("some-file")}:3: thinkingLevel must be one of off, minimal, low, medium, high, xhigh, max`;
		for (const verb of ["edit", "show"]) {
			assert.equal(
				(await session.command(`/profile ${verb} broken`)).notice,
				`The profile "broken" cannot be used: ${wrong}${whatToDo("broken")}`,
			);
			const torn = (await session.command(`/profile ${verb} torn`)).notice;
			const start = `The profile "torn" cannot be used: ${globalPath("torn")}:4: Profile "torn" has both "tools"`;
			assert.ok(torn.startsWith(start) && torn.endsWith(whatToDo("torn")), torn);
		}
		assert.equal(
			(await session.command("/profile create broken", [inGlobal()])).notice,
			`"broken" exists, but cannot be used: ${wrong}${whatToDo("broken")}`,
		);
	});

	test("Delete asks and deletes it all the same, and says which file (A150)", async () => {
		write(globalPath("some-file"), "name: broken", "thinkingLevel: zzz");
		write(globalPath("torn"), "name: torn", "tools: read", "excludeTools: bash");
		write(projectPath("half"), "name: half", "model: @");
		session = startProfileSession(home, EXTENSION);
		const declined = await session.command("/profile delete broken", [
			[/^Delete the global profile "broken"\?$/, false],
		]);
		assert.equal(declined.notice, "Nothing was deleted.");
		assert.equal(declined.dialogs[0]?.message, globalPath("some-file"));
		for (const [name, path] of [
			["broken", globalPath("some-file")],
			["torn", globalPath("torn")],
			["half", projectPath("half")],
		] as const) {
			const { notice } = await session.command(`/profile delete ${name}`, [[/^Delete the (global|project)/, true]]);
			assert.match(notice, /^Deleted the (global|project) profile/);
			assert.ok(notice.endsWith(`profile "${name}": ${path}`), notice);
			assert.equal(existsSync(path), false);
		}
		assert.match((await session.command("/profile delete broken")).notice, /^Unknown profile: "broken"/);
	});
});

describe("/profile create looks at the scope that was chosen", () => {
	test("A name that the project hides is taken all the same, and so is a file of another name (A148, W22)", async () => {
		write(globalPath("zz"), "name: foo");
		write(projectPath("foo"), "name: foo");
		write(globalPath("taken"), "title: no profile");
		session = startProfileSession(home, EXTENSION);
		assert.equal(
			(await session.command("/profile create foo", [inGlobal()])).notice,
			`"foo" exists: change its file, ${globalPath("zz")}. It is hidden by ${projectPath("foo")}`,
		);
		assert.equal(
			(await session.command("/profile create foo", [inProject()])).notice,
			'"foo" exists: use /profile edit foo',
		);
		assert.equal(
			(await session.command("/profile create taken", [inGlobal()])).notice,
			`${globalPath("taken")} exists, and is no profile "taken": mend or remove that file`,
		);
		const other = await session.command("/profile create taken --from scout", [inProject(), [/^Save project/, true]]);
		assert.equal(
			other.notice,
			`Saved project profile "taken": ${projectPath("taken")}. It has no model: a call as preset must name one, other calls use the session's`,
		);
		assert.equal(readFileSync(globalPath("taken"), "utf8"), "---\ntitle: no profile\n---\n");
		write(projectPath("bar"), "name: bar");
		const hidden = await session.command("/profile create bar --from scout", [inGlobal(), [/^Save global/, true]]);
		assert.equal(
			hidden.notice,
			`Saved global profile "bar": ${globalPath("bar")}. It is hidden by ${projectPath("bar")}`,
		);
	});

	test("In a project that is not trusted it says that the profile is ignored, and asks nothing for one that is (X12, A154)", async () => {
		session = startProfileSession(home, EXTENSION, ["--no-approve"]);
		const ignored = "ignored, because the project is not trusted (trust it with /trust, or start pi with --approve)";
		const saved = await session.command("/profile create up --from scout", [inProject(), [/^Save project/, true]]);
		assert.deepEqual(
			[saved.notice, saved.noticeType],
			[`Saved project profile "up": ${projectPath("up")}. It is ${ignored}`, "warning"],
		);
		const again = await session.command("/profile create up", [inProject()]);
		assert.equal(again.notice, `"up" exists: change its file, ${projectPath("up")}. It is ${ignored}`);
	});

	test("A project's directory that leads out of the project takes none (X29)", async () => {
		mkdirSync(join(home.root, "elsewhere"));
		mkdirSync(join(home.project, ".pi"));
		symlinkSync(join(home.root, "elsewhere"), join(home.project, ".pi/agent-profiles"));
		session = startProfileSession(home, EXTENSION);
		assert.equal(
			(await session.command("/profile create up", [inProject()])).notice,
			`${join(home.project, ".pi/agent-profiles")} is a link that leaves the project`,
		);
	});
});

test("Show gives all of a long text (A147)", async () => {
	const body = `${"All of it counts.\n".repeat(1_000)}The end.`;
	home.write(globalPath("long"), `---\nname: long\nappendSystemPrompt: "${"word ".repeat(2_000)}last"\n---\n${body}\n`);
	session = startProfileSession(home, EXTENSION);
	const { notice } = await session.command("/profile show long");
	assert.ok(notice.endsWith(`replaces the system prompt:\n${body}`));
	assert.ok(notice.includes(`${"word ".repeat(2_000)}last\n`));
});
