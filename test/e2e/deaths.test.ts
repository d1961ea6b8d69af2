import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { RunResult } from "../../src/domain/run-result.ts";
import { type RunningDelegation, startDelegation, toolOutcomes } from "../rig/delegation.ts";
import { createHome, type Home } from "../rig/home.ts";
import { hang, type ModelServer, startModelServer, toolCall } from "../rig/model-server.ts";
import { processesWithEnv, waitGone, waitNoneWithEnv } from "../rig/processes.ts";

const EXTENSION = fileURLToPath(new URL("../../index.js", import.meta.url));
const MARKER = "PI_SUBAGENTS_RUN_ID";
/** One job in pi's own bash, one that ignores SIGHUP, one in a session of its own. */
const JOBS = "nohup sleep 301 >/dev/null 2>&1 & setsid sleep 302 >/dev/null 2>&1 & sleep 303";
const SAID = "I start three jobs.";

interface Setup {
	readonly home: Home;
	readonly delegation: RunningDelegation;
	readonly runId: string;
	readonly directory: string;
	readonly supervisor: number;
	readonly result: () => RunResult;
}

describe("with the real pi and jobs in its bash", { concurrency: 2 }, () => {
	const servers: ModelServer[] = [];
	const homes: Home[] = [];
	const setups: Setup[] = [];
	after(async () => {
		for (const { runId, delegation } of setups) {
			delegation.parent.kill("SIGKILL");
			for (const { pid } of processesWithEnv(MARKER, runId)) process.kill(pid, "SIGKILL");
		}
		await Promise.all(servers.map((server) => server.close()));
		for (const home of homes) home.dispose();
	});

	/** A parent with one child whose three jobs run. */
	async function play(mode: "json" | "rpc" = "json"): Promise<Setup> {
		const server = await startModelServer();
		const home = createHome(server);
		servers.push(server);
		homes.push(home);
		const delegation = startDelegation(home, server, {
			extension: EXTENSION,
			args: { tasks: [{ name: "jobs", prompt: "start jobs" }] },
			child: (request) =>
				request.turn === 0 ? toolCall("bash", { command: JOBS }, { text: SAID }) : hang({ text: "and then" }),
			pi: { mode, timeoutMs: 60_000 },
		});
		const runs = join(home.project, ".pi", "subagents", "runs");
		const [runId = ""] = await waitFor(() => existsSync(runs) && readdirSync(runs).filter((name) => /^\d/.test(name)));
		const directory = join(runs, runId);
		await waitFor(() => {
			const commands = processesWithEnv(MARKER, runId).map(({ command }) => command);
			return [301, 302, 303].every((seconds) => commands.some((command) => command.includes(`sleep ${seconds}`)));
		});
		const [first = ""] = readFileSync(join(directory, "events.jsonl"), "utf8").split("\n");
		const { supervisorPid: supervisor } = JSON.parse(first).event;
		const result = () => JSON.parse(readFileSync(join(directory, "result.json"), "utf8")) as RunResult;
		const setup = { home, delegation, runId, directory, supervisor, result };
		setups.push(setup);
		return setup;
	}
	const resultText = ({ delegation }: Setup) => toolOutcomes(delegation.parent.events)[0]?.text ?? "";

	test("An abort in the middle: all gone, told as an abort, the parent lives on (A61, F21)", async () => {
		const setup = await play("rpc");
		const { parent } = setup.delegation;
		parent.send({ type: "abort" });
		await parent.waitForEvent((event) => event.type === "agent_settled" || event.type === "agent_end");
		await waitNoneWithEnv(MARKER, setup.runId);
		assert.match(resultText(setup), /^✗ jobs: error — Sub-agent was aborted \(session: \w{16}\)$/);
		assert.equal(toolOutcomes(parent.events)[0]?.isError, true);
		assert.deepEqual(setup.result().outcome, {
			kind: "failed",
			failure: { kind: "stopped", cause: { kind: "aborted", by: "caller" } },
		});
		assert.equal(setup.result().text, SAID);
		parent.end();
		assert.equal((await setup.delegation.done).code, 0);
	});

	test("SIGHUP to the parent, as from a terminal that closes: all gone (F08)", async () => {
		const setup = await play();
		setup.delegation.parent.kill("SIGHUP");
		await Promise.all([waitNoneWithEnv(MARKER, setup.runId), waitGone(setup.supervisor), setup.delegation.done]);
		assert.equal(setup.result().outcome.kind, "failed");
		assert.equal(setup.result().text, SAID);
	});
});

async function waitFor<T>(look: () => T | false): Promise<T> {
	for (const deadline = performance.now() + 20_000; ; await pause(20)) {
		const found = look();
		if (found && !(Array.isArray(found) && found.length === 0)) return found;
		assert.ok(performance.now() < deadline, "It did not happen within 20 s.");
	}
}
