import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { delegate } from "./delegation.ts";
import { createHome, type Home, MOCK_API_KEY } from "./home.ts";
import { drop, garbage, hang, type ModelServer, startModelServer, status, text, toolCall } from "./model-server.ts";
import { type PiEnd, type PiEvent, runPi } from "./pi.ts";

const ECHO = fileURLToPath(new URL("./fixtures/delegate-echo.ts", import.meta.url));

interface Message {
	role: string;
	content: { type: string; text?: string }[];
	stopReason?: string;
	errorMessage?: string;
	usage?: { input: number; cost: { total: number } };
}

function messages(events: PiEvent[], role: string): Message[] {
	const ended = events.filter((event) => event.type === "message_end").map((event) => event.message as Message);
	return ended.filter((message) => message.role === role);
}

function lastText(end: PiEnd): string {
	return messages(end.events, "assistant").at(-1)?.content.at(-1)?.text ?? "";
}

describe("the real pi against the scripted model", () => {
	let server: ModelServer;
	let home: Home;

	before(async () => {
		server = await startModelServer();
		home = createHome(server);
	});

	after(async () => {
		await server.close();
		home.dispose();
	});

	test("A text whose emoji is cut in the middle of its bytes arrives whole, with usage and cost", async () => {
		server.use(() => text("done 🎉 ok", { splitBytes: 3, chunkChars: 4, usage: { input: 10, output: 5 } }));
		const end = await runPi(home, { prompt: "hello" }).done;
		const [answer] = messages(end.events, "assistant");
		assert.equal(end.code, 0);
		assert.equal(lastText(end), "done 🎉 ok");
		assert.equal(answer?.usage?.input, 10);
		assert.ok((answer?.usage?.cost.total ?? 0) > 0);
		const request = server.requests.at(-1);
		assert.equal(request?.lastUser, "hello");
		assert.equal(request?.turn, 0);
		assert.equal(request?.headers.authorization, `Bearer ${MOCK_API_KEY}`);
		assert.deepEqual(request?.tools, ["read", "bash", "edit", "write"]);
		assert.equal(await request?.ended, "complete");
	});

	test("A delegation gives the result, the updates and the children's requests", async () => {
		const delegation = await delegate(home, server, {
			extension: ECHO,
			args: { prompt: "find it" },
			child: (request) => text(`found: ${request.lastUser}`),
		});
		assert.equal(delegation.result.text, "FOUND: FIND IT");
		assert.deepEqual(delegation.result.details, { step: 2 });
		assert.equal(delegation.result.isError, false);
		assert.equal(delegation.result.updates.length, 1);
		assert.deepEqual(
			delegation.childRequests.map((request) => request.lastUser),
			["find it"],
		);
		assert.equal(delegation.parentRequests.length, 2);
		assert.equal(lastText(delegation), "the parent is done");
	});

	test("401 is told at once, a dropped stream is tried again, garbage is an error", async () => {
		server.use((request) => {
			if (request.lastUser === "refuse") return status(401);
			if (request.lastUser === "garbage") return garbage();
			const seen = server.requests.filter((one) => one.lastUser === "drop").length;
			return seen === 1 ? drop({ lingerMs: 150 }) : text("second try");
		});
		const ends = ["refuse", "drop", "garbage"].map((prompt) => runPi(home, { prompt }).done);
		const [refused, dropped, nonsense] = await Promise.all(ends);
		assert.ok(refused && dropped && nonsense);
		assert.match(messages(refused.events, "assistant").at(-1)?.errorMessage ?? "", /^401/);
		const [first, second] = messages(dropped.events, "assistant");
		assert.deepEqual([first?.stopReason, second?.stopReason], ["error", "stop"]);
		assert.equal(first?.content[0]?.text, "half an an");
		assert.equal(lastText(dropped), "second try");
		assert.equal(messages(nonsense.events, "assistant").at(-1)?.stopReason, "error");
		assert.deepEqual(server.scriptErrors, []);
	});

	test("A hanging model and SIGTERM: pi ends with 143 and the request is cut", async () => {
		server.use(() => hang({ text: "let me think" }));
		const run = runPi(home, { prompt: "hang" });
		const isDelta = (event: PiEvent) => JSON.stringify(event).includes("let me think");
		const [request] = await Promise.all([
			server.waitForRequest((one) => one.lastUser === "hang"),
			run.waitForEvent(isDelta),
		]);
		run.kill("SIGTERM");
		const end = await run.done;
		assert.equal(end.code, 143);
		assert.equal(await request.ended, "cut");
		assert.equal(end.events.at(-1)?.type, "message_update");
	});

	test("In rpc mode pi takes several prompts until stdin ends", async () => {
		server.use((request) => text(`answer to ${request.lastUser}`));
		const run = runPi(home, { mode: "rpc", prompt: "one" });
		await run.waitForEvent((event) => event.type === "agent_settled");
		run.send({ type: "prompt", message: "two" });
		await run.waitForEvent((event) => JSON.stringify(event.message ?? "").includes("answer to two"));
		run.end();
		assert.equal((await run.done).code, 0);
	});

	test("Waiting in vain says what was seen instead", async () => {
		await assert.rejects(
			server.waitForRequest((request) => request.lastUser === "never", 1),
			/No matching model request within 1 ms[\s\S]*user "hello"/,
		);
		server.use(() => toolCall("bash", "{not json"));
		const run = runPi(home, { prompt: "unscripted", args: ["--no-such-flag"] });
		await assert.rejects(
			run.waitForEvent((event) => event.type === "agent_settled"),
			/it has ended\. Last events: none\. stderr: .*no-such-flag/s,
		);
		assert.equal((await run.done).code, 1);
	});
});
