import assert from "node:assert/strict";
import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Delegation, delegate } from "../rig/delegation.ts";
import { createHome, type Home, MOCK_API_KEY } from "../rig/home.ts";
import { type ModelRequest, type ModelServer, startModelServer, status, text, toolCall } from "../rig/model-server.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));
const KEYS = {
	literal: "sk-literal-0123456789-canary",
	variable: "sk-variable-0123456789-canary",
	command: "sk-command-0123456789-canary",
	project: "sk-project-0123456789-canary",
	echoed: "sk-echoed-0123456789-canary",
};

let server: ModelServer;
let home: Home;

beforeEach(async () => {
	server = await startModelServer();
	home = createHome(server);
});

afterEach(async () => {
	await server.close();
	home.dispose();
});

/** Every file of the home that holds the text. */
function filesWith(needle: string): string[] {
	return readdirSync(home.root, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.map((entry) => join(entry.parentPath, entry.name))
		.filter((path) => readFileSync(path).includes(needle))
		.map((path) => path.slice(home.root.length + 1));
}
const authorization = (requests: readonly ModelRequest[], task: string) =>
	requests.filter(({ messages }) => messages[0]?.text === task).map(({ headers }) => headers.authorization);
const told = ({ events, stderr, parentRequests }: Delegation) =>
	JSON.stringify([events, stderr, parentRequests.map(({ body }) => body)]);

describe("X28 A134: a definition's own key", () => {
	test("Beats the stored one, and is nowhere but in its file and in the header", async () => {
		writeFileSync(
			join(home.agentDir, "auth.json"),
			JSON.stringify({ mock: { type: "api_key", key: "sk-stored-in-auth-json" } }),
		);
		const profile = (name: string, apiKey: string, mode: number) =>
			chmodSync(
				home.write(`${home.agentDir}/agent-profiles/${name}.md`, `---\nname: ${name}\napiKey: ${apiKey}\n---\n`),
				mode,
			);
		profile("literal", KEYS.literal, 0o600);
		profile("echoed", KEYS.echoed, 0o644);
		profile("variable", "$RIG_CANARY_KEY", 0o644);
		profile("command", `"!echo ${KEYS.command.split("-").join('"-"').replaceAll('"', "''")}"`, 0o600);
		// What the person has put into the environment is there for every child, as in pi.
		const inspect =
			"(env; tr '\\0' '\\n' < /proc/$PPID/environ; tr '\\0' ' ' < /proc/$PPID/cmdline) | grep -v RIG_CANARY_KEY; echo inspected";
		const delegation = await delegate(home, server, {
			extension: EXTENSION,
			args: {
				tasks: ["literal", "echoed", "variable", "command", "none"].map((name) => ({
					name,
					prompt: name,
					...(name === "none" ? {} : { profile: name }),
				})),
			},
			child(request) {
				const task = request.messages[0]?.text;
				// A provider that quotes the key in its error, and a model that says it.
				if (task === "echoed") return status(401, { error: { message: `bad key ${KEYS.echoed}` } });
				if (task === "literal" && request.turn === 0) return toolCall("bash", { command: inspect });
				return text(task === "literal" ? `I was given ${KEYS.literal}` : "fine");
			},
			pi: { env: { RIG_CANARY_KEY: KEYS.variable }, args: ["--session", join(home.root, "session.jsonl")] },
		});
		const bearer = (key: string) => `Bearer ${key}`;
		const { childRequests: requests } = delegation;
		assert.deepEqual(authorization(requests, "literal"), [bearer(KEYS.literal), bearer(KEYS.literal)]);
		assert.deepEqual(authorization(requests, "echoed"), [bearer(KEYS.echoed)]);
		assert.deepEqual(authorization(requests, "variable"), [bearer(KEYS.variable)]);
		assert.deepEqual(authorization(requests, "command"), [bearer(KEYS.command)]);
		assert.deepEqual(authorization(requests, "none"), [bearer("sk-stored-in-auth-json")]);

		// What the child's bash saw of its environment, and of its pi's environment and arguments.
		const inspected =
			requests.find(({ turn, messages }) => turn === 1 && messages[0]?.text === "literal")?.messages.at(-1)?.text ?? "";
		assert.match(inspected, /PI_SUBAGENTS_CHILD=1[\s\S]*inspected/);
		for (const key of [KEYS.literal, KEYS.echoed, KEYS.command]) assert.ok(!inspected.includes(key));

		assert.match(delegation.result.text, /✗ echoed: error — .*bad key \[redacted\]/);
		for (const key of Object.values(KEYS)) assert.ok(!told(delegation).includes(key), key);
		assert.deepEqual(filesWith(KEYS.literal), ["agent/agent-profiles/literal.md"]);
		assert.deepEqual(filesWith(KEYS.echoed), ["agent/agent-profiles/echoed.md"]);
		assert.deepEqual([filesWith(KEYS.variable), filesWith(KEYS.command)], [[], []]);
		// A145: it is used, with a warning, where others can read the file.
		assert.match(
			delegation.stderr,
			/^pi-subagents: Agent definitions: .*echoed\.md: holds an API key and can be read by others: chmod 600\n$/,
		);
	});
});

describe("X12: trust, in its three cases", () => {
	const project = (name: string, lines: string, body: string) =>
		home.write(`.pi/agent-profiles/${name}.md`, `---\nname: ${name}\n${lines}---\n${body}`);
	const call = (args: string[], tasks: readonly string[]) =>
		delegate(home, server, {
			extension: EXTENSION,
			args: { tasks: tasks.map((name) => ({ name, prompt: name, profile: name })) },
			child: () => text("fine"),
			pi: { args },
		});
	const approvals = () => {
		const runs = join(home.project, ".pi", "subagents", "runs");
		return readdirSync(runs)
			.filter((name) => name !== ".gitignore")
			.map((name) => JSON.parse(readFileSync(join(runs, name, "meta.json"), "utf8")).invocation.args as string[])
			.map((args) => args.filter((arg) => /approve/.test(arg)));
	};

	beforeEach(() => {
		project("shared", "", "THE PROJECT'S");
		project("keyed", `apiKey: ${KEYS.project}\nextraArgs: --no-themes\n`, "");
		home.write(`${home.agentDir}/agent-profiles/shared.md`, "---\nname: shared\n---\nTHE PERSON'S");
	});

	test("S02 case 1: a project that pi refuses supplies nothing, and a notice says so", async () => {
		home.write(".pi/settings.json", "{}");
		const { result, childRequests, stderr } = await call([], ["shared", "keyed"]);
		assert.deepEqual(
			childRequests.map(({ system }) => system.split("\n")[0]),
			["THE PERSON'S"],
		);
		assert.match(
			result.text,
			/✗ keyed: error — Unknown profile: "keyed"\. Available profiles: shared\. The project has one/,
		);
		assert.match(
			stderr,
			/agent-profiles: 2 definitions are ignored, because this project is not trusted \(trust it with \/trust/,
		);
		assert.deepEqual(approvals(), [["--no-approve"]]);
	});

	test("Case 2: where somebody said yes everything counts", async () => {
		home.write(".pi/settings.json", "{}");
		const { childRequests } = await call(["--approve"], ["shared", "keyed"]);
		assert.deepEqual(authorization(childRequests, "keyed"), [`Bearer ${KEYS.project}`]);
		assert.match(childRequests.find(({ lastUser }) => lastUser === "shared")?.system ?? "", /^THE PROJECT'S/);
		assert.deepEqual(approvals(), [["--approve"], ["--approve"]]);
	});

	test("S01 S05 case 3: where nobody was asked the definitions count, but not their far-reaching fields", async () => {
		const { result, childRequests } = await call([], ["shared", "keyed"]);
		assert.deepEqual(
			childRequests.map(({ system }) => system.split("\n")[0]),
			["THE PROJECT'S"],
		);
		assert.deepEqual(authorization(childRequests, "shared"), [`Bearer ${MOCK_API_KEY}`]);
		assert.match(
			result.text,
			/✗ keyed: error — The project's "keyed" sets extraArgs, apiKey, which only a trusted project may \(trust it with \/trust, or start pi with --approve\)/,
		);
		assert.deepEqual(approvals(), [[]]);
	});
});
