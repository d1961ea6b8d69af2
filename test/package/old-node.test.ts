import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { createHome } from "../rig/home.ts";
import { startModelServer, text } from "../rig/model-server.ts";
import { runPi } from "../rig/pi.ts";

const EXTENSION = join(import.meta.dirname, "..", "..", "index.js");

test("On a Node that is too old the extension says which one it needs", async (t) => {
	const server = await startModelServer(() => text("fine"));
	const home = createHome(server);
	t.after(async () => {
		await server.close();
		home.dispose();
	});
	const versionOf = async (version: string) => {
		const preload = home.write(
			"version.cjs",
			`Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } });`,
		);
		return await runPi(home, { prompt: "hello", extension: EXTENSION, env: { NODE_OPTIONS: `--require ${preload}` } })
			.done;
	};
	assert.match(
		(await versionOf("22.18.0")).stderr,
		/pi-subagents needs Node 22\.19 or later, as pi does, and this is Node 22\.18\.0\. Install a newer Node and start pi with it\./,
	);
	const newer = await versionOf("24.1.0");
	assert.deepEqual([newer.stderr, newer.code], ["", 0]);
});
