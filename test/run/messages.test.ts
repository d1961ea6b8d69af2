import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createLineSplitter } from "../../src/domain/lines.ts";
import type { RunState } from "../../src/domain/state.ts";
import { remarksOn } from "../../src/present/remarks.ts";
import { createSteer, type Proof, STRANGER, sendMessage, stopRun } from "../../src/run/act-on-run.ts";
import type { PreparedRun } from "../../src/run/execute.ts";
import { createSetup, endOf, resultIn, type Setup, startRun } from "../rig/fake-run.ts";

const started = ({ spec, directory }: PreparedRun) => ({ runId: spec.runId, directory, socket: spec.socket });
const parentOf = ({ token }: PreparedRun): Proof => ({ as: "session", token });
const isRunning = ({ phase }: RunState) => phase.kind === "running";

async function send(run: PreparedRun, text: string, proof: Proof = parentOf(run)) {
	const sent = await sendMessage(started(run), createSteer(text, "turn-end"), proof);
	assert.ok(sent.ok, sent.ok ? "" : sent.error);
	return sent.value;
}

/** A client that speaks as it likes. */
async function rawClient(path: string) {
	const socket = connect(path);
	const lines: Record<string, unknown>[] = [];
	let tell = () => {};
	const splitter = createLineSplitter((line) => void lines.push(JSON.parse(line.toString("utf8"))));
	socket.on("data", (chunk) => {
		splitter.write(chunk);
		tell();
	});
	socket.on("error", () => {});
	await once(socket, "connect");
	return {
		send: (message: unknown) => void socket.write(`${JSON.stringify(message)}\n`),
		async answer(type: string) {
			while (!lines.some((line) => line.type === type)) {
				await new Promise<void>((resolve) => {
					tell = resolve;
				});
			}
			return lines.find((line) => line.type === type);
		},
		close: () => void socket.destroy(),
	};
}

describe("messages to a running child", { concurrency: 4 }, () => {
	let setup: Setup;
	before(() => {
		setup = createSetup();
	});
	after(() => setup.dispose());

	test("A message is queued, then delivered with the number of its turn, and labelled with its proven sender", async () => {
		const prepared = setup.prepare([{ tool: "read", args: {} }, { receive: 1 }]);
		const run = startRun(prepared);
		await run.until(({ toolCalls }) => toolCalls === 1);
		const sent = await send(prepared, "only src, please");
		assert.deepEqual(await sent.settled, { kind: "delivered", turn: 2 });
		const state = await run.done;
		const steer = { id: sent.id, text: "only src, please", when: "turn-end" };
		assert.deepEqual(state.steers, [{ ...steer, from: "session", receipt: { kind: "delivered", turn: 2 } }]);
		assert.deepEqual(JSON.parse(endOf(state).text), [steer]);
		const transcript = readFileSync(join(run.directory, "transcript.log"), "utf8");
		assert.match(transcript, /^\[message from your session\]: only src, please$/m);
		assert.ok(state.entries.some((entry) => entry.kind === "steer"));
	});

	test("Without the parent's token a sender is another process of the user, whatever it says", async () => {
		const prepared = setup.prepare([{ receive: 3 }]);
		const run = startRun(prepared);
		await run.until(isRunning);
		await send(prepared, "one", STRANGER);
		await send(prepared, "two", { as: "session", token: "guessed" });
		await send(prepared, "three", { as: "model", token: prepared.token });
		const { steers } = await run.done;
		assert.deepEqual(
			steers.map(({ from }) => from),
			["process", "process", "model"],
		);
	});

	test("10,000 characters with control characters and escape sequences arrive as they were sent", async () => {
		const text = `\u001b[31m/x @y\r\n\t\u0000${"é🦊 ".repeat(2_500)}`;
		const prepared = setup.prepare([{ receive: 1 }]);
		const run = startRun(prepared);
		await run.until(isRunning);
		await send(prepared, text);
		assert.equal(JSON.parse(endOf(await run.done).text)[0].text, text);
	});

	test("What a run has not received when it ends is not delivered", async () => {
		const prepared = setup.prepare([{ hear: 1 }, { say: "done without you" }]);
		const run = startRun(prepared);
		await run.until(isRunning);
		const sent = await send(prepared, "too late");
		assert.deepEqual(await sent.settled, { kind: "undelivered" });
		assert.deepEqual((await run.done).steers[0]?.receipt, { kind: "undelivered" });
	});

	test("A message to a run that has ended is refused with that word, and so is an empty one", async () => {
		const prepared = setup.prepare([{ say: "bye" }]);
		await startRun(prepared).done;
		const late = await sendMessage(started(prepared), createSteer("hello?", "turn-end"), STRANGER);
		assert.ok(!late.ok);
		assert.match(late.error, /has ended$/);
		const empty = await sendMessage(started(prepared), createSteer(" \n", "turn-end"), STRANGER);
		assert.ok(!empty.ok);
		assert.match(empty.error, /needs a text/);
	});

	test("A run that was started by nobody who is left takes messages and a stop", async () => {
		const prepared = setup.prepare([{ receive: 1 }, { hang: true }], { lifetime: "background" });
		const run = startRun(prepared);
		await run.until(isRunning);
		await (await send(prepared, "hello", STRANGER)).settled;
		assert.ok((await stopRun(started(prepared))).ok);
		await run.done;
		assert.deepEqual(resultIn(run.directory).outcome, {
			kind: "failed",
			failure: { kind: "stopped", cause: { kind: "aborted", by: "person" } },
		});
	});

	test("A viewer that talks and leaves, or is cut off in mid-line, changes nothing for a foreground run", async () => {
		const prepared = setup.prepare([{ receive: 1 }, { say: "went on" }]);
		const run = startRun(prepared);
		await run.until(isRunning);
		const viewer = await rawClient(prepared.spec.socket);
		viewer.send({ type: "steer", steer: createSteer("from a viewer", "turn-end"), as: "session" });
		await viewer.answer("steered");
		viewer.close();
		assert.deepEqual(endOf(await run.done).outcome, { kind: "completed", text: "went on", end: "natural" });
	});

	test("A message that a supervisor does not know is answered with unknown, and the run goes on", async () => {
		const prepared = setup.prepare([{ receive: 1 }]);
		const run = startRun(prepared);
		await run.until(isRunning);
		const client = await rawClient(prepared.spec.socket);
		client.send({ type: "teleport", to: "mars" });
		assert.deepEqual(await client.answer("unknown"), { type: "unknown", request: "teleport" });
		client.send({ type: "steer", steer: { id: 7, text: "", when: "later" } });
		assert.equal((await client.answer("refused"))?.request, "steer");
		client.close();
		await send(prepared, "go on");
		assert.equal(endOf(await run.done).outcome.kind, "completed");
	});

	test("Only the parent's token lets a run go on without its parent", async () => {
		const prepared = setup.prepare([{ receive: 1 }]);
		const run = startRun(prepared);
		await run.until(isRunning);
		const client = await rawClient(prepared.spec.socket);
		client.send({ type: "release", token: "guessed" });
		assert.equal((await client.answer("refused"))?.request, "release");
		client.send({ type: "release", token: prepared.token });
		await client.answer("released");
		client.close();
		await send(prepared, "end");
		await run.done;
	});

	test("The start of a run says which protocol it speaks, and the child is never told the token", async () => {
		const prepared = setup.prepare([{ packet: true }]);
		const text = endOf(await startRun(prepared).done).text;
		assert.ok(text.includes("prompt"));
		assert.ok(!text.includes(prepared.token));
		assert.match(readFileSync(join(prepared.directory, "events.jsonl"), "utf8"), /"type":"started".*"protocol":3/);
	});

	test("What the process of an agent did not receive reaches the one that corrects it", async (t) => {
		process.env.FAKE_PI_CORRECTED = JSON.stringify([{ receive: 1 }]);
		t.after(() => delete process.env.FAKE_PI_CORRECTED);
		const contract = { kind: "finalize", attempts: 1 } as const;
		const prepared = setup.prepare([{ hear: 1 }, { say: "no finalize" }], { contract });
		const run = startRun(prepared);
		await run.until(isRunning);
		const sent = await send(prepared, "for whoever is there");
		assert.deepEqual(await sent.settled, { kind: "delivered", turn: 2 });
		const { steers } = await run.done;
		assert.equal(steers.length, 1);
	});

	test("Shortly before its timeout a run is told once to finish, and its result says that its time was up", async () => {
		const limits = { timeoutMs: 60_000, idleGraceMs: 0, wrapUpMs: 59_900, repeatedCalls: 5 };
		const run = setup.start([{ receive: 1 }], { limits });
		const state = await run.done;
		const result = endOf(state);
		assert.match(JSON.parse(result.text)[0].text, /^Your time is almost up: about 60 s are left\. Finish now/);
		assert.equal(result.outcome.kind, "completed");
		assert.deepEqual(remarksOn(result), ["its time was up"]);
		assert.equal(state.steers.length, 1);
		const untold = endOf(await setup.start([{ hear: 1 }, { say: "done anyway" }], { limits }).done);
		assert.deepEqual(remarksOn(untold), []);
	});
});
