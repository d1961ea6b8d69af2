import assert from "node:assert/strict";
import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createHome, type Home } from "../rig/home.ts";
import {
	type ModelRequest,
	type ModelServer,
	type Reply,
	startModelServer,
	status,
	text,
	toolCall,
	toolCalls,
} from "../rig/model-server.ts";
import { startPiTerminal } from "../rig/pi-terminal.ts";
import { processesWithEnv, waitNoneWithEnv } from "../rig/processes.ts";
import { type Terminal, terminalMissing } from "../rig/terminal.ts";
import { watchProcesses } from "./process-watch.ts";
import { EXTENSION, kill } from "./setup.ts";

/** One for every way in which a key can come. */
const KEYS = {
	literal: "sk-literal-0123456789-canary",
	variable: "sk-variable-0123456789-canary",
	command: "sk-command-0123456789-canary",
	echoed: "sk-echoed-0123456789-canary",
	background: "sk-background-0123456789-canary",
	stored: "sk-stored-0123456789-canary",
	environment: "sk-environment-0123456789-canary",
};
/** In the person's own environment, and so in that of all that they start: S12. */
const OF_THE_PERSON = [KEYS.variable, KEYS.environment];
const PROFILES = ["literal", "variable", "command", "echoed", "environment"];

function place(t: TestContext, server: ModelServer): Home {
	const models = [{ id: "other-1", name: "other-1", contextWindow: 128_000, maxTokens: 8_192, input: ["text"] }];
	const other = { baseUrl: server.url, api: "openai-completions", apiKey: "$RIG_OTHER_KEY", models };
	const env = { RIG_CANARY_KEY: KEYS.variable, RIG_OTHER_KEY: KEYS.environment };
	const home = createHome(server, { providers: { other }, env, settings: { tuiMode: "regular" } });
	t.after(async () => {
		for (const { pid } of processesWithEnv("HOME", home.root)) kill(pid);
		await waitNoneWithEnv("HOME", home.root);
		home.dispose();
	});
	writeFileSync(join(home.agentDir, "auth.json"), JSON.stringify({ mock: { type: "api_key", key: KEYS.stored } }));
	const define = (path: string, lines: string) =>
		chmodSync(home.write(join(home.agentDir, path), `---\n${lines}---\n`), 0o600);
	const profile = (name: string, lines: string) => define(`agent-profiles/${name}.md`, `name: ${name}\n${lines}`);
	profile("literal", `apiKey: ${KEYS.literal}\n`);
	profile("variable", "apiKey: $RIG_CANARY_KEY\n");
	// The key itself is not in the file: only what makes it.
	profile("command", `apiKey: "!printf %s-%s-%s-%s ${KEYS.command.split("-").join(" ")}"\n`);
	profile("echoed", `apiKey: ${KEYS.echoed}\n`);
	profile("environment", "model: other/other-1\n");
	define("subagents/courier.md", `name: courier\ndescription: d\nmodel: mock/mock-2\napiKey: ${KEYS.background}\n`);
	return home;
}

function answer(request: ModelRequest): Reply {
	const { lastUser, turn, messages } = request;
	if (messages[0]?.text === "please delegate") {
		const tasks = [...PROFILES, "stored"].map((name) => ({
			...{ name, prompt: name },
			...(name === "stored" ? {} : { profile: name }),
		}));
		if (turn === 0) return toolCalls([{ name: "delegate_to_subagents", args: { tasks } }]);
		if (turn === 1) return toolCalls([{ name: "background_agent", args: { preset: "courier", task: "background" } }]);
		return text("it is over");
	}
	// Providers that quote the key in their error, and models that say it.
	if (lastUser === "echoed") return status(401, { error: { message: `bad key ${KEYS.echoed}` } });
	if (lastUser === "stored" || lastUser === "environment") return status(401, { error: `bad key ${KEYS[lastUser]}` });
	if (lastUser === "background") return status(401, { error: { message: `bad key ${KEYS.background}` } });
	if (lastUser === "literal" && turn === 0) return toolCall("bash", { command: "env; cat /proc/$PPID/environ" });
	return text(lastUser === "literal" ? `I was given ${KEYS.literal}` : `fine, ${lastUser}`);
}

/** Every screen while something is waited for. */
async function screensUntil(terminal: Terminal, wanted: RegExp): Promise<string[]> {
	const screens: string[] = [];
	for (const deadline = performance.now() + 60_000; performance.now() < deadline; ) {
		screens.push(await terminal.capture({ scrollback: true }));
		if (wanted.test(screens.at(-1) ?? "")) return screens;
	}
	throw new Error(`${wanted} did not appear:\n${screens.at(-1)}`);
}

/** The files below a directory that hold the text, as paths from there. */
const filesWith = (root: string, needle: string): string[] =>
	readdirSync(root, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.map((entry) => join(entry.parentPath, entry.name))
		.filter((path) => readFileSync(path).includes(needle))
		.map((path) => path.slice(root.length + 1));

test("A key that came in whatever way is in no argument, environment, file, message or screen (S10, S11, S13, I5)", {
	skip: terminalMissing() ?? false,
}, async (t) => {
	const server = await startModelServer(answer);
	t.after(() => server.close());
	const home = place(t, server);
	const watch = watchProcesses(home.root, {
		inArguments: Object.values(KEYS),
		inEnvironment: Object.values(KEYS).filter((key) => !OF_THE_PERSON.includes(key)),
	});
	const session = join(home.root, "session.jsonl");
	const terminal = await startPiTerminal(home, { extension: EXTENSION, args: ["--session", session], rows: 45 });
	const screens: string[] = [];
	try {
		await terminal.type("please delegate");
		await terminal.sendKeys("Enter");
		screens.push(...(await screensUntil(terminal, /Background agent courier \([\w-]+\) failed/)));
		await terminal.sendKeys("C-o");
		screens.push(...(await screensUntil(terminal, /I was given \[redacted\]/)));
		await terminal.type("/profile show literal");
		await terminal.sendKeys("Enter");
		screens.push(...(await screensUntil(terminal, /apiKey: sk-l\*\*\*\*anary/)));
	} finally {
		await terminal.dispose();
	}
	await waitNoneWithEnv("HOME", home.root);
	const { looks, pids, programs, leaks } = watch.stop();
	assert.deepEqual([...leaks], []);
	assert.ok(looks > 100 && pids >= 15, `${looks} looks at ${pids} processes`);
	for (const program of ["pi", "pi-subagents"]) assert.ok(programs.has(program), [...programs].join());

	// Each was really used, and by its own task alone.
	const used = (task: string) =>
		server.requests.find(({ messages }) => messages[0]?.text === task)?.headers.authorization;
	for (const [task, key] of Object.entries(KEYS)) assert.equal(used(task), `Bearer ${key}`, task);

	const told = JSON.stringify(server.requests.map(({ body }) => body));
	for (const key of Object.values(KEYS)) {
		// What a child's bash prints of the person's own environment is for its model to read, as in pi.
		if (!OF_THE_PERSON.includes(key)) assert.ok(!told.includes(key), `${key} was told to a model`);
		for (const screen of screens) assert.ok(!screen.includes(key), `${key} on the screen:\n${screen}`);
	}
	assert.ok(screens.some((screen) => screen.includes("bad key [redacted]")));
	assert.deepEqual(filesWith(home.root, KEYS.literal), ["agent/agent-profiles/literal.md"]);
	assert.deepEqual(filesWith(home.root, KEYS.echoed), ["agent/agent-profiles/echoed.md"]);
	assert.deepEqual(filesWith(home.root, KEYS.background), ["agent/subagents/courier.md"]);
	assert.deepEqual(filesWith(home.root, KEYS.stored), ["agent/auth.json"]);
	assert.deepEqual(filesWith(home.root, KEYS.command), []);
	assert.deepEqual(filesWith(home.root, `bad key ${KEYS.environment}`), []);
	assert.match(readFileSync(session, "utf8"), /bad key \[redacted\]/);
});
