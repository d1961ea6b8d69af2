import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { RunResult } from "../../src/domain/run-result.ts";
import { text, toolCall } from "../rig/model-server.ts";
import { git, treeMissing } from "../rig/own-tree.ts";
import { until } from "../rig/until.ts";
import { createSetup, success } from "./agent-setup.ts";
import { setUp as backgroundSetup, isParent, MESSAGE, runIdIn, status } from "./background-setup.ts";

const RECEIPTS = { settings: { subagents: { receipts: true } } };
const write = (path: string) => toolCall("write", { path, content: "one\n" });

test("Presets and agents, one and several, carry their receipts where further lines go; agents that cannot write carry none (R6, X41)", async (t) => {
	const setup = await createSetup(t, RECEIPTS);
	const define = (directory: string, name: string, tools: string) =>
		setup.define(`${directory}/${name}.md`, [
			`name: ${name}`,
			"description: works",
			"model: mock/mock-1",
			`tools: ${tools}`,
		]);
	define("subagents", "writer", "read,write");
	define("subagents", "reader", "read,ls");
	define("prompts", "agent", "read,write");
	const [single, silent, parallel, agent] = await setup.call(
		[
			{ preset: "writer", task: "single" },
			{ preset: "reader", task: "silent" },
			{
				tasks: [
					{ preset: "writer", task: "first" },
					{ preset: "reader", task: "second" },
				],
			},
			{ agent: "agent", task: "agent" },
		],
		{
			single: [write("s.txt"), text("I wrote s.txt and created t.txt.")],
			silent: [text("I wrote nothing.txt.")],
			first: [write("f.txt"), text("first answer")],
			second: [text("second answer")],
			agent: [write("a.txt"), success("agent answer")],
		},
	);
	assert.deepEqual(single?.content, [
		{ type: "text", text: "I wrote s.txt and created t.txt." },
		{ type: "text", text: "changed s.txt (+1 −0)\n! it says that it wrote t.txt: nothing shows that" },
	]);
	assert.equal(silent?.text, "I wrote nothing.txt.");
	assert.equal(
		parallel?.text,
		"[1/2] writer: completed\n[changed f.txt (+1 −0)]\nfirst answer\n\n[2/2] reader: completed\nsecond answer",
	);
	assert.match(
		agent?.text ?? "",
		/\*\*Session ID:\*\* [^\n]+\n(?:\*\*Session:[^\n]+\n)?\*\*Receipt:\*\* changed a\.txt \(\+1 −0\)\n\n---\n\nagent answer/,
	);
	assert.ok(single);
	const { windows } = single.details as {
		windows: { receipt: { files: { path: string }[] }; receiptLines: string[] }[];
	};
	assert.deepEqual(
		windows[0]?.receipt.files.map(({ path }) => path),
		["s.txt"],
	);
	assert.equal(windows[0]?.receiptLines[0], "changed s.txt (+1 −0)");
	const { directory } = setup.runs().get("silent") ?? { directory: "" };
	const { receipt } = JSON.parse(readFileSync(join(directory, "result.json"), "utf8")) as RunResult;
	assert.deepEqual(receipt?.scan, { kind: "read-only" });
});

test("A run that called neither the shell nor an unknown tool is not followed by git, whatever it wrote into the repository's configuration (R8)", async (t) => {
	const setup = await createSetup(t, RECEIPTS);
	setup.define("subagents/writer.md", ["name: writer", "description: w", "model: mock/mock-1", "tools: read,write"]);
	const { home } = setup;
	const proof = join(home.root, "executed");
	const config = `[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "touch ${proof}"\n\tbare = false\n`;
	for (const directory of ["objects", "refs/heads"]) home.write(`.git/${directory}/.keep`, "");
	home.write(".git/HEAD", "ref: refs/heads/main\n");
	const [outcome] = await setup.call([{ preset: "writer", task: "plant" }], {
		plant: [toolCall("write", { path: ".git/config", content: config }), text("Done.")],
	});
	assert.match(outcome?.text ?? "", /changed \.git\/config \(\+4 −0\)/);
	assert.ok(!existsSync(proof));
});

test("With receipts switched off there is no line, no file of call times and nothing in the result (R6)", async (t) => {
	const setup = await createSetup(t, { settings: { subagents: { receipts: false } } });
	const [outcome] = await setup.call([{ tool: "delegate_to_subagents", tasks: [{ name: "t", prompt: "plain" }] }], {
		plain: [toolCall("bash", { command: "echo x > x.txt" }), text("I wrote y.txt.")],
	});
	assert.match(outcome?.text ?? "", /^✓ t: completed \(session: [0-9a-f]{16}\)$/);
	const { directory } = setup.runs().get("plain") ?? { directory: "" };
	assert.ok(!existsSync(join(directory, "call-times.jsonl")));
	assert.ok(!readFileSync(join(directory, "result.json"), "utf8").includes('"receipt"'));
});

test("A background run's end, its status and its output tell its receipt, the same after a restart (R7)", async (t) => {
	const setup = await backgroundSetup(t, RECEIPTS);
	const { home, server } = setup;
	home.write(
		join(home.agentDir, "subagents", "maker.md"),
		"---\nname: maker\ndescription: m\nmodel: mock/mock-2\n---\n",
	);
	const calls = [{ name: "background_agent", args: { preset: "maker", task: "make" } }];
	let turn = 0;
	server.use((request) => {
		if (!isParent(request)) {
			const done = request.messages.some(({ role }) => role === "tool");
			return done ? text("I wrote b.txt and lie.txt.") : toolCall("bash", { command: "echo b > b.txt" });
		}
		const call = calls[turn++];
		return call ? toolCall(call.name, call.args) : text("the parent is done");
	});
	const line = "changed b.txt";
	const warning = "! it says that it wrote lie.txt: nothing shows that";
	const first = setup.person();
	const [started] = await first.ask("go");
	const runId = runIdIn(started);
	await until(() => setup.entries(MESSAGE).length > 0, "the notice of its end");
	const message =
		readFileSync(setup.session, "utf8")
			.split("\n")
			.find((each) => each.includes(MESSAGE)) ?? "";
	assert.ok((JSON.parse(message).content as string).endsWith(`\n  ${line}\n  ${warning}`), message);
	const isToldSo = (notice: string) => notice.endsWith(`\n  ${line}\n  ${warning}`);
	await until(() => first.shown("notify").some(isToldSo), "the notice to the person");
	calls.push(status({ runId }) as never);
	const told = async (person: typeof first) => {
		turn = 1;
		const [outcome] = await person.ask("how is it?");
		return outcome;
	};
	const before = await told(first);
	assert.ok(before);
	assert.ok(before.text.includes(`\n  ${line}\n  ${warning}\n`), before.text);
	const { runs } = before.details as { runs: { receipt: { files: { path: string }[] } }[] };
	assert.deepEqual(
		runs[0]?.receipt.files.map(({ path }) => path),
		["b.txt"],
	);
	await first.leave();
	const second = setup.person();
	const after = await told(second);
	assert.equal(after?.text, before.text);
	calls[1] = { name: "get_subagent_output", args: { sessionId: runId } } as never;
	const output = await told(second);
	assert.deepEqual(output?.content, [
		{ type: "text", text: "I wrote b.txt and lie.txt." },
		{ type: "text", text: `${line}\n${warning}` },
	]);
	await second.leave();
});

test("A run with a tree of its own has its receipt from the layer, and what it says it wrote is looked for there (R3)", {
	skip: treeMissing(),
}, async (t) => {
	const setup = await createSetup(t, RECEIPTS);
	const { home } = setup;
	home.write("kept.txt", "kept\n");
	home.write("gone.txt", "gone\n");
	git(home.project, "init", "-q", "-b", "main", ".");
	git(home.project, "add", "-A");
	git(home.project, "commit", "-q", "-m", "first");
	setup.define("agent-profiles/apart.md", ["name: apart", "isolation: worktree"]);
	const [outcome] = await setup.call(
		[{ tool: "delegate_to_subagents", profile: "apart", tasks: [{ name: "t", prompt: "apart" }] }],
		{
			apart: [
				toolCall("bash", { command: "echo more >> kept.txt && rm gone.txt && mkdir sub && echo n > sub/new.txt" }),
				text("I wrote sub/new.txt and created sub/lie.txt."),
			],
		},
	);
	const lines = outcome?.text.split("\n") ?? [];
	assert.ok(lines.includes("  changed kept.txt, sub/new.txt (+2 −0) · removed gone.txt"), outcome?.text);
	assert.equal(lines.at(-1), "  ! it says that it wrote sub/lie.txt: nothing shows that");
	const { directory } = setup.runs().get("apart") ?? { directory: "" };
	const { receipt } = JSON.parse(readFileSync(join(directory, "result.json"), "utf8")) as RunResult;
	assert.deepEqual(
		receipt?.files.map(({ path, how }) => [path, how]),
		[
			["gone.txt", "layer"],
			["kept.txt", "layer"],
			["sub/new.txt", "layer"],
		],
	);
});
