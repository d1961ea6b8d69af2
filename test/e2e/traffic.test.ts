import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { startDelegation } from "../rig/delegation.ts";
import { createHome, type Home } from "../rig/home.ts";
import { type ModelServer, startModelServer, text } from "../rig/model-server.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));
const sizeOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

describe("what a client without a terminal is sent", () => {
	let server: ModelServer;
	let home: Home;
	before(async () => {
		server = await startModelServer();
		home = createHome(server);
		home.write(`${home.agentDir}/prompts/scout.md`, "---\nname: scout\ndescription: d\n---\nLook.\n");
	});
	after(async () => {
		await server.close();
		home.dispose();
	});

	test("Updates of a call with 1 MB of prompts stay within 5 MB, the first one not counted, and details within 64 kB [X32]", async () => {
		const prompt = "x".repeat(250_000);
		const { events, results } = await startDelegation(home, server, {
			extension: EXTENSION,
			args: { tasks: [1, 2, 3, 4].map((number) => ({ name: `t${number}`, prompt: `${number} ${prompt}` })) },
			child: () => text("word ".repeat(400), { chunkDelayMs: 15, chunkChars: 10 }),
			pi: { timeoutMs: 200_000 },
		}).done;
		assert.equal(results[0]?.isError, false, results[0]?.text.slice(0, 500));
		const updates = events.filter(({ type }) => type === "tool_execution_update").map(sizeOf);
		assert.ok(updates.length > 0);
		assert.ok((updates[0] ?? 0) > 1_000_000, "pi repeats the arguments in each update");
		const counted = updates.slice(1).reduce((sum, bytes) => sum + bytes, 0);
		assert.ok(counted <= 5_000_000, `${counted} bytes in ${updates.length} updates`);
		assert.ok(sizeOf(results[0]?.details) <= 64_000);
	});
});
