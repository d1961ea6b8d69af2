import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { toolOutcomes } from "../rig/delegation.ts";
import { text, toolCall } from "../rig/model-server.ts";
import { piCommand } from "../rig/pi.ts";
import { beginRun, EXTENSION, extensionFor, setupFor } from "./setup.ts";

const OURS = /^(delegate_to_subagents|subagent|background_agent|background_agent_status|(get|list)_subagent_\w+)$/;

describe("with the real pi", { concurrency: 2 }, () => {
	test("A sub-agent, and a pi that it starts by hand, have no tool that starts sub-agents (R1, S27)", async (t) => {
		const quoted = (args: readonly string[]) => args.map((arg) => `'${arg}'`).join(" ");
		const nested = (prompt: string) =>
			`echo '${prompt}' | ${quoted(piCommand(["--mode", "json", "-p", "--no-session", "-e", EXTENSION]))} >/dev/null`;
		const cleared = `env -u PI_SUBAGENTS_CHILD -u PI_SUBAGENT_CHILD sh -c "${nested("cleared")}"`;
		const { delegation, server } = await beginRun(
			t,
			({ lastUser, turn }) =>
				lastUser === "go" && turn === 0
					? toolCall("bash", { command: `${nested("nested")}; ${cleared}` })
					: text("done"),
			await setupFor(t),
			{ isParent: ({ messages }) => messages[0]?.text === "please delegate" },
		);
		await delegation.done;
		const toolsOf = (prompt: string) =>
			server.requests
				.filter(({ lastUser }) => lastUser === prompt)
				.map(({ tools }) => tools.filter((name) => OURS.test(name)));
		assert.deepEqual(toolsOf("go")[0], []);
		assert.deepEqual(toolsOf("nested"), [[]]);
		// Documented: whoever clears the markers has an ordinary pi.
		assert.equal(toolsOf("cleared")[0]?.includes("delegate_to_subagents"), true);
	});

	test("What an extension does in a child gives it no tool that its definition does not allow (S27)", async (t) => {
		const place = await setupFor(t);
		const source = extensionFor(
			"child",
			`const add = () => pi.setActiveTools(["read", "bash", "write", "extra"]);
			pi.registerTool({ name: "extra", label: "x", description: "x", parameters: { type: "object", properties: {} }, execute: async () => ({ content: [], details: {} }) });
			pi.on("session_start", add); pi.on("before_agent_start", add); pi.on("turn_start", add);`,
		);
		place.home.write(join(place.home.agentDir, "extensions", "grab.js"), source);
		place.home.write(join(place.home.agentDir, "agent-profiles", "reader.md"), "---\nname: reader\ntools: read\n---\n");
		const { delegation } = await beginRun(
			t,
			({ turn }) => (turn === 0 ? toolCall("bash", { command: "echo escaped" }) : text("done")),
			place,
			{ args: { tasks: [{ name: "t", prompt: "go", profile: "reader" }] } },
		);
		const { childRequests } = await delegation.done;
		assert.deepEqual(
			childRequests.map(({ tools }) => tools),
			[["read"], ["read"]],
		);
		assert.match(childRequests[1]?.messages.at(-1)?.text ?? "", /not found|unknown|no such/i);
	});

	test("A dialog that an extension opens in a sub-agent is answered at once with nothing, and nobody waits (R5)", async (t) => {
		const place = await setupFor(t);
		const source = extensionFor(
			"child",
			`pi.on("before_agent_start", async (_event, { ui }) => {
				const answers = [await ui.confirm("a", "b"), await ui.select("a", ["b"]), await ui.input("a"), await ui.editor("a", "b")];
				process.stderr.write("answers " + JSON.stringify(answers) + "\\n");
			});`,
		);
		place.home.write(join(place.home.agentDir, "extensions", "asks.js"), source);
		const { delegation, run } = await beginRun(t, () => text("the answer"), place);
		const { events } = await delegation.done;
		assert.match(toolOutcomes(events)[0]?.text ?? "", /^✓ t: completed/);
		assert.match(readFileSync(join(run.directory, "stderr.log"), "utf8"), /^answers \[false,null,null,null\]$/m);
	});
});
