import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { RunResult } from "../../src/domain/run-result.ts";
import { delegate } from "../../test/rig/delegation.ts";
import { createHome } from "../../test/rig/home.ts";
import { type ModelRequest, startModelServer, text } from "../../test/rig/model-server.ts";
import { packPackage } from "../../test/rig/package.ts";
import type { Verdict } from "./verdict.ts";

const PER_CALL = 16;
const TIMEOUT_MS = 300_000;

/** So many real children of one parent that all wait for their model at the same moment, and then all answer. */
export async function soakChildren(calls: 1 | 2): Promise<Verdict[]> {
	const children = calls * PER_CALL;
	const packed = packPackage();
	const server = await startModelServer();
	const home = createHome(server, { settings: { subagents: { maxConcurrency: PER_CALL } } });
	try {
		let arrived = 0;
		const everybody = Promise.withResolvers<void>();
		const answer = async ({ lastUser }: ModelRequest) => {
			if (++arrived === children) everybody.resolve();
			await everybody.promise;
			return text(`the answer of ${lastUser}`);
		};
		const names = (call: number) => Array.from({ length: PER_CALL }, (_, index) => `child ${call * PER_CALL + index}`);
		const round = Array.from({ length: calls }, (_, call) => ({
			name: "delegate_to_subagents",
			args: { tasks: names(call).map((name) => ({ name, prompt: name })) },
		}));
		const from = performance.now();
		const { results } = await delegate(home, server, {
			extension: packed.extension,
			rounds: [round],
			child: answer,
			pi: { timeoutMs: TIMEOUT_MS },
		});
		const seconds = ((performance.now() - from) / 1_000).toFixed(1);
		const lines = results.flatMap((result) => result.text.split("\n")).filter((line) => line.startsWith("✓"));
		const answers = new Set(answersIn(join(home.project, ".pi", "subagents", "runs")));
		const expected = Array.from({ length: children }, (_, index) => `the answer of child ${index}`);
		const lost = expected.filter((each) => !answers.has(each)).length;
		return [
			{
				promise: `${children} children at once, none lost`,
				measured: `${lines.length} completed, ${lost} answers lost, ${seconds} s`,
				kept: lines.length === children && lost === 0,
			},
		];
	} finally {
		await server.close();
		home.dispose();
		packed.dispose();
	}
}

function answersIn(runs: string): string[] {
	return readdirSync(runs)
		.filter((name) => /^\d/.test(name))
		.flatMap((name) => {
			const result = JSON.parse(readFileSync(join(runs, name, "result.json"), "utf8")) as RunResult;
			return result.outcome.kind === "completed" ? [result.outcome.text] : [];
		});
}
