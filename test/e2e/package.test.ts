import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { startProfileSession } from "../commands/profile-dialog.ts";
import { delegate } from "../rig/delegation.ts";
import { createHome, type HomeOptions } from "../rig/home.ts";
import { type ModelServer, startModelServer, text } from "../rig/model-server.ts";
import { type PackedPackage, packPackage } from "../rig/package.ts";
import { runPi } from "../rig/pi.ts";

const TOOLS = [
	...["delegate_to_subagents", "get_subagent_output", "get_subagent_session", "list_subagent_profiles"],
	...["subagent", "background_agent", "background_agent_status"],
];

describe("the built package, installed", { concurrency: 1 }, () => {
	let server: ModelServer;
	let packed: PackedPackage;
	before(async () => {
		server = await startModelServer(() => text("ok"));
		packed = packPackage();
	});
	after(async () => {
		await server.close();
		packed.dispose();
	});
	const homeWith = (directory: string, options: HomeOptions = {}) =>
		createHome(server, { ...options, settings: { packages: [directory] } });

	test("It delegates, with all of its programs (A1)", async (context) => {
		const home = createHome(server);
		context.after(() => home.dispose());
		const { result, parentRequests, stderr } = await delegate(home, server, {
			extension: packed.extension,
			args: { tasks: [{ name: "one", prompt: "hello" }] },
			child: () => text("done"),
		});
		assert.match(result.text, /^✓ one: completed \(session: [0-9a-f]{16}\)$/);
		assert.deepEqual(parentRequests[0]?.tools.filter((name) => TOOLS.includes(name)).sort(), TOOLS.toSorted());
		assert.equal(stderr, "");
	});

	test("It writes definitions, with yaml in a file of its own (A154)", async (context) => {
		const { size } = statSync(join(packed.directory, "dist/index.cjs"));
		assert.ok(size < 400_000, `${size} bytes: yaml has a file of its own`);
		const home = createHome(server);
		context.after(() => home.dispose());
		const session = startProfileSession(home, packed.extension);
		const created = await session.command("/profile create maker", [
			[/^Scope /, `Global (${join(home.agentDir, "agent-profiles")})`],
			[/^Description/, undefined],
			[/^Provider /, "mock"],
			[/^Model /, "mock-2"],
			[/^Set a system prompt\? /, "No"],
			[/^Append a text/, "Yes"],
			[/^Appended to/, "a, b: c\n  d"],
			[/^Set a thinking level\? /, "No"],
			[/^Restrict the tools\? /, "No"],
			[/^Configure extensions\? /, "No"],
			[/^Configure skills\? /, "No"],
			[/^Save global profile "maker"\? /, true],
		]);
		await session.end();
		assert.match(created.notice, /^Saved global profile "maker": /);
		const text = readFileSync(join(home.agentDir, "agent-profiles/maker.md"), "utf8");
		assert.match(text, /^---\nname: maker\n.*a, b: c\n +d\n/s);
	});

	test("Issue 9.2: in a child nothing of it is loaded", async (context) => {
		const broken = packPackage();
		writeFileSync(join(broken.directory, "dist/index.cjs"), 'throw new Error("it was loaded");');
		const home = homeWith(broken.directory);
		context.after(() => {
			home.dispose();
			broken.dispose();
		});
		const parent = await runPi(home, { prompt: "hello" }).done;
		assert.match(parent.stderr, /it was loaded/, "without the marker of a child it is, so the test can tell");
		const before = server.requests.length;
		const child = await runPi(home, { prompt: "hello", env: { PI_SUBAGENTS_CHILD: "1" } }).done;
		assert.deepEqual([child.code, child.stderr], [0, ""]);
		assert.deepEqual(
			server.requests[before]?.tools.filter((name) => TOOLS.includes(name)),
			[],
		);
	});
});
