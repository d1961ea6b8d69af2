import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createHome, type Home } from "../rig/home.ts";
import { type ModelServer, startModelServer } from "../rig/model-server.ts";
import { runPi } from "../rig/pi.ts";
import { startPiTerminal } from "../rig/pi-terminal.ts";
import { terminalMissing } from "../rig/terminal.ts";
import { type ProfileSession, startProfileSession } from "./profile-dialog.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));

let server: ModelServer;
let home: Home;
let session: ProfileSession | undefined;

beforeEach(async () => {
	server = await startModelServer();
	home = createHome(server);
});
afterEach(async () => {
	await session?.end();
	session = undefined;
	await server.close();
	home.dispose();
});

const NO_MODEL = ". It has no model: a call as preset must name one, other calls use the session's";
const globalPath = (name: string) => join(home.agentDir, "agent-profiles", `${name}.md`);
const projectPath = (name: string) => join(home.project, ".pi", "agent-profiles", `${name}.md`);
const write = (path: string, lines: readonly string[], body = "") =>
	home.write(path, `---\n${lines.join("\n")}\n---\n${body}`);

describe("/profile over RPC", () => {
	test("List, show, their short forms, and what is unknown (A146, A147, A153, W38)", async () => {
		write(
			globalPath("reviewer"),
			["name: reviewer", "model: mock/mock-2:high", "apiKey: sk-test-abc123", "tools: read"],
			"You review.\nWell.",
		);
		write(globalPath("bad"), ["name: bad", "model: @"]);
		session = startProfileSession(home, EXTENSION);
		const list = await session.command("/profile");
		assert.deepEqual(list.dialogs, []);
		const notices = session.run.events.filter(({ message }) => String(message).startsWith("Agent definitions:"));
		assert.deepEqual(notices.length, 1);
		assert.match(String(notices[0]?.message), /bad\.md:3: .*\(and 1 more: see \/profile list\)$/);
		assert.match(
			list.notice,
			/^reviewer \[global profile\] · mock\/mock-2:high · "You review\. Well\." · tools: read · own API key\n\nProblems:\n- .*bad\.md:3: /,
		);
		for (const text of ["/profile list", "/profile ls", "/profile "])
			assert.equal((await session.command(text)).notice, list.notice);
		const shown = await session.command("/profile show reviewer");
		assert.equal(
			shown.notice,
			[
				"reviewer [global profile]",
				`file: ${globalPath("reviewer")}`,
				"model: mock/mock-2:high",
				"tools: read",
				"own API key",
				"apiKey: sk-t****bc123",
				"",
				"replaces the system prompt:",
				"You review.",
				"Well.",
			].join("\n"),
		);
		assert.equal((await session.command("/profile reviewer")).notice, shown.notice);
		assert.deepEqual(await session.command("/profile show nobody"), {
			dialogs: [],
			notice: 'Unknown profile: "nobody". Available profiles: reviewer',
			noticeType: "error",
		});
		assert.match((await session.command("/profile bad")).notice, /^The profile "bad" cannot be used: .*bad\.md:3/);
		for (const text of ["/profile show", "/profile show a b", "/profile list x", "/profile create"]) {
			assert.match((await session.command(text)).notice, /^Usage: \/profile/, text);
		}
	});

	test("With none there is one sentence (A107)", async () => {
		session = startProfileSession(home, EXTENSION);
		assert.equal(
			(await session.command("/profile list")).notice,
			"No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ or .pi/agent-profiles/.",
		);
	});

	test("Numbered steps make a profile, which is there at once (A148, A151, A154)", async () => {
		session = startProfileSession(home, EXTENSION);
		const prompt = 'Line one: "quoted"\n\n--- not the end ---\n# and, more';
		const created = await session.command("/profile create maker", [
			[/^Scope \(1\/11\)$/, `Global (${join(home.agentDir, "agent-profiles")})`],
			[/^Description.*\(2\/11\)$/, "Makes things"],
			[/^Provider \(3\/11\)$/, "mock"],
			[/^Model \(4\/11\)$/, "mock-2"],
			[/^Set a system prompt\? \(5\/11\)$/, "Yes"],
			[/^System prompt \(5\/11\)$/, prompt],
			[/^Append a text/, "Yes"],
			[/^Appended to/, "a, b: c\n  d"],
			[/^Set a thinking level\? \(7\/11\)$/, "Yes"],
			[/^Thinking level \(7\/11\)$/, "max"],
			[/^Restrict the tools\? \(8\/11\)$/, "Yes"],
			[/^Tools \(8\/11\)$/, "Allowlist: only these tools"],
			[/^Allowed tools/, "read, grep"],
			[/^Configure extensions\? \(9\/11\)$/, "Yes"],
			[/^Extensions \(9\/11\)$/, "Disable all extensions"],
			[/^Configure skills\? \(10\/11\)$/, "Yes"],
			[/^Suggested skills/, "one, two"],
			[/^Pre-loaded skills/, undefined],
			[/^Save global profile "maker"\? \(11\/11\)$/, true],
		]);
		assert.equal(created.notice, `Saved global profile "maker": ${globalPath("maker")}`);
		assert.equal(statSync(globalPath("maker")).mode & 0o777, 0o600);
		const text = readFileSync(globalPath("maker"), "utf8");
		assert.ok(text.endsWith(`---\n\n${prompt}\n`), text);
		const review = created.dialogs.at(-1)?.message ?? "";
		assert.match(
			review,
			/model: mock\/mock-2 thinking max\ntools: read, grep\nsuggested skills: one, two\nno extensions/,
		);
		const shown = await session.command("/profile maker");
		assert.ok(shown.notice.includes("a, b: c\n  d"));
		assert.match(
			(
				await session.command("/profile new maker", [
					[/^Scope \(1\/11\)$/, `Global (${join(home.agentDir, "agent-profiles")})`],
				])
			).notice,
			/"maker" exists: use \/profile edit maker/,
		);
		for (const name of ["../x", "a.b", "ä"]) {
			assert.match((await session.command(`/profile create ${name}`)).notice, /is not a name/);
		}
	});

	test("What is cancelled is left out; cancelling the scope or the end saves nothing (A152, X21)", async () => {
		session = startProfileSession(home, EXTENSION);
		const project = `Project (${join(home.project, ".pi", "agent-profiles")})`;
		assert.equal(
			(await session.command("/profile create small", [[/^Scope/, undefined]])).notice,
			"Nothing was saved.",
		);
		const steps: [RegExp, string | undefined][] = [
			[/^Scope \(1\/11\)$/, project],
			[/^Description/, undefined],
			[/^Provider \(3\/11\)$/, undefined],
			[/^Set a system prompt\? \(5\/11\)$/, "No"],
			[/^Append a text/, undefined],
			[/^Set a thinking level\? \(7\/11\)$/, "Yes"],
			[/^Thinking level \(7\/11\)$/, undefined],
			[/^Restrict the tools\? \(8\/11\)$/, "No"],
			[/^Configure extensions\? \(9\/11\)$/, undefined],
			[/^Configure skills\? \(10\/11\)$/, "No"],
		];
		assert.equal(
			(await session.command("/profile create small", [...steps, [/^Save/, false]])).notice,
			"Nothing was saved.",
		);
		assert.equal(existsSync(projectPath("small")), false);
		await session.command("/profile create small", [...steps, [/^Save project profile/, true]]);
		assert.equal(readFileSync(projectPath("small"), "utf8"), "---\nname: small\n---\n");
	});

	test("Enter alone makes a profile for any task, with no restriction, that every word can call", async () => {
		session = startProfileSession(home, EXTENSION);
		const steps: (readonly [RegExp, string | boolean])[] = [
			[/^Scope \(1\/11\)$/, `Global (${join(home.agentDir, "agent-profiles")})`],
			[/^Description.*Enter: "General-purpose sub-agent" \(2\/11\)$/, ""],
			[/^Provider/, "The session's model"],
			[/^Set a system prompt/, "No"],
			[/^Append a text/, "No"],
			[/^Set a thinking level/, "No"],
			[/^Restrict the tools/, "No"],
			[/^Configure extensions/, "No"],
			[/^Configure skills/, "No"],
			[/^Save global profile "any"\? \(11\/11\)$/, true],
		];
		const { dialogs, notice } = await session.command("/profile create any", steps);
		const first = dialogs.flatMap(({ options }) => (options === undefined ? [] : [options[0]]));
		const asked = steps.map(([, answer]) => answer).filter((answer) => typeof answer === "string" && answer !== "");
		assert.deepEqual(first, asked, "Enter takes another option than these");
		assert.equal(notice, `Saved global profile "any": ${globalPath("any")}${NO_MODEL}`);
		assert.equal(
			readFileSync(globalPath("any"), "utf8"),
			"---\nname: any\ndescription: General-purpose sub-agent\n---\n",
		);
		const provider = dialogs.find(({ title }) => title.startsWith("Provider"));
		assert.deepEqual(provider?.options, ["The session's model", "mock"]);
	});

	test("Editing shows what there is, keeps what is not answered, and removes on No (A149, X21)", async () => {
		write(
			globalPath("odd-file"),
			[
				"# a comment",
				"name: worker",
				"provider: mock",
				"model: mock-1",
				"denied_tools: [bash]",
				"apiKey: sk-keep-abc123",
				"color: red",
				"suggestedSkills: [s]",
				"thinkingLevel: low",
			],
			"Old prompt.",
		);
		session = startProfileSession(home, EXTENSION);
		const edited = await session.command("/profile edit worker", [
			[/^Scope$/, `Global (${globalPath("odd-file")})`],
			[/^Provider \(now: mock; empty keeps it, "No" removes it\)$/, "no"],
			[/^Model \(now: mock-1/, ""],
			[/^Set a system prompt\? \(now: set; Escape keeps it/, "Yes"],
			[/^System prompt$/, "New prompt."],
			[/^Append a text/, undefined],
			[/^Set a thinking level\? \(now: low/, "No"],
			[/^Restrict the tools\? \(now: active tools but bash/, "Yes"],
			[/^Tools$/, "Blacklist: all tools but these"],
			[/^Excluded tools/, "bash, edit"],
			[/^Configure extensions\?$/, undefined],
			[/^Remove the skill settings \(suggested skills: s\)\?$/, "Yes"],
			[/^Save global profile "worker"\?$/, true],
		]);
		assert.equal(edited.dialogs.find(({ title }) => title.startsWith("Provider"))?.placeholder, "mock");
		assert.equal(edited.dialogs.find(({ method }) => method === "editor")?.prefill, "Old prompt.");
		assert.equal(edited.dialogs.find(({ title }) => title.startsWith("Excluded"))?.placeholder, "bash");
		assert.match(edited.dialogs.at(-1)?.message ?? "", /apiKey: sk-k\*\*\*\*bc123/);
		assert.equal(
			readFileSync(globalPath("odd-file"), "utf8"),
			"---\n# a comment\nname: worker\nmodel: mock-1\ndenied_tools:\n  - bash\n  - edit\napiKey: sk-keep-abc123\ncolor: red\n---\n\nNew prompt.\n",
		);
		for (const { title, options = [] } of edited.dialogs.filter(({ method }) => method === "select")) {
			const changesNothing = /now: /.test(title)
				? "Keep it"
				: title === "Tools" || title === "Scope"
					? options[0]
					: "No";
			assert.equal(options[0], changesNothing, `X21: Enter on "${title}" changes nothing`);
		}
		const untouched = readFileSync(globalPath("odd-file"), "utf8");
		const kept = await session.command("/profile edit worker", [
			[/^Scope$/, `Global (${globalPath("odd-file")})`],
			...[
				"Provider",
				"Model",
				"Set a system prompt",
				"Append",
				"Set a thinking",
				"Restrict",
				"Configure ext",
				"Configure skills",
			].map((title): [RegExp, undefined] => [new RegExp(`^${title}`), undefined]),
			[/^Save/, true],
		]);
		assert.match(kept.notice, /^Saved global profile/);
		assert.equal(readFileSync(globalPath("odd-file"), "utf8"), untouched);
		const cancelled = await session.command("/profile edit worker", [[/^Scope$/, undefined]]);
		assert.equal(cancelled.notice, "Nothing was saved.");
	});

	test("Delete asks, acts on the scope that counts, goes by the name in the file, and says so (A150, W22, X21)", async () => {
		write(globalPath("one"), ["name: twin"]);
		write(projectPath("two"), ["name: twin"]);
		session = startProfileSession(home, EXTENSION);
		const declined = await session.command("/profile rm twin", [
			[/^Delete the project profile, hides a global one "twin"\?$/, false],
		]);
		assert.equal(declined.notice, "Nothing was deleted.");
		const deleted = await session.command("/profile delete twin", [[/^Delete the project profile/, true]]);
		assert.equal(
			deleted.notice,
			`Deleted the project profile "twin": ${projectPath("two")}. The global profile "twin" counts now`,
		);
		assert.deepEqual([existsSync(projectPath("two")), existsSync(globalPath("one"))], [false, true]);
		await session.command("/profile remove twin", [[/^Delete the global profile "twin"\?$/, true]]);
		assert.equal(
			(await session.command("/profile twin")).notice,
			'Unknown profile: "twin". Available profiles: (none)',
		);
	});
});

test("/profile create --from copies an example under the name that was asked for, wherever the person wants it", async () => {
	session = startProfileSession(home, EXTENSION);
	const project = `Project (${join(home.project, ".pi", "agent-profiles")})`;
	const copied = await session.command("/profile create finder --from scout", [
		[/^Scope$/, project],
		[/^Save project profile "finder"\?$/, true],
	]);
	assert.equal(copied.notice, `Saved project profile "finder": ${projectPath("finder")}${NO_MODEL}`);
	assert.match(copied.dialogs.at(-1)?.message ?? "", /tools: read, grep, find, ls[\s\S]*the system prompt:\n[\s\S]*…$/);
	const example = readFileSync(new URL("../../examples/scout.md", import.meta.url), "utf8");
	const bodyOf = (text: string) => text.slice(text.indexOf("\n---") + 4).trim();
	const text = readFileSync(projectPath("finder"), "utf8");
	assert.match(text, /^---\n# Looks things up[^\n]*\nname: finder\n/);
	assert.equal(bodyOf(text), bodyOf(example));
	assert.match((await session.command("/profile finder")).notice, /^finder \[project profile\]/);
	assert.deepEqual(await session.command("/profile create x --from nobody"), {
		dialogs: [],
		notice: 'Unknown example: "nobody". Available examples: reviewer, sandboxed, scout, worker',
		noticeType: "error",
	});
	assert.equal(
		(await session.command("/profile create x --from")).notice,
		"--from takes one of: reviewer, sandboxed, scout, worker",
	);
	for (const wrong of ["create --from scout", "create x --of scout", "create x --from scout more"]) {
		assert.match((await session.command(`/profile ${wrong}`)).notice, /^Usage: .*--from <example>/, wrong);
	}
	assert.equal(
		(await session.command("/profile create y --from worker", [[/^Scope$/, undefined]])).notice,
		"Nothing was saved.",
	);
	assert.equal(existsSync(globalPath("y")), false);
});

test("/profile create --from without a screen copies to the person's own profiles, and overwrites nothing", async () => {
	const create = async () =>
		(await runPi(home, { mode: "text", extension: EXTENSION, prompt: "/profile create mine --from worker" }).done)
			.stderr;
	assert.equal(await create(), `Saved global profile "mine": ${globalPath("mine")}${NO_MODEL}\n`);
	assert.match(readFileSync(globalPath("mine"), "utf8"), /^---\n# Makes one change.*\nname: mine\n/);
	assert.equal(statSync(globalPath("mine")).mode & 0o777, 0o600);
	assert.equal(await create(), '"mine" exists: use /profile edit mine\n');
});

test("/profile without a screen answers in text, and asks nothing", async () => {
	write(globalPath("reviewer"), ["name: reviewer"], "You review.");
	const print = await runPi(home, { mode: "text", extension: EXTENSION, prompt: "/profile list" }).done;
	assert.equal(print.stderr, 'reviewer [global profile] · the session\'s model · "You review."\n');
	const json = await runPi(home, { extension: EXTENSION, prompt: "/profile delete reviewer" }).done;
	assert.deepEqual(json.stray, []);
	assert.equal(
		json.stderr,
		`This needs somebody to answer; without a terminal, change the file: ${globalPath("reviewer")}\n`,
	);
	assert.ok(existsSync(globalPath("reviewer")));
	assert.deepEqual(server.requests, []);
});

test("A148 in a real terminal, with argument completion", { skip: terminalMissing() ?? false }, async (t) => {
	write(globalPath("reviewer"), ["name: reviewer", "model: mock-2"], "You review.");
	const terminal = await startPiTerminal(home, { extension: EXTENSION, columns: 120, rows: 40 });
	t.after(() => terminal.dispose());
	await terminal.type("/profile show rev");
	await terminal.waitFor(/→ reviewer/);
	await terminal.sendKeys("Tab");
	await terminal.waitFor("/profile show reviewer");
	await terminal.sendKeys("Enter");
	await terminal.waitFor(/reviewer \[global profile\][\s\S]*You review\./);

	// What is complete is sent with one Enter: nothing is offered for it any more.
	await terminal.type("/profile reviewer");
	await terminal.waitFor(/\/profile reviewer\s*\n─+\n(?!.*→)/);
	await terminal.sendKeys("Enter");
	await terminal.waitWhile("/profile reviewer");
	await terminal.type("/profile create copy --from sc");
	await terminal.waitFor(/→ --from scout/);
	await terminal.sendKeys("Tab");
	await terminal.waitFor("/profile create copy --from scout");
	await terminal.sendKeys("Enter");
	await terminal.waitFor(/Scope[\s\S]*Global/);
	await terminal.sendKeys("Escape");
	await terminal.waitFor("Nothing was saved.");

	await terminal.type("/profile create typed");
	await terminal.sendKeys("Enter");
	await terminal.waitFor(/Scope[\s\S]*Global/);
	await terminal.sendKeys("Enter");
	await terminal.waitFor("Description");
	await terminal.sendKeys("Escape");
	await terminal.waitFor(/Provider \(3\/11\)[\s\S]*The session's model/);
	await terminal.sendKeys("Down", "Enter");
	await terminal.waitFor(/Model \(4\/11\)[\s\S]*mock-2/);
	await terminal.sendKeys("Down", "Enter");
	await terminal.waitFor("Set a system prompt?");
	await terminal.sendKeys("Down", "Enter");
	await terminal.waitFor("System prompt");
	await terminal.type("Typed in a terminal.");
	await terminal.sendKeys("Enter");
	for (const question of [
		"Append a text",
		"Set a thinking level?",
		"Restrict the tools?",
		"Configure extensions?",
		"Configure skills?",
	]) {
		await terminal.waitFor(question);
		await terminal.sendKeys("Escape");
	}
	await terminal.waitFor('Save global profile "typed"?');
	await terminal.sendKeys("Enter");
	await terminal.waitFor('Saved global profile "typed"');
	assert.equal(
		readFileSync(globalPath("typed"), "utf8"),
		"---\nname: typed\nprovider: mock\nmodel: mock-2\n---\n\nTyped in a terminal.\n",
	);
});
