import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { RunResult } from "../../src/domain/run-result.ts";
import { FILES } from "../../src/run-directory/names.ts";
import { delegate, type ToolOutcome } from "../rig/delegation.ts";
import { createHome, type Home } from "../rig/home.ts";
import { startModelServer, text, toolCalls } from "../rig/model-server.ts";
import { waitNoneWithEnv } from "../rig/processes.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));
const PRESET = "---\nname: scout\ndescription: looks\nmodel: mock/mock-1\n---\n";

interface Ended {
	readonly home: Home;
	readonly outcome: ToolOutcome;
	readonly result: RunResult;
	/** A file of the run's directory. */
	file(name: string): string;
}

/** One call, by a child that uses a tool and has this extension of the person's beside ours. */
async function callWith(t: TestContext, source: string, env: Record<string, string> = {}): Promise<Ended> {
	const server = await startModelServer();
	const home = createHome(server);
	t.after(async () => {
		await server.close();
		home.dispose();
	});
	const inChild = `if (process.env.PI_SUBAGENTS_CHILD !== "1") return; const root = ${JSON.stringify(home.root)};`;
	home.write(
		join(home.agentDir, "extensions", "other.js"),
		`import fs from "node:fs"; import zlib from "node:zlib";\nexport default function (pi) { ${inChild} ${source} }\n`,
	);
	home.write(join(home.agentDir, "subagents", "scout.md"), PRESET);
	const useTool = () => toolCalls([{ name: "bash", args: { command: "true" } }]);
	const { result: outcome } = await delegate(home, server, {
		extension: EXTENSION,
		tool: "subagent",
		args: { preset: "scout", task: "go" },
		child: ({ turn }) => (turn === 0 ? useTool() : text("the answer")),
		pi: { env, timeoutMs: 60_000 },
	});
	const files = readdirSync(home.root, { recursive: true, encoding: "utf8" });
	const path = files.find((each) => each.endsWith("result.json"));
	assert.ok(path !== undefined, outcome.text);
	const directory = join(home.root, path, "..");
	const file = (name: string) => readFileSync(join(directory, name), "utf8");
	return { home, outcome, result: JSON.parse(file("result.json")) as RunResult, file };
}

test("A child exits only when other extensions are done: handlers, writes and exit listeners [X31]", async (t) => {
	const { home, outcome, result, file } = await callWith(
		t,
		`
		pi.on("session_shutdown", async () => {
			await new Promise((resolve) => setTimeout(resolve, 200));
			const packed = await new Promise((resolve) => zlib.gzip(Buffer.alloc(4e6, "x"), (_error, data) => resolve(data)));
			fs.writeFileSync(root + "/handled", packed);
			const stream = fs.createWriteStream(root + "/streamed"); // nobody waits for it
			for (let at = 0; at < 50; at++) stream.write(Buffer.alloc(1e5, "y"));
			stream.end();
			zlib.deflate(Buffer.alloc(1e6, "z"), () => fs.writeFileSync(root + "/deflated", "whole"));
		});
		process.on("exit", () => fs.writeFileSync(root + "/exited", "whole"));`,
	);
	assert.deepEqual([outcome.text, outcome.isError], ["the answer", false]);
	assert.deepEqual(result.exit, { kind: "code", code: 0 });
	assert.ok(statSync(join(home.root, "handled")).size > 1_000);
	assert.equal(statSync(join(home.root, "streamed")).size, 5e6);
	assert.equal(readFileSync(join(home.root, "deflated"), "utf8"), "whole");
	assert.equal(readFileSync(join(home.root, "exited"), "utf8"), "whole");
	const session = file(FILES.childSession).trimEnd().split("\n");
	assert.match(JSON.stringify(JSON.parse(session.at(-1) ?? "")), /the answer/, "the session file is whole");
	assert.match(file("events.jsonl"), /agent_settled/);
	await waitNoneWithEnv("HOME", home.root);
});

test("The exit code of a child is the one that it would have exited with [X31]", async (t) => {
	const [set, late] = await Promise.all([
		callWith(t, 'pi.on("session_shutdown", () => { process.exitCode = 7; });'),
		callWith(t, 'process.on("exit", () => { process.exitCode = 9; });'),
	]);
	assert.deepEqual(set.result.exit, { kind: "code", code: 7 });
	assert.deepEqual(late.result.exit, { kind: "code", code: 9 });
	for (const { outcome } of [set, late]) assert.equal(outcome.text, "the answer", "its events say that it completed");
});

test("A child that another signal or process kills has not exited with 0, however late that was [X31]", async (t) => {
	const [killed, ended] = await Promise.all([
		callWith(t, 'process.on("exit", () => process.kill(process.pid, "SIGKILL"));'),
		callWith(t, 'pi.on("session_shutdown", () => process.kill(process.pid, "SIGKILL"));'),
	]);
	for (const { result, outcome } of [killed, ended]) {
		assert.deepEqual(result.exit, { kind: "signal", signal: "SIGKILL" });
		assert.equal(outcome.text, "the answer");
	}
});
