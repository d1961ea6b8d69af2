import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type ToolOutcome, toolOutcomes } from "../rig/delegation.ts";
import { createHome } from "../rig/home.ts";
import {
	hang,
	type ModelRequest,
	type ModelServer,
	type ScriptedCall,
	startModelServer,
	text,
	toolCalls,
} from "../rig/model-server.ts";
import { type PiRun, runPi } from "../rig/pi.ts";
import { waitNoneWithEnv } from "../rig/processes.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));
const COMMANDS = fileURLToPath(new URL("../rig/fixtures/lifecycle-commands.ts", import.meta.url));
const isParent = (request: ModelRequest) => request.tools.includes("delegate_to_subagents");
const NOT_FOUND = /^Session ".*" not found\. The session may have expired or the ID is incorrect\.$/;

/** One pi over RPC, as somebody would use it for a while. */
interface Person {
	readonly root: string;
	/** Sends a command and waits for its answer. */
	tell(command: Record<string, unknown>): Promise<void>;
	/** The parent's model makes one call; resolves to what came of it. */
	call(call: ScriptedCall): Promise<ToolOutcome>;
	/** The same, as far as the child's first words; resolves to its session. */
	begin(call: ScriptedCall): Promise<string>;
	leave(): Promise<string>;
}

async function person(
	t: TestContext,
	child: (request: ModelRequest) => ReturnType<typeof text | typeof hang>,
): Promise<Person> {
	const server = await startModelServer();
	const home = createHome(server);
	t.after(async () => {
		await server.close();
		home.dispose();
	});
	const pi = runPi(home, {
		mode: "rpc",
		extension: EXTENSION,
		args: ["-e", COMMANDS, "--session", join(home.root, "first.jsonl")],
		timeoutMs: 60_000,
	});
	const use = (calls: readonly ScriptedCall[]) => script(server, calls, child);
	let sent = 0;
	return {
		root: home.root,
		async tell(command) {
			const id = `command-${sent++}`;
			pi.send({ ...command, id });
			const answer = await pi.waitForEvent((event) => event.type === "response" && event.id === id);
			assert.equal(answer.success, true, JSON.stringify(answer));
		},
		async call(call) {
			use([call]);
			const before = count(pi, "agent_settled");
			pi.send({ type: "prompt", message: "go on" });
			await pi.waitForEvent(() => count(pi, "agent_settled") > before);
			const outcome = toolOutcomes(pi.events).at(-1);
			assert.ok(outcome);
			return outcome;
		},
		async begin(call) {
			use([call]);
			pi.send({ type: "prompt", message: "go on" });
			const before = pi.events.length;
			const update = await pi.waitForEvent(
				(event) =>
					pi.events.indexOf(event) >= before &&
					event.type === "tool_execution_update" &&
					/half/.test(JSON.stringify(event)),
				20_000,
			);
			return (update.partialResult as { details: { sessionIds: string[] } }).details.sessionIds[0] ?? "no id";
		},
		async leave() {
			pi.end();
			const { stderr } = await pi.done;
			await waitNoneWithEnv("HOME", home.root);
			return stderr;
		},
	};
}

function script(server: ModelServer, calls: readonly ScriptedCall[], child: Parameters<typeof person>[1]): void {
	const waiting = [...calls];
	server.use((request) => {
		if (!isParent(request)) return child(request);
		const call = waiting.shift();
		return call ? toolCalls([call]) : text("the parent is done");
	});
}

const count = (pi: PiRun, type: string) => pi.events.filter((event) => event.type === type).length;
const delegation = (name: string): ScriptedCall => ({
	name: "delegate_to_subagents",
	args: { tasks: [{ name, prompt: name }] },
});
const output = (sessionId: string): ScriptedCall => ({ name: "get_subagent_output", args: { sessionId } });
const idIn = (line: string) => /\(session: ([0-9a-f]{16})\)/.exec(line)?.[1] ?? "no id";

test("A session's runs are found in it, after a reload and in its clone, and in no other session (A90, A93, X18)", async (t) => {
	const { root, tell, call, leave } = await person(t, () => text("the answer"));
	const id = idIn((await call(delegation("work"))).text);

	await tell({ type: "prompt", message: "/reload-now" });
	assert.equal((await call(output(id))).text, "the answer", "after a reload");
	await tell({ type: "clone" });
	assert.equal((await call(output(id))).text, "the answer", "in the clone");
	await tell({ type: "prompt", message: "/to-the-root" });
	assert.match((await call(output(id))).text, NOT_FOUND, "on a branch that never started it");
	await tell({ type: "new_session" });
	assert.match((await call(output(id))).text, NOT_FOUND, "in a new session");
	await tell({ type: "switch_session", sessionPath: join(root, "first.jsonl") });
	assert.equal((await call(output(id))).text, "the answer", "back in the old one");
	assert.equal(await leave(), "");
});

test("A run that is going on when the session is replaced ends with it, and is told there and only there (X18, W29)", async (t) => {
	const { root, tell, call, begin, leave } = await person(t, () => hang({ text: "half" }));
	const first = join(root, "first.jsonl");
	for (const replacement of [{ type: "new_session" }, { type: "clone" }]) {
		const id = await begin(delegation("work"));
		await tell(replacement);
		await tell({ type: "switch_session", sessionPath: first });
		const found = await call(output(id));
		assert.deepEqual([found.text, (found.details as { status: string }).status], ["half", "error"]);
		const told = readFileSync(first, "utf8")
			.split("\n")
			.filter((line) => line.includes('"customType":"pi-subagents"') && line.includes(id));
		assert.equal(told.length, 2, "one entry when it starts, one when it ends");
	}
	assert.equal(await leave(), "");
});
