import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { RunNotice } from "../../src/session/run-events.ts";
import { allBlocks } from "../docs/documents.ts";
import { startDelegation } from "../rig/delegation.ts";
import { createHome } from "../rig/home.ts";
import { startModelServer, status, text } from "../rig/model-server.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));
const EXAMPLE = fileURLToPath(new URL("../../examples/extensions/run-log.ts", import.meta.url));
const LISTENER = fileURLToPath(new URL("../rig/fixtures/run-listener.ts", import.meta.url));

async function setUp(t: TestContext) {
	const server = await startModelServer();
	const home = createHome(server);
	t.after(async () => {
		await server.close();
		home.dispose();
	});
	return { server, home };
}

test("Other extensions hear once that a run has started, and once how it ended", async (t) => {
	const { server, home } = await setUp(t);
	const path = join(home.root, "notices.jsonl");
	const { done } = startDelegation(home, server, {
		extension: EXTENSION,
		args: {
			tasks: [
				{ name: "good", prompt: "Be good." },
				{ name: "bad", prompt: "Be bad." },
				{ name: "unknown", prompt: "Be nobody.", profile: "nobody" },
			],
		},
		child: ({ lastUser }) => (lastUser === "Be bad." ? status(400, "bad request") : text("all good")),
		pi: { args: ["-e", LISTENER], env: { RUN_LISTENER_FILE: path } },
	});
	const { results } = await done;
	const notices = readFileSync(path, "utf8")
		.trim()
		.split("\n")
		.map((line) => JSON.parse(line) as RunNotice);
	const of = (name: string) => notices.filter(({ run }) => run.name === name);
	assert.deepEqual(
		["good", "bad", "unknown"].map((name) => of(name).map(({ type }) => type)),
		[["started", "ended"], ["started", "ended"], ["ended"]],
	);
	const [good, bad, unknown] = ["good", "bad", "unknown"].map((name) => of(name).at(-1));
	assert.ok(good?.type === "ended" && bad?.type === "ended" && unknown?.type === "ended");
	assert.deepEqual([good.run.status, good.run.text, good.run.background], ["completed", "all good", false]);
	assert.ok(good.run.usage.totalTokens > 0 && good.run.endedAt >= good.run.startedAt);
	assert.ok(results[0]?.text.includes(good.run.sessionId));
	assert.deepEqual([bad.run.status, unknown.run.status], ["failed", "failed"]);
	assert.match(bad.run.error ?? "", /bad request/);
	assert.match(unknown.run.error ?? "", /Unknown profile: "nobody"/);
});

test("The handler in docs/events.md works in an extension", async (t) => {
	const { server, home } = await setUp(t);
	const [block] = allBlocks("ts");
	const extension = home.write(join(home.root, "handler.ts"), `export default function (pi) {\n${block?.text}\n}\n`);
	const { done } = startDelegation(home, server, {
		extension: EXTENSION,
		args: { tasks: [{ name: "scout", prompt: "Look." }] },
		child: () => text("seen"),
		pi: { args: ["-e", extension] },
	});
	assert.equal((await done).stderr, "scout: completed\n");
});

test("The example that logs runs works as it is", async (t) => {
	const { server, home } = await setUp(t);
	const { done } = startDelegation(home, server, {
		extension: EXTENSION,
		args: { tasks: [{ name: "scout", prompt: "Look." }] },
		child: () => text("seen"),
		pi: { args: ["-e", EXAMPLE] },
	});
	await done;
	const lines = readFileSync(join(home.agentDir, "subagents.log"), "utf8").trim().split("\n");
	assert.equal(lines.length, 2);
	assert.match(lines[0] ?? "", / scout started$/);
	assert.match(lines[1] ?? "", / scout ended completed \d+ tokens$/);
});
