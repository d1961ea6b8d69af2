import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { RunSpec } from "../../src/domain/spec.ts";
import { type RunningDelegation, startDelegation, type ToolOutcome } from "../rig/delegation.ts";
import { createHome, type Home, type HomeOptions } from "../rig/home.ts";
import {
	type ModelRequest,
	type ModelServer,
	type Reply,
	type ScriptedCall,
	type SimpleMessage,
	startModelServer,
	text,
	toolCall,
} from "../rig/model-server.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));
const REMINDER = "You have not finished";

/** What the children answer, by task: one reply per request that the task leads to. */
export type Plays = Readonly<Record<string, readonly Reply[]>>;

/** A home with agents in it, and a parent that calls them. */
export interface Setup {
	readonly home: Home;
	readonly server: ModelServer;
	/** A file in the agent directory: `prompts/scout.md`. */
	define(path: string, fields: readonly string[], body?: string): void;
	/** A parent that makes these calls, one after the other. */
	start(calls: readonly Record<string, unknown>[], plays: Plays): RunningDelegation;
	/** The same, to the end: what each call returned. */
	call(calls: readonly Record<string, unknown>[], plays: Plays): Promise<ToolOutcome[]>;
	/** The requests of all children so far that a task led to. */
	requestsOf(task: string): ModelRequest[];
	/** The runs so far, by task. */
	runs(): Map<string, { readonly spec: RunSpec; readonly directory: string }>;
}

export const isParent = (request: ModelRequest) => request.tools.includes("subagent");
export const isReminder = ({ role, text }: SimpleMessage) => role === "user" && text.startsWith(REMINDER);
export const finalize = (args: unknown): Reply => toolCall("subagent_finalize", args);
export const success = (result: string): Reply => finalize({ status: "SUCCESS", result });

const asked = ({ messages }: ModelRequest) =>
	messages.findLastIndex((message) => message.role === "user" && !isReminder(message));
/** What a child was asked to do last, also after a compaction. */
export const taskOf = (request: ModelRequest) => {
	const said = request.messages[asked(request)]?.text ?? "";
	return SUMMARY.exec(said)?.[1] ?? said;
};
/** A compaction asks for a summary of a conversation, and gets its first task. */
const CONVERSATION = /^# Conversation\n\[User\]: (.*)/;
const SUMMARY = /^A summary of: (.*)$/m;
export const isCompaction = (request: ModelRequest) => CONVERSATION.test(request.lastUser);

export async function createSetup(t: TestContext, options?: HomeOptions): Promise<Setup> {
	const server = await startModelServer();
	const home = createHome(server, options);
	const parents: RunningDelegation[] = [];
	t.after(async () => {
		for (const { parent } of parents) parent.kill("SIGKILL");
		await server.close();
		home.dispose();
	});
	const runsDirectory = join(home.project, ".pi", "subagents", "runs");
	const start: Setup["start"] = (calls, plays) => {
		const seen = new Map<string, number>();
		const delegation = startDelegation(home, server, {
			extension: EXTENSION,
			isParent,
			rounds: calls.map((args): ScriptedCall[] => [asCall(args)]),
			child(request) {
				const summarized = CONVERSATION.exec(request.lastUser)?.[1];
				if (summarized !== undefined) return text(`A summary of: ${summarized}`);
				const task = taskOf(request);
				const step = seen.get(task) ?? 0;
				seen.set(task, step + 1);
				const reply = plays[task]?.[step];
				assert.ok(reply, `request ${step + 1} of ${JSON.stringify(task)} was not expected`);
				return reply;
			},
			pi: { timeoutMs: 100_000 },
		});
		parents.push(delegation);
		return delegation;
	};
	return {
		home,
		server,
		start,
		define: (path, fields, body = "") =>
			void home.write(join(home.agentDir, path), `---\n${fields.join("\n")}\n---\n${body}`),
		async call(calls, plays) {
			const { results, stderr } = await start(calls, plays).done;
			assert.deepEqual(server.scriptErrors, []);
			assert.equal(results.length, calls.length, stderr);
			return results;
		},
		requestsOf: (task) =>
			server.requests.filter((each) => !isParent(each) && !isCompaction(each) && taskOf(each) === task),
		runs: () =>
			new Map(
				readdirSync(runsDirectory)
					.filter((name) => /^\d/.test(name))
					.sort()
					.map((name) => {
						const directory = join(runsDirectory, name);
						const spec = JSON.parse(readFileSync(join(directory, "meta.json"), "utf8")) as RunSpec;
						return [spec.task, { spec, directory }];
					}),
			),
	};
}

/** A call of `subagent`, unless it names another tool. */
function asCall({ tool = "subagent", ...args }: Record<string, unknown>): ScriptedCall {
	return { name: String(tool), args };
}
