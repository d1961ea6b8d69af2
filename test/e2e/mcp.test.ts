import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { blocksOf } from "../docs/documents.ts";
import { type Delegation, delegate } from "../rig/delegation.ts";
import { createHome, type Home } from "../rig/home.ts";
import {
	type ModelRequest,
	type ModelServer,
	type Reply,
	startModelServer,
	status,
	text,
	toolCall,
} from "../rig/model-server.ts";
import { PI_IS_1, type PiEvent, runPi } from "../rig/pi.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));
const SERVER = fileURLToPath(new URL("../rig/fixtures/mcp-server.mjs", import.meta.url));

interface McpServer {
	readonly exposure?: "direct";
	readonly mode?: "hangs" | "dies" | "slow";
}

interface Place {
	readonly home: Home;
	readonly server: ModelServer;
	profile(name: string, ...fields: readonly string[]): void;
	agent(name: string, ...fields: readonly string[]): void;
	/** One task per profile; each child runs the script, if it has codemode, and answers with what that gave back. */
	delegate(names: readonly string[], script?: string): Promise<Answers>;
	/** A parent whose one call is a script. */
	script(code: string, child: (request: ModelRequest) => Reply): ReturnType<typeof delegate>;
	/** What the MCP servers have written down. */
	marks(): string[];
}

interface Answers {
	readonly lines: readonly string[];
	/** By task: what its first request declares, and the child's last words. */
	readonly tools: Readonly<Record<string, readonly string[]>>;
	readonly said: Readonly<Record<string, string>>;
	readonly delegation: Delegation;
}

const CODEMODE = { defaultTools: ["+codemode"] };
const LIST = "return ALL_TOOLS.map(({ name }) => name).join(' ')";
const codemode = (code: string): Reply => toolCall("codemode", { code });
const lastText = ({ messages }: ModelRequest) => messages.at(-1)?.text ?? "";
const runScript = (script: string) => (request: ModelRequest) =>
	request.turn === 0 && request.tools.includes("codemode") ? codemode(script) : text(lastText(request));

/** A home whose pi connects to MCP servers. */
async function place(t: TestContext, servers: Readonly<Record<string, McpServer>>, settings = {}): Promise<Place> {
	const server = await startModelServer();
	t.after(() => server.close());
	const home = createHome(server, { settings });
	t.after(() => home.dispose());
	const mark = join(home.root, "marks");
	const entries = Object.entries(servers).map(([name, { exposure, mode }]) => [
		name,
		{
			...{ command: process.execPath, args: [SERVER], env: { MCP_MARK: mark, MCP_MODE: mode ?? "" } },
			...(exposure && { exposure }),
		},
	]);
	home.write(`${home.agentDir}/mcp.json`, JSON.stringify({ mcpServers: Object.fromEntries(entries) }));
	const define =
		(directory: string) =>
		(name: string, ...fields: readonly string[]) =>
			void home.write(
				`${home.agentDir}/${directory}/${name}.md`,
				`---\nname: ${name}\ndescription: d\n${fields.join("\n")}\n---\n`,
			);
	return {
		home,
		server,
		profile: define("agent-profiles"),
		agent: define("prompts"),
		async delegate(names, script = LIST) {
			const delegation = await delegate(home, server, {
				extension: EXTENSION,
				args: { tasks: names.map((name) => ({ name, prompt: `as ${name}`, profile: name })) },
				child: runScript(script),
				pi: { timeoutMs: 60_000 },
			});
			const of = <T>(read: (requests: ModelRequest[]) => T) =>
				Object.fromEntries(
					names.map((name) => {
						const requests = delegation.childRequests.filter(({ messages }) =>
							messages.some((message) => message.role === "user" && message.text === `as ${name}`),
						);
						return [name, read(requests)];
					}),
				);
			return {
				lines: delegation.result.text.split("\n"),
				tools: of((requests) => requests[0]?.tools ?? []),
				said: of((requests) => {
					const last = requests.at(-1);
					return last === undefined || last.turn === 0 ? "" : (lastText(last).split("\n").at(-1) ?? "");
				}),
				delegation,
			};
		},
		script: (code, child) =>
			delegate(home, server, {
				extension: EXTENSION,
				rounds: [[{ name: "codemode", args: { code } }]],
				isParent: ({ messages }) => messages.some((message) => message.text === "please delegate"),
				child,
				pi: { timeoutMs: 60_000 },
			}),
		marks: () => (existsSync(mark) ? readFileSync(mark, "utf8").trim().split("\n") : []),
	};
}

describe("a pi with MCP servers and codemode", { skip: !PI_IS_1 && "pi 0.87 has neither" }, () => {
	test("What a definition restricts, no script of the child's can call", async (t) => {
		const { profile, delegate, marks } = await place(t, { s: {} });
		profile("denied", "denied_tools: mcp__s__echo");
		profile("none-of-s", "denied_tools: [mcp__s__*]");
		profile("listed", "tools: read, codemode");
		profile("plain");
		const names = ["denied", "none-of-s", "listed", "plain"];
		const { said, lines } = await delegate(names);
		// Only with MCP servers in the parent is codemode among the active tools that denied_tools starts from.
		assert.deepEqual(said, {
			denied: "read bash edit write mcp__s__shout",
			"none-of-s": "read bash edit write",
			listed: "read",
			plain: "read bash edit write mcp__s__echo mcp__s__shout",
		});
		assert.ok(
			lines.every((line) => line.startsWith("✓")),
			lines.join("\n"),
		);
		assert.equal(marks().filter((line) => line === "started by a child").length, 3, "not for the one that has a list");
	});

	test("A child that can use no MCP tool starts no server, and one that names a tool has it", async (t) => {
		const { profile, delegate, marks } = await place(t, { direct: { exposure: "direct" }, slow: { mode: "slow" } });
		profile("none", "noTools: true");
		profile("reader", "tools: read");
		profile("direct", "tools: read, mcp__direct__echo");
		profile("scripted", "tools: mcp__slow__echo");
		profile("pattern", "tools: mcp__slow__*");
		profile("nobody", "tools: mcp__slow__unknown");
		const names = ["none", "reader", "direct", "scripted", "pattern", "nobody"];
		const { tools, said, lines } = await delegate(names);
		assert.deepEqual(tools, {
			none: [],
			reader: ["read"],
			direct: ["read", "mcp__direct__echo"],
			scripted: ["codemode"],
			pattern: ["codemode"],
			nobody: [],
		});
		assert.deepEqual([said.scripted, said.pattern], ["mcp__slow__echo", "mcp__slow__echo mcp__slow__shout"]);
		assert.match(
			lines.at(-1) ?? "",
			/^✗ nobody: error — .*Unknown tools: "mcp__slow__unknown"\. No MCP server has offered/,
		);
		assert.ok(
			lines.slice(0, -1).every((line) => line.startsWith("✓")),
			lines.join("\n"),
		);
		assert.equal(marks().filter((line) => line === "started by a child").length, 2 * 4);
	});

	test("excludeTools hands a child no codemode and no tool_search that the session does not use [A38]", async (t) => {
		const { profile, delegate } = await place(t, {});
		profile("most", "excludeTools: bash");
		const { tools } = await delegate(["most"]);
		const expected = ["edit", "find", "grep", "ls", "read", "write"];
		assert.deepEqual(tools.most?.filter((name) => name !== "powershell").toSorted(), expected);
	});

	test("An answer is handed over by the model alone: a script cannot, and codemode does not hide the tool", async (t) => {
		const { agent, script } = await place(t, {}, { ...CODEMODE, codemode: { mode: "only" } });
		agent("scripted", "tools: read, codemode");
		const call = "return await tools.subagent({ agent: 'scripted', task: 'go' })";
		const { result, childRequests } = await script(call, (request) => {
			if (request.turn === 0) {
				return codemode("return String(await tools.subagent_finalize({ status: 'SUCCESS', result: 'lost' }))");
			}
			return toolCall("subagent_finalize", { status: "SUCCESS", result: `kept: ${lastText(request)}` });
		});
		assert.ok(childRequests[0]?.tools.includes("subagent_finalize"), String(childRequests[0]?.tools));
		assert.match(result.text, /"status":"SUCCESS".*"text":"kept: .*subagent_finalize does not exist/s);
	});

	test("A script that asks the same thing twenty times is no loop [A66]", async (t) => {
		const { profile, delegate, home } = await place(t, {});
		home.write("a.txt", "A");
		profile("scripted", "tools: read, codemode");
		const script = "let n = 0; while (n < 20) { await tools.read({ path: 'a.txt' }); n++; } return n";
		const { said, lines } = await delegate(["scripted"], script);
		assert.deepEqual([said.scripted, lines[0]?.slice(0, 20)], ["20", "✓ scripted: complete"]);
	});

	test("The documented script delegates, reads the answers and delegates again", async (t) => {
		const { script } = await place(t, {}, CODEMODE);
		const [example] = blocksOf("docs/tools.md").filter(({ language }) => language === "js");
		const answers: Readonly<Record<string, Reply>> = {
			"List the risks in packages/core, one per line.": text("a leak\nan overflow"),
			"List the risks in packages/cli, one per line.": status(400, { error: { message: "no such luck" } }),
			"List the risks in packages/docs, one per line.": text("a typo"),
			"Is this true? Answer yes or no, then why: a leak": text("yes, in line 3"),
			"Is this true? Answer yes or no, then why: an overflow": text("no"),
			"Is this true? Answer yes or no, then why: a typo": text("yes"),
		};
		const { result } = await script(example?.text ?? "", ({ lastUser }) => answers[lastUser] ?? text("?"));
		const returned = JSON.parse(result.text.slice(result.text.indexOf("{"))) as Record<string, unknown>;
		assert.deepEqual(returned.confirmed, [
			{ name: "core", risk: "a leak" },
			{ name: "docs", risk: "a typo" },
		]);
		assert.match(String(returned.failed), /^cli: .*no such luck/);
	});

	test("The footer says how many tasks of a script's call run and what they do, until the call has ended", async (t) => {
		const { home, server } = await place(t, {}, CODEMODE);
		const release = Promise.withResolvers<void>();
		server.use(async (request) => {
			if (request.lastUser === "please delegate") {
				const call = "tools.delegate_to_subagents({ tasks: [{ name: 'waiter', prompt: 'wait' }] })";
				return request.turn === 0 ? codemode(`return await ${call}`) : text("the parent is done");
			}
			if (request.turn === 0) return toolCall("bash", { command: "sleep 1; echo waited" });
			await release.promise;
			return text("waited");
		});
		const parent = runPi(home, { prompt: "please delegate", extension: EXTENSION, mode: "rpc", timeoutMs: 60_000 });
		const statusOf = ({ type, method, statusText }: PiEvent) =>
			type === "extension_ui_request" && method === "setStatus" ? String(statusText ?? "") : "none";
		await parent.waitForEvent(
			(event) => /^script agents: 1 running · waiter: bash sleep 1/.test(statusOf(event)),
			30_000,
		);
		release.resolve();
		await parent.waitForEvent((event) => event.type === "agent_settled");
		const told = parent.events.map(statusOf).filter((status) => status !== "none" && !status.startsWith("agents:"));
		assert.equal(told.at(-1), "", "nothing is left of it in the footer");
		parent.end();
		await parent.done;
	});

	test("A script gets values from subagent too, also when every task has failed", async (t) => {
		const { script, home } = await place(t, {}, CODEMODE);
		home.write(`${home.agentDir}/subagents/scout.md`, "---\nname: scout\ndescription: d\nmodel: mock-1\n---\n");
		const call = (task: string) => `await tools.subagent({ preset: 'scout', task: '${task}' })`;
		const { result } = await script(`return [${call("works")}, ${call("fails")}]`, ({ lastUser }) =>
			lastUser === "works" ? text("found it") : status(400, { error: { message: "no such luck" } }),
		);
		const [works, fails] = JSON.parse(result.text.slice(result.text.indexOf("["))) as { tasks: object[] }[];
		const shapeOf = (task: object | undefined) => ({ ...task, sessionId: "" });
		assert.deepEqual(works?.tasks.map(shapeOf), [
			{ name: "scout", status: "completed", sessionId: "", text: "found it" },
		]);
		const [failed] = fails?.tasks.map(shapeOf) ?? [];
		assert.deepEqual({ ...failed, error: "" }, { name: "scout", status: "failed", sessionId: "", text: "", error: "" });
		assert.match(JSON.stringify(failed), /no such luck/);
	});

	for (const mode of ["hangs", "dies"] as const) {
		test(`A server that ${mode} neither fails nor delays a run that does not use it`, async (t) => {
			const { profile, delegate } = await place(t, { s: { mode } });
			profile("plain");
			profile("reader", "tools: read");
			const startedAt = performance.now();
			const { lines, delegation } = await delegate(["plain", "reader"], "return 1");
			assert.ok(
				lines.every((line) => line.startsWith("✓")),
				lines.join("\n"),
			);
			assert.ok(performance.now() - startedAt < 30_000);
			assert.equal(delegation.code, 0);
		});
	}
});
