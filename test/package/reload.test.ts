import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createHome } from "../rig/home.ts";
import { startModelServer } from "../rig/model-server.ts";
import { packPackage } from "../rig/package.ts";
import { runPi } from "../rig/pi.ts";

const COMMANDS = join(import.meta.dirname, "../rig/fixtures/lifecycle-commands.ts");
const OTHER = 'exports.default = (pi) => pi.registerCommand("of-the-new-version", { handler() {} });\n';

test("After an update and /reload it is the new version that runs", async (t) => {
	const server = await startModelServer();
	const packed = packPackage();
	const home = createHome(server, { settings: { packages: [packed.directory] } });
	t.after(async () => {
		await server.close();
		home.dispose();
		packed.dispose();
	});
	const pi = runPi(home, { mode: "rpc", extension: COMMANDS });
	const ask = async (command: { type: string; message?: string }, id: string) => {
		pi.send({ ...command, id });
		return await pi.waitForEvent((event) => event.type === "response" && event.id === id);
	};
	const commands = async (id: string) => {
		const { data } = await ask({ type: "get_commands" }, id);
		return (data as { commands: { name: string }[] }).commands.map(({ name }) => name);
	};
	assert.ok((await commands("before")).includes("subagents"));
	writeFileSync(join(packed.directory, "dist/index.cjs"), OTHER);
	await ask({ type: "prompt", message: "/reload-now" }, "reload");
	const after = await commands("after");
	assert.ok(after.includes("of-the-new-version"), after.join(", "));
	assert.ok(!after.includes("subagents"), after.join(", "));
	pi.end();
	await pi.done;
});
