import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { Result } from "../../src/domain/result.ts";
import type { RunSpec } from "../../src/domain/spec.ts";
import type { Steer } from "../../src/domain/steer.ts";
import { createSteer, type SentMessage, STRANGER, sendMessage } from "../../src/run/act-on-run.ts";
import type { StartedRun } from "../../src/run/watch.ts";
import { createHome, type Home, type HomeOptions } from "../rig/home.ts";
import { type ModelServer, startModelServer } from "../rig/model-server.ts";
import { waitNoneWithEnv } from "../rig/processes.ts";
import { until } from "../rig/until.ts";

export const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));

/** A home whose runs get messages from this process, which is not the one that started them. */
export interface MessageStage {
	readonly home: Home;
	readonly server: ModelServer;
	/** The run with this task, once it is there. */
	runOf(task: string): Promise<StartedRun & { readonly spec: RunSpec }>;
	send(task: string, text: string, when?: Steer["when"]): Promise<Result<SentMessage>>;
}

export async function messageSetup(t: TestContext, options: HomeOptions = {}): Promise<MessageStage> {
	const server = await startModelServer();
	const home = createHome(server, options);
	t.after(async () => {
		await server.close();
		await waitNoneWithEnv("HOME", home.root);
		home.dispose();
	});
	const runs = join(home.project, ".pi", "subagents", "runs");
	const find = (task: string) =>
		directoriesIn(runs)
			.map((directory) => ({ directory, spec: specIn(directory) }))
			.find(({ spec }) => spec?.task === task);
	const runOf: MessageStage["runOf"] = async (task) => {
		await until(() => find(task) !== undefined, `a run that does "${task}"`);
		const { directory, spec } = find(task) ?? {};
		if (directory === undefined || !spec) throw new Error(`${task} is gone`);
		return { runId: spec.runId, socket: spec.socket, directory, spec };
	};
	return {
		home,
		server,
		runOf,
		send: async (task, text, when = "turn-end") =>
			await sendMessage(await runOf(task), createSteer(text, when), STRANGER),
	};
}

function directoriesIn(runs: string): string[] {
	try {
		return readdirSync(runs).map((name) => join(runs, name));
	} catch {
		return [];
	}
}

function specIn(directory: string): RunSpec | undefined {
	try {
		return JSON.parse(readFileSync(join(directory, "meta.json"), "utf8")) as RunSpec;
	} catch {
		return undefined;
	}
}
