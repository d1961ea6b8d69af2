import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { FAKE_PI, FAKE_PI_NO_PACKET, promptOf } from "./fake-steps.ts";
import { createHome } from "./home.ts";
import { startModelServer, status, text, toolCall } from "./model-server.ts";
import { type PiEvent, runPi } from "./pi.ts";
import { descendants, isAlive, processesWithEnv, waitGone, waitNoneWithEnv } from "./processes.ts";

interface Fake {
	child: ChildProcess;
	lifeline: NodeJS.WritableStream;
	done: Promise<{ exit: number | string; output: string; events: PiEvent[] }>;
}

function startFake(prompt: string, env: Record<string, string> = {}): Fake {
	const child = spawn(process.execPath, [FAKE_PI, "--mode", "json"], {
		env: { PATH: process.env.PATH, ...env },
		stdio: ["ignore", "pipe", "ignore", "pipe"],
	});
	const lifeline = child.stdio[3];
	assert.ok(lifeline && "write" in lifeline && child.stdout);
	lifeline.on("error", () => {});
	lifeline.write(`${JSON.stringify({ prompt })}\n`);
	let output = "";
	child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
		output += chunk;
	});
	const done = once(child, "close").then(([code, signal]) => {
		const lines = output.split("\n").filter((line) => line.startsWith("{"));
		return { exit: code ?? signal, output, events: lines.map((line): PiEvent => JSON.parse(line)) };
	});
	return { child, lifeline, done };
}

async function said(fake: Fake, words: string): Promise<void> {
	let seen = "";
	await new Promise<void>((resolve, reject) => {
		fake.child.stdout?.on("data", (chunk) => {
			seen += chunk;
			// The prompt itself has the words, too.
			if (seen.includes(`"content":"${words}"`)) resolve();
		});
		fake.child.once("exit", () => reject(new Error(`The fake ended before it said ${words}.`)));
	});
}

/** Type of each event and, for whole messages, the names of all fields; the free-form ones are left out. */
function shapes(events: PiEvent[]): string[] {
	return events
		.filter((event) => event.type !== "message_update" && event.type !== "tool_execution_update")
		.map(
			(event) => `${event.type} ${event.type === "message_end" ? keyTree(event.message) : Object.keys(event).sort()}`,
		);
}

function keyTree(value: unknown): string {
	if (Array.isArray(value)) return `[${value.map(keyTree).join(" ")}]`;
	if (typeof value !== "object" || value === null) return "";
	const entries = Object.entries(value).filter(([name]) => name !== "toolsAdded" && name !== "arguments");
	return `{${entries
		.map(([name, inner]) => name + keyTree(inner))
		.sort()
		.join(" ")}}`;
}

test("The fake prints the same events and the same message fields as the real pi", async (t) => {
	const server = await startModelServer((request) => {
		if (request.lastUser === "fail") return status(400);
		return request.turn === 0 ? toolCall("bash", { command: "echo hi" }, { text: "look" }) : text("done");
	});
	const home = createHome(server);
	t.after(async () => {
		await server.close();
		home.dispose();
	});
	const steps = promptOf({ tool: "bash", args: { command: "echo hi" }, text: "look", result: "hi\n" }, { say: "done" });
	const failing = promptOf({ say: "", stopReason: "error", errorMessage: "400" });
	const [real, fake, realFailure, fakeFailure] = await Promise.all([
		runPi(home, { prompt: "work" }).done,
		startFake(steps).done,
		runPi(home, { prompt: "fail" }).done,
		startFake(failing).done,
	]);
	assert.deepEqual(shapes(fake.events), shapes(real.events));
	assert.deepEqual(shapes(fakeFailure.events), shapes(realFailure.events));
	const updateKeys = (events: PiEvent[]) =>
		new Set(events.filter((event) => event.type === "message_update").flatMap((event) => Object.keys(event)));
	assert.deepEqual(updateKeys(fake.events), updateKeys(real.events));
});

test("The fake does what its prompt says", async () => {
	const plain = startFake("hello").done;
	const scripted = startFake(
		promptOf(
			{ env: ["RIG_VALUE", "RIG_NOTHING"] },
			{ argv: true },
			{ repeat: 2, steps: [{ raw: "stray" }] },
			{ bytes: "é\n", splitEvery: 1 },
			{ exit: 3 },
		),
		{ RIG_VALUE: "7" },
	).done;
	const killed = startFake(promptOf({ signal: "SIGKILL" })).done;
	const orphan = spawn(process.execPath, [FAKE_PI], { stdio: "ignore" });
	const [orphanCode] = await once(orphan, "exit");
	assert.equal(orphanCode, FAKE_PI_NO_PACKET);
	assert.match((await plain).output, /"text":"ok: hello"[\s\S]*"agent_settled"}\n$/);
	assert.equal((await plain).exit, 0);
	const { exit, output } = await scripted;
	assert.equal(exit, 3);
	assert.match(output, /stray\nstray\né\n$/);
	assert.ok(output.includes(JSON.stringify(JSON.stringify({ RIG_VALUE: "7", RIG_NOTHING: null }))));
	assert.ok(output.includes(JSON.stringify(JSON.stringify(["--mode", "json"]))));
	assert.equal((await killed).exit, "SIGKILL");
});

test("The fake dies with its lifeline, unless it is deaf; processes are found by their environment", async () => {
	const mark = `rig-${process.pid}`;
	const env = { RIG_MARK: mark };
	const steps = promptOf(
		{ spawn: ["sleep", "60"], detached: true },
		{ deaf: true },
		{ say: "deaf and ready" },
		{ hang: true },
	);
	const obedient = startFake(promptOf({ hang: true }));
	const deaf = startFake(steps, env);
	await said(deaf, "deaf and ready");
	obedient.lifeline.end();
	assert.equal((await obedient.done).exit, 143);

	const pid = deaf.child.pid ?? 0;
	deaf.child.kill("SIGTERM");
	deaf.lifeline.end();
	assert.ok(isAlive(pid));
	const marked = processesWithEnv("RIG_MARK", mark);
	assert.equal(marked.length, 2);
	assert.deepEqual(
		descendants(pid).map((one) => one.command),
		["sleep 60"],
	);
	await assert.rejects(waitGone(pid, 1), /still alive after 1 ms/);
	for (const one of marked) process.kill(one.pid, "SIGKILL");
	await Promise.all(marked.map((one) => waitGone(one.pid)));
	await waitNoneWithEnv("RIG_MARK", mark);
});
