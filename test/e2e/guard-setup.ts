import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { RunSpec } from "../../src/domain/spec.ts";
import { type RunningDelegation, startDelegation, type ToolOutcome } from "../rig/delegation.ts";
import { createHome, type Home } from "../rig/home.ts";
import {
	type ModelRequest,
	type ModelServer,
	type Reply,
	type ScriptedCall,
	startModelServer,
	text,
	toolCall,
} from "../rig/model-server.ts";
import { until } from "../rig/until.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));

/** What a child does in a turn; the last turn of each is an answer. */
export type Step = Reply | ((request: ModelRequest) => Reply | Promise<Reply>);
export type Plays = Readonly<Record<string, readonly Step[]>>;

export interface GuardStage {
	readonly home: Home;
	readonly server: ModelServer;
	/** Children of one call, at the same time: their names are their tasks. Returns what the parent was told. */
	together(plays: Plays): Promise<ToolOutcome>;
	start(rounds: ScriptedCall[][], plays: Plays): RunningDelegation;
	/** Resolves once the child has had its turn `count`, so that the results of the turn before are there. */
	turn(task: string, count: number): Promise<void>;
	/** What the child was told at last before its turn `count`. */
	told(task: string, count: number): string;
	write(path: string, content: string): void;
	read(path: string): string;
	specs(): RunSpec[];
}

export const delegateCall = (tasks: readonly string[]): ScriptedCall => ({
	name: "delegate_to_subagents",
	args: { tasks: tasks.map((name) => ({ name, prompt: name })) },
});
export const readFile = (path: string): Reply => toolCall("read", { path });
export const writeFile = (path: string, content: string): Reply => toolCall("write", { path, content });
export const editFile = (path: string, oldText: string, newText: string): ScriptedCall => ({
	name: "edit",
	args: { path, edits: [{ oldText, newText }] },
});

/** Whoever ends what a stage has started. */
export interface Cleaner {
	after(end: () => Promise<void>): void;
}

export async function createGuardStage(t: Cleaner, subagents: Record<string, unknown> = {}): Promise<GuardStage> {
	const server = await startModelServer();
	const home = createHome(server, { settings: { subagents: { runsIn: "project", ...subagents } } });
	const parents: RunningDelegation[] = [];
	t.after(async () => {
		for (const { parent } of parents) parent.kill("SIGKILL");
		await server.close();
		home.dispose();
	});
	const isParent = (request: ModelRequest) => request.tools.includes("delegate_to_subagents");
	const requestsOf = (task: string) =>
		server.requests.filter((request) => !isParent(request) && request.lastUser === task);
	const start: GuardStage["start"] = (rounds, plays) => {
		const delegation = startDelegation(home, server, {
			extension: EXTENSION,
			isParent,
			rounds,
			child: async (request) => {
				const step = plays[request.lastUser]?.[request.turn] ?? text("done");
				return typeof step === "function" ? await step(request) : step;
			},
			pi: { timeoutMs: 200_000 },
		});
		parents.push(delegation);
		return delegation;
	};
	return {
		home,
		server,
		start,
		async together(plays) {
			const { results, stderr } = await start([[delegateCall(Object.keys(plays))]], plays).done;
			assert.deepEqual(server.scriptErrors, []);
			const [result] = results;
			assert.ok(result, stderr);
			assert.equal(result.text.match(/^✓/gm)?.length, Object.keys(plays).length, result.text);
			return result;
		},
		turn: (task, count) => until(() => requestsOf(task).length > count, `turn ${count} of ${task}`),
		told: (task, count) => requestsOf(task)[count]?.messages.at(-1)?.text ?? "",
		write: (path, content) => writeFileSync(join(home.project, path), content),
		read: (path) => readFileSync(join(home.project, path), "utf8"),
		specs() {
			const runs = join(home.project, ".pi", "subagents", "runs");
			const ids = readdirSync(runs).filter((name) => /^\d/.test(name));
			return ids.map((id) => JSON.parse(readFileSync(join(runs, id, "meta.json"), "utf8")) as RunSpec);
		},
	};
}
