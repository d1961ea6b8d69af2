import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createHome } from "../rig/home.ts";
import { startModelServer, text } from "../rig/model-server.ts";
import { runPi } from "../rig/pi.ts";

const PACKAGE = join(import.meta.dirname, "..", "..");
const WORKFLOWS = join(PACKAGE, "workflows");

test("The package's workflows are prompts of pi; they know no chain and bring no roles (B69, X3)", async (t) => {
	const server = await startModelServer(() => text("fine"));
	const home = createHome(server, { settings: { packages: [PACKAGE] } });
	t.after(async () => {
		await server.close();
		home.dispose();
	});
	const pi = runPi(home, { mode: "rpc" });
	pi.send({ type: "get_commands", id: "commands" });
	const answer = await pi.waitForEvent((event) => event.type === "response" && event.id === "commands");
	const { commands } = answer.data as { commands: { name: string; source: string }[] };
	const prompts = commands.filter(({ source }) => source === "prompt").map(({ name }) => name);
	const files = readdirSync(WORKFLOWS);
	assert.ok(files.length >= 2);
	assert.deepEqual(prompts.sort(), files.map((file) => file.replace(/\.md$/, "")).sort());

	pi.send({ type: "prompt", message: "/explore-then-plan a faster start" });
	const request = await server.waitForRequest((each) => each.lastUser.includes("a faster start"));
	assert.match(request.lastUser, /^Explore with sub-agents, then plan: a faster start\n/);
	assert.doesNotMatch(request.lastUser, /\$ARGUMENTS/);
	pi.end();
	const { stderr } = await pi.done;
	assert.equal(stderr, "");

	for (const file of files) {
		const written = readFileSync(join(WORKFLOWS, file), "utf8");
		const [description = ""] = written.split("\n");
		assert.match(description, /^[A-Z].*\$ARGUMENTS$/, `${file}: pi would start its YAML parser, in every child too`);
		assert.ok(description.length <= 60, `${file}: pi cuts its description`);
		assert.doesNotMatch(written, /\bchain/i, file);
		assert.match(written, /`subagent` call|`background_agent`/, file);
		assert.doesNotMatch(written, /\b(scout|planner|reviewer|worker)s?\b/i, `${file} names a role`);
	}
});
