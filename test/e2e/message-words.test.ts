import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { runPi } from "../rig/pi.ts";
import { until } from "../rig/until.ts";
import { background, EXTENSION, type Person, runIdIn, setUp } from "./background-setup.ts";

const MESSAGE = "  be /quick @src\n\u001b[31m é🦊";
const said = ({ shown }: Person, words: string | RegExp) =>
	until(
		() => shown("notify").some((text) => (typeof words === "string" ? text === words : words.test(text))),
		`${words}`,
	);
const command = ({ tell }: Person, words: string) => tell({ type: "prompt", message: `/subagents ${words}` });

describe("/subagents message without a screen", { concurrency: 2 }, () => {
	test("Over RPC it says queued, then in which turn it was delivered; the run has it as your session's", async (t) => {
		const { script, person, release, directoryOf, ended, server } = await setUp(t);
		const one = person();
		script(background("one"));
		const runId = runIdIn((await one.ask("start it"))[0]);
		await server.waitForRequest(({ lastUser }) => lastUser === "one", 30_000);
		await command(one, `message scout ${MESSAGE}`);
		await said(one, "Message to scout: queued");
		release("one");
		release(MESSAGE);
		await said(one, "Message to scout: delivered in turn 2");
		await ended(runId);
		const request = server.requests.find(({ lastUser }) => lastUser === MESSAGE);
		assert.ok(request, "its model has exactly what was typed");
		const transcript = readFileSync(join(directoryOf(runId), "transcript.log"), "utf8");
		assert.ok(transcript.includes(`[message from your session]: ${MESSAGE}`), transcript);
		await until(() => one.shown("setStatus").at(-1) === "undefined", "its end");
		await command(one, `message ${runId} hello?`);
		await said(one, new RegExp(`^Run ${runId} has ended$`));
		await command(one, `watch ${runId}`);
		await said(one, /^✓ scout \(\d{8}-.*\): done\n/);
		await one.leave();
	});

	test("After a restart it reaches the run, which knows no more of its sender than that it is a process of yours", async (t) => {
		const { script, person, release, directoryOf, ended, server } = await setUp(t);
		const first = person();
		script(background("one"), background("two"));
		const [one = "", two = ""] = (await first.ask("start them")).map(runIdIn);
		await server.waitForRequest(({ lastUser }) => lastUser === "one", 30_000);
		await first.leave();
		const later = person();
		await command(later, `message ${one} hello`);
		await said(later, "Message to scout: queued");
		await command(later, `stop ${two}`);
		await said(later, `Stopping scout (run ${two})`);
		await ended(two);
		release("one");
		release("hello");
		await said(later, "Message to scout: delivered in turn 2");
		await ended(one);
		const transcript = readFileSync(join(directoryOf(one), "transcript.log"), "utf8");
		assert.match(transcript, /^\[message from another process of yours\]: hello$/m);
		await later.leave();
	});

	test("pi -p says queued and leaves, and the message is delivered all the same; a message to one that ended is refused with that word", async (t) => {
		const { script, person, release, home, session, ended, server, directoryOf } = await setUp(t);
		script(background("one"));
		const one = person();
		const runId = runIdIn((await one.ask("start it"))[0]);
		await server.waitForRequest(({ lastUser }) => lastUser === "one", 30_000);
		await one.leave();
		const message = async (text: string, args: string[]) =>
			await runPi(home, { prompt: `/subagents message ${runId} ${text}`, mode: "text", extension: EXTENSION, args })
				.done;
		const own = await message("of its session", ["--session", session]);
		assert.deepEqual([own.code, own.stderr.trim()], [0, "Message to scout: queued"]);
		const foreign = await message("of a stranger", ["--no-session"]);
		assert.deepEqual([foreign.code, foreign.stderr.trim()], [0, "Message to scout: queued"]);
		release("one");
		const both = "of its sessionof a stranger";
		await server.waitForRequest(({ lastUser }) => lastUser === both, 30_000);
		release(both);
		await ended(runId);
		const transcript = readFileSync(join(directoryOf(runId), "transcript.log"), "utf8");
		assert.match(transcript, /another process of yours\]: of its session[\s\S]*process of yours\]: of a stranger/);
		const late = await message("too late", ["--no-session"]);
		assert.equal(late.stderr.trim(), `Run ${runId} has ended`);
	});
});
