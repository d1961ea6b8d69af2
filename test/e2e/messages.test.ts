import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { Result } from "../../src/domain/result.ts";
import type { SentMessage } from "../../src/run/act-on-run.ts";
import { startDelegation } from "../rig/delegation.ts";
import { hang, type ModelRequest, type Script, text, toolCall } from "../rig/model-server.ts";
import { until } from "../rig/until.ts";
import { EXTENSION, type MessageStage, messageSetup } from "./message-setup.ts";

const receiptOf = async (sent: Result<SentMessage>) => {
	assert.ok(sent.ok, sent.ok ? "" : sent.error);
	return await sent.value.settled;
};
const userTexts = ({ messages }: ModelRequest) =>
	messages.filter(({ role }) => role === "user").map((each) => each.text);

/** A parent that delegates one task. */
function delegate({ home, server }: MessageStage, child: Script, task = "look around") {
	return startDelegation(home, server, {
		extension: EXTENSION,
		child,
		args: { tasks: [{ name: "looker", prompt: task }] },
		pi: { timeoutMs: 100_000 },
	});
}

describe("messages to the real pi", { concurrency: 2 }, () => {
	test("A message reaches the child before its next request, exactly as typed", async (t) => {
		const setup = await messageSetup(t);
		const message = "  /only @src, please\n\u001b[31mred $1 é🦊\t";
		let sent: Promise<unknown> | undefined;
		const { done } = delegate(setup, async (request) => {
			if (request.turn === 1) return text("I looked at src only");
			sent = receiptOf(await setup.send("look around", message));
			await setup.send("look around", "and be quick");
			return toolCall("bash", { command: "echo looked" });
		});
		const { childRequests, results } = await done;
		assert.deepEqual(await sent, { kind: "delivered", turn: 2 });
		assert.equal(childRequests.length, 2);
		assert.deepEqual(userTexts(childRequests[1] as ModelRequest), ["look around", `${message}and be quick`]);
		assert.match(results[0]?.text ?? "", /^✓ looker: completed/);
	});

	test("A message during a plain last answer makes the run go on", async (t) => {
		const setup = await messageSetup(t);
		const { done } = delegate(setup, async (request) => {
			if (request.turn === 1) return text(`second answer to ${request.lastUser}`);
			await setup.send("look around", "one more thing");
			return text("first answer");
		});
		const { childRequests, results } = await done;
		assert.equal(childRequests.length, 2);
		assert.equal(results[0]?.isError, false);
		const { directory } = await setup.runOf("look around");
		const result = JSON.parse(readFileSync(join(directory, "result.json"), "utf8"));
		assert.deepEqual(result.outcome, { kind: "completed", text: "second answer to one more thing", end: "natural" });
	});

	for (const [what, first] of [
		["a tool", toolCall("bash", { command: "sleep 60" })],
		["an answer", hang({ text: "I think that" })],
	] as const) {
		test(`"now" interrupts ${what} and goes on with the message`, async (t) => {
			const setup = await messageSetup(t);
			const { done } = delegate(setup, (request) => (request.lastUser === "look around" ? first : text("as you say")));
			const { directory } = await setup.runOf("look around");
			const trail = () => readFileSync(join(directory, "events.jsonl"), "utf8");
			const begun = first.kind === "tools" ? '"tool_execution_start"' : "I think that";
			await setup.server.waitForRequest(({ lastUser }) => lastUser === "look around", 30_000);
			await until(() => trail().includes(begun), "the child to work");
			const sent = await setup.send("look around", "stop that", "now");
			const receipt = await receiptOf(sent);
			assert.equal(receipt.kind, "delivered");
			const { results, childRequests } = await done;
			assert.equal(childRequests.at(-1)?.lastUser, "stop that");
			assert.match(results[0]?.text ?? "", /^✓ looker: completed/);
		});
	}

	test("Nothing follows an answer that was handed over: the message is not delivered", async (t) => {
		const setup = await messageSetup(t);
		setup.home.write(
			join(setup.home.agentDir, "prompts", "judge.md"),
			"---\nname: judge\ndescription: judges\n---\nYou judge.",
		);
		let sent: Promise<unknown> | undefined;
		const { done } = startDelegation(setup.home, setup.server, {
			extension: EXTENSION,
			isParent: ({ tools }) => tools.includes("subagent"),
			tool: "subagent",
			args: { agent: "judge", task: "judge it" },
			child: async () => {
				const message = await setup.send("judge it", "wait");
				sent = receiptOf(message);
				return toolCall("subagent_finalize", { status: "SUCCESS", result: "guilty" });
			},
		});
		const { childRequests, results } = await done;
		assert.equal(childRequests.length, 1);
		assert.match(results[0]?.text ?? "", /guilty/);
		assert.deepEqual(await sent, { kind: "undelivered" });
	});

	test("A message during an agent's plain answer is no correction, and the answer is handed over after it", async (t) => {
		const setup = await messageSetup(t);
		setup.home.write(
			join(setup.home.agentDir, "prompts", "judge.md"),
			"---\nname: judge\ndescription: judges\n---\nYou judge.",
		);
		const { done } = startDelegation(setup.home, setup.server, {
			extension: EXTENSION,
			isParent: ({ tools }) => tools.includes("subagent"),
			tool: "subagent",
			args: { agent: "judge", task: "judge it" },
			child: async (request) => {
				if (request.turn === 1) return toolCall("subagent_finalize", { status: "SUCCESS", result: "guilty" });
				assert.ok((await setup.send("judge it", "what do you say?")).ok);
				return text("let me think");
			},
		});
		const { childRequests, results } = await done;
		assert.deepEqual(userTexts(childRequests[1] as ModelRequest), ["judge it", "what do you say?"]);
		assert.match(results[0]?.text ?? "", /guilty/);
	});

	test("A reminder is delivered between tools, and does not make a run go on after its last answer", async (t) => {
		const setup = await messageSetup(t);
		const receipts = new Map<string, Promise<unknown>>();
		const { done } = startDelegation(setup.home, setup.server, {
			extension: EXTENSION,
			args: { tasks: ["work", "talk"].map((prompt) => ({ name: prompt, prompt })) },
			child: async (request) => {
				if (request.turn === 1) return text("as far as I got");
				const task = request.lastUser;
				receipts.set(task, receiptOf(await setup.send(task, "hurry", "while-working")));
				return task === "talk" ? text("talked") : toolCall("bash", { command: "echo on" });
			},
		});
		const { childRequests } = await done;
		assert.equal(childRequests.length, 3);
		assert.deepEqual(await receipts.get("work"), { kind: "delivered", turn: 2 });
		assert.deepEqual(await receipts.get("talk"), { kind: "undelivered" });
	});
});
