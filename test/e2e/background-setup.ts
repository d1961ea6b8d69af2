import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { type ToolOutcome, toolOutcomes } from "../rig/delegation.ts";
import { createHome, type Home, type HomeOptions } from "../rig/home.ts";
import {
	type ModelRequest,
	type ModelServer,
	type ScriptedCall,
	startModelServer,
	text,
	toolCalls,
} from "../rig/model-server.ts";
import { type PiEvent, type PiOptions, type PiRun, runPi } from "../rig/pi.ts";
import { waitNoneWithEnv } from "../rig/processes.ts";
import { until } from "../rig/until.ts";

export const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));
const COMMANDS = fileURLToPath(new URL("../rig/fixtures/lifecycle-commands.ts", import.meta.url));
export const MESSAGE = "pi-subagents:bg-completed";
export const RUN = "pi-subagents:bg-run";
export const UPDATE = "pi-subagents:bg-update";
/** Words of a prompt after which the parent's model does not answer until it may. */
export const HOLD = "take your time";

export const isParent = (request: ModelRequest) => request.tools.includes("get_subagent_output");
export const background = (task: string, more: object = {}): ScriptedCall => ({
	name: "background_agent",
	args: { preset: "scout", task, ...more },
});
export const status = (args: object = {}): ScriptedCall => ({ name: "background_agent_status", args });
export const runIdIn = (outcome: ToolOutcome | undefined): string =>
	/run: (\d{8}-\d{6}-[0-9a-f]{8})/.exec(outcome?.text ?? "")?.[1] ?? `no run: ${outcome?.text}`;

/** A home with the preset `scout`, and a model whose children answer when they are told to. */
export interface Setup {
	readonly home: Home;
	readonly server: ModelServer;
	/** The session file that parents use. */
	readonly session: string;
	/** Lets the child with this task answer `answer of <task>`. */
	release(task: string): void;
	/** Lets the parent's model answer what it has held back, and all that follows. */
	releaseParent(): void;
	/** The parent's model makes these calls, one per request, before it answers. */
	script(...calls: ScriptedCall[]): void;
	/** One pi over RPC, as somebody would use it for a while. */
	person(options?: PiOptions): Person;
	/** `pi -p` with these calls, to its end. */
	print(...calls: ScriptedCall[]): Promise<{ readonly outcomes: ToolOutcome[]; readonly stderr: string }>;
	/** What the session file has of a type: the data of entries, the details of messages. */
	entries(customType: string, session?: string): Readonly<Record<string, unknown>>[];
	directoryOf(runId: string): string;
	/** Every run directory there is. */
	runs(): string[];
	ended(runId: string): Promise<void>;
}

export interface Person {
	readonly pi: PiRun;
	tell(command: Record<string, unknown>): Promise<PiEvent>;
	/** Sends a prompt and resolves when the agent has settled; the outcomes of the calls it made. */
	ask(message: string): Promise<ToolOutcome[]>;
	/** What the extension asked the screen for. */
	shown(method: "notify" | "setStatus"): string[];
	leave(): Promise<string>;
}

export async function setUp(t: TestContext, options: HomeOptions = {}): Promise<Setup> {
	const server = await startModelServer();
	const { subagents, ...settings } = options.settings ?? {};
	// Where nothing else is said, `pi -p` leaves its runs behind, as a process that is killed does.
	const home = createHome(server, {
		...options,
		settings: { ...settings, subagents: { waitInPrintMode: false, ...(subagents as object | undefined) } },
	});
	home.write(
		join(home.agentDir, "subagents", "scout.md"),
		"---\nname: scout\ndescription: looks around\nmodel: mock/mock-2\ntools: read,ls\n---\nYou look around.\n",
	);
	t.after(async () => {
		await server.close();
		await waitNoneWithEnv("HOME", home.root);
		home.dispose();
	});
	const children = new Map<string, PromiseWithResolvers<void>>();
	const gateOf = (task: string) => {
		const gate = children.get(task) ?? Promise.withResolvers<void>();
		children.set(task, gate);
		return gate;
	};
	const parent = Promise.withResolvers<void>();
	let waiting: ScriptedCall[] = [];
	server.use(async (request) => {
		if (!isParent(request)) {
			await gateOf(request.lastUser).promise;
			return text(`answer of ${request.lastUser}`, { usage: { input: 11, output: 5 } });
		}
		const call = waiting.shift();
		if (call) return toolCalls([call]);
		if (request.messages.some((message) => message.text.includes(HOLD))) await parent.promise;
		return text("the parent is done");
	});
	const session = join(home.root, "session.jsonl");
	const runs = join(home.project, ".pi", "subagents", "runs");
	const script: Setup["script"] = (...calls) => {
		waiting = calls;
	};
	const self: Setup = {
		home,
		server,
		session,
		release: (task) => gateOf(task).resolve(),
		releaseParent: () => parent.resolve(),
		script,
		person: (more) => person(home, session, more),
		async print(...calls) {
			script(...calls);
			const end = await runPi(home, { prompt: "go on", extension: EXTENSION, args: ["--session", session] }).done;
			return { outcomes: toolOutcomes(end.events), stderr: end.stderr };
		},
		entries: (customType, file = session) => entriesOf(file, customType),
		directoryOf: (runId) => join(runs, runId),
		runs: () => (existsSync(runs) ? readdirSync(runs).filter((name) => /^\d/.test(name)) : []),
		ended: (runId) => until(() => existsSync(join(runs, runId, "result.json")), `the result of ${runId}`),
	};
	return self;
}

function entriesOf(file: string, customType: string): Readonly<Record<string, unknown>>[] {
	if (!existsSync(file)) return [];
	return readFileSync(file, "utf8")
		.split("\n")
		.filter((line) => line.includes(`"customType":"${customType}"`))
		.map((line) => JSON.parse(line))
		.map(({ data, details }) => data ?? details);
}

function person(home: Home, session: string, options: PiOptions = {}): Person {
	const pi = runPi(home, {
		mode: "rpc",
		extension: EXTENSION,
		timeoutMs: 90_000,
		...options,
		args: ["-e", COMMANDS, "--session", session, ...(options.args ?? [])],
	});
	let sent = 0;
	const settled = () => pi.events.filter((event) => event.type === "agent_settled").length;
	const tell: Person["tell"] = async (command) => {
		const id = `command-${sent++}`;
		pi.send({ ...command, id });
		const answer = await pi.waitForEvent((event) => event.type === "response" && event.id === id);
		assert.equal(answer.success, true, JSON.stringify(answer));
		return answer;
	};
	return {
		pi,
		tell,
		async ask(message) {
			const before = settled();
			const outcomes = toolOutcomes(pi.events).length;
			await tell({ type: "prompt", message });
			await pi.waitForEvent(() => settled() > before);
			return toolOutcomes(pi.events).slice(outcomes);
		},
		shown: (method) =>
			pi.events
				.filter((event) => event.type === "extension_ui_request" && event.method === method)
				.map((event) => String(method === "notify" ? event.message : event.statusText)),
		async leave() {
			pi.end();
			return (await pi.done).stderr;
		},
	};
}
