import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { runPi } from "../rig/pi.ts";
import { until } from "../rig/until.ts";
import { client, delegate, EXTENSION, questionSetup } from "./questions-setup.ts";

describe("questions of children over RPC", { concurrency: 2 }, () => {
	test("A gate in a child asks the client by a dialog of the same kind, with the run's name before its text", async (t) => {
		const setup = await questionSetup(t, [
			delegate(["builder", "echo one\necho select two\necho input three\necho editor four"]),
		]);
		const { dialog, respond, settled, leave, dialogs } = client(setup.home);
		const first = await dialog(0);
		assert.deepEqual([first.method, first.title, first.message], ["confirm", "[builder] Allow bash?", "echo one"]);
		respond(first, { confirmed: true });
		const second = await dialog(1);
		assert.deepEqual([second.method, second.title], ["select", "[builder] Which of two?"]);
		assert.deepEqual(second.options, ["left", "right"]);
		respond(second, { value: "right" });
		const third = await dialog(2);
		assert.deepEqual([third.method, third.title, third.placeholder], ["input", "[builder] Name of three?", "a name"]);
		respond(third, { value: "Ada" });
		const fourth = await dialog(3);
		assert.deepEqual([fourth.method, fourth.title, fourth.prefill], ["editor", "[builder] Text of four?", "one\ntwo"]);
		respond(fourth, { value: "three\nfour" });
		await settled();
		const told = setup.server.requests
			.at(-2)
			?.messages.filter(({ role }) => role === "tool")
			.map(({ text }) => text);
		assert.match(told?.[0] ?? "", /^one/);
		assert.match(told?.[1] ?? "", /the gate heard "right"/);
		assert.match(told?.[2] ?? "", /the gate heard "Ada"/);
		assert.match(told?.[3] ?? "", /the gate heard "three\\nfour"/);
		assert.equal(dialogs().length, 4);
		assert.match(setup.runs()[0]?.transcript ?? "", /\[notice\]: the gate is open for questions/);
		await leave();
	});

	test("Five children that ask at once are asked about one at a time, and each gets its own answer", async (t) => {
		const names = ["a", "b", "c", "d", "e"];
		const setup = await questionSetup(t, [delegate(...names.map((name) => [name, `echo select ${name}`] as const))], {
			maxConcurrency: 5,
		});
		const { dialog, respond, settled, leave, dialogs } = client(setup.home);
		await until(
			() => setup.runs().filter(({ transcript }) => transcript.includes("[asks]")).length === 5,
			"all to ask",
		);
		const answers = new Map<string, string>();
		for (const number of names.keys()) {
			const asked = await dialog(number);
			assert.equal(dialogs().length, number + 1, "one at a time");
			const name = /^\[(.)\] Which of (.)\?$/.exec(String(asked.title));
			assert.equal(name?.[1], name?.[2], "the label is the run's that asks");
			const value = number % 2 === 0 ? "left" : "right";
			answers.set(name?.[1] ?? "", value);
			respond(asked, { value });
		}
		await settled();
		for (const name of names)
			assert.match(setup.heard(`echo select ${name}`) ?? "", new RegExp(`"${answers.get(name)}"`));
		await leave();
	});

	test("A question that its extension gives up is withdrawn, and the run goes on", async (t) => {
		const setup = await questionSetup(t, [delegate(["hasty", "echo short wait"])]);
		const { settled, leave } = client(setup.home);
		await settled();
		assert.match(setup.heard("echo short wait") ?? "", /the gate heard false/);
		assert.match(setup.runs()[0]?.transcript ?? "", /\[asks\][\s\S]*\[question withdrawn\]/);
		await leave();
	});

	test("Background agents ask too; a client that leaves with a question open denies it, and the run goes on unattended", async (t) => {
		const task = "echo one\necho two\necho three";
		const setup = await questionSetup(t, [{ name: "background_agent", args: { preset: "scout", task } }]);
		const { dialog, respond, settled, leave } = client(setup.home);
		const first = await dialog(0);
		assert.equal(first.title, "[scout] Allow bash?");
		await settled();
		respond(first, { confirmed: true });
		await dialog(1);
		await leave();
		await until(() => /nobody is there$/m.test(setup.heard(task) ?? ""), "the third command to be refused");
		const [run] = setup.runs();
		assert.match(run?.transcript ?? "", /\[answered by you\]: yes[\s\S]*\[denied: nobody is there\]/);
		await until(() => setup.server.requests.at(-1)?.turn === 3, "its answer");
	});

	test("With questions: deny nobody is asked: gates in children deny at once", async (t) => {
		const setup = await questionSetup(t, [delegate(["builder", "echo one"])], { questions: "deny" });
		const { settled, leave, dialogs } = client(setup.home);
		await settled();
		assert.deepEqual(dialogs(), []);
		assert.match(setup.heard("echo one") ?? "", /nobody is there/);
		await leave();
	});

	test("An unanswered question is denied after questionTimeout; the next prompt makes the run attended again", async (t) => {
		const task = "echo one\necho two\necho three";
		const back = Promise.withResolvers<void>();
		const setup = await questionSetup(
			t,
			[{ name: "background_agent", args: { preset: "scout", task } }],
			{ questionTimeout: 1 },
			(command) => (command === "echo three" ? back.promise : undefined),
		);
		const { pi, dialog, respond, leave, dialogs } = client(setup.home);
		await dialog(0);
		await until(() => /nobody is there$/m.test(setup.heard(task) ?? ""), "the second command to be refused");
		assert.match(setup.runs()[0]?.transcript ?? "", /\[denied: nobody answered in time\]/);
		assert.equal(dialogs().length, 1);
		const turns = () => pi.events.filter(({ type }) => type === "agent_settled").length;
		await until(() => turns() === 1, "the parent to be idle");
		pi.send({ type: "prompt", message: "I am back" });
		await until(() => turns() === 2, "its answer");
		back.resolve();
		respond(await dialog(1), { confirmed: true });
		await until(() => setup.heard(task) === "three\n", "the third command");
		await leave();
	});
});

test("In print mode nobody is there: hasUI is false in children, and no question is asked", async (t) => {
	const setup = await questionSetup(t, [delegate(["builder", "echo one"])]);
	const { events } = await runPi(setup.home, { prompt: "please delegate", extension: EXTENSION }).done;
	assert.match(setup.heard("echo one") ?? "", /the gate is closed: nobody is there/);
	assert.ok(!events.some(({ type }) => type === "extension_ui_request"));
	const [run] = setup.runs();
	const { invocation } = JSON.parse(readFileSync(join(run?.directory ?? "", "meta.json"), "utf8"));
	assert.equal(invocation.args.filter((arg: string) => arg === "-e").length, 1, "nothing is loaded for questions");
});
