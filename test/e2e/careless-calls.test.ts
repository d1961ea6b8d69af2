import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { startDelegation } from "../rig/delegation.ts";
import { createHome, type Home } from "../rig/home.ts";
import { type ModelServer, type ScriptedCall, startModelServer, text } from "../rig/model-server.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));

describe("calls as models write them, in the real pi", () => {
	let server: ModelServer;
	let home: Home;
	before(async () => {
		server = await startModelServer();
		home = createHome(server);
		home.write(
			`${home.agentDir}/subagents/scout.md`,
			"---\nname: scout\ndescription: d\nmodel: mock/mock-1\n---\nLook.\n",
		);
		home.write("note.txt", "a note\n");
	});
	after(async () => {
		await server.close();
		home.dispose();
	});
	/** The results of these calls, made one after the other, and what the children were asked. */
	async function make(...calls: ScriptedCall[]) {
		const { results, childRequests } = await startDelegation(home, server, {
			extension: EXTENSION,
			rounds: calls.map((call) => [call]),
			child: ({ lastUser }) => text(`did ${lastUser}`),
			isParent: ({ tools }) => tools.includes("delegate_to_subagents"),
		}).done;
		return { results, asked: childRequests.map(({ lastUser }) => lastUser).sort() };
	}
	const delegateCall = (args: unknown): ScriptedCall => ({ name: "delegate_to_subagents", args }) as ScriptedCall;

	test("JSON texts are parsed, and empty optional fields count as missing", async () => {
		const task = (name: string, more = {}) => ({ name, prompt: `look at ${name}`, ...more });
		const empty = { profile: "", cwd: "", resume: "", timeout: "" };
		const { results, asked } = await make(
			delegateCall({ tasks: JSON.stringify([task("one"), task("two", { files: '["note.txt"]' })]), profile: "" }),
			delegateCall({ tasks: [JSON.stringify(task("three")), task("four", empty)] }),
			{
				name: "subagent",
				args: { preset: "scout", agent: "", sessionId: "", model: "", cwd: "", tasks: "", task: "five" },
			},
			{ name: "subagent", args: { tasks: JSON.stringify([{ preset: "scout", task: "six" }]) } },
			{ name: "background_agent_status", args: { runId: "" } },
		);
		const lines = results.map(({ text: said }) => said.replaceAll(/ \(session: [0-9a-f]+\)/g, ""));
		assert.deepEqual(lines.slice(0, 2), [
			"✓ one: completed\n✓ two: completed",
			"✓ three: completed\n✓ four: completed",
		]);
		assert.equal(lines[2], "did five");
		assert.match(lines[3] ?? "", /did six/);
		assert.match(lines[4] ?? "", /^Background agents: /);
		assert.deepEqual(asked, [
			"=== note.txt ===\na note\n\nlook at two",
			...["five", "look at four", "look at one", "look at three", "six"],
		]);
	});

	test("A field that a tool does not have is refused with the valid form, by every tool [A3]", async () => {
		const forms: Readonly<Record<string, [object, string]>> = {
			delegate_to_subagents: [{ tasks: [{ name: "a", prompt: "b" }] }, "{profile?, tasks: [{name, prompt, "],
			get_subagent_output: [{ sessionId: "x" }, "{sessionId, offset?, limit?}"],
			get_subagent_session: [{ sessionId: "x" }, "{sessionId}"],
			list_subagent_profiles: [{}, "{name?}"],
			subagent: [{ preset: "scout", task: "x" }, "{preset, task, model?, cwd?}"],
			background_agent: [{ preset: "scout", task: "x" }, "{preset, task, model?, cwd?}"],
			background_agent_status: [{}, "{runId?, includeCompleted?}"],
		};
		const { results, asked } = await make(
			...Object.entries(forms).map(([name, [args]]): ScriptedCall => ({ name, args: { ...args, verbose: true } })),
		);
		for (const [at, [name, [, form]]] of Object.entries(forms).entries()) {
			const said = results[at]?.text ?? "";
			assert.ok(said.startsWith(`${name} does not take verbose. Valid form`), said);
			assert.ok(said.includes(form), said);
			assert.equal(results[at]?.isError, true);
		}
		assert.deepEqual(asked, []);
	});
});
