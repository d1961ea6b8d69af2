import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { hang, type Reply, text, toolCall } from "../rig/model-server.ts";
import { PI_IS_1 } from "../rig/pi.ts";
import { waitNoneWithEnv } from "../rig/processes.ts";
import { until } from "../rig/until.ts";
import { createSetup, isReminder, type Setup, success } from "./agent-setup.ts";

/** Keeps the child from leaving when it has handed over its answer. */
const STAYS = `export default (pi) => pi.on("agent_end", async ({ messages }) => {
	if (JSON.stringify(messages).includes("done early")) await new Promise(() => setInterval(() => {}, 1_000));
});`;

/** What a session holds before the model has answered: pi 1.x writes the task at once, pi 0.87 nothing. */
const ASKED: readonly string[] = PI_IS_1 ? ["user"] : [];

/** What a child is at: its replies, how its events show that it is there, and what pi has stored of it then. */
const PHASES: Readonly<Record<string, { replies: Reply[]; reached: RegExp; stored: readonly string[] }>> = {
	"waiting for the first words": { replies: [hang()], reached: /"type":"turn_start"/, stored: ASKED },
	streaming: { replies: [hang({ text: "half an ans" })], reached: /"delta":"half an ans/, stored: ASKED },
	"a tool": {
		replies: [toolCall("bash", { command: "sleep 300" }, { text: "I wait." })],
		reached: /"type":"tool_execution_start"/,
		stored: ["user", "assistant", "tool"],
	},
	"leaving with its answer": {
		replies: [success("done early")],
		reached: /"type":"message_end","message":\{"role":"toolResult"/,
		stored: ["user", "assistant", "tool"],
	},
	"being corrected": {
		replies: [text("hm"), hang({ text: "well" })],
		reached: /"delta":"well/,
		stored: ["user", "assistant", "user"],
	},
};

/** Who is killed, at once. */
const VICTIMS = [["pi"], ["supervisor"], ["supervisor", "pi"], ["parent"], ["parent", "supervisor"]] as const;
type Victims = (typeof VICTIMS)[number];

interface Cell {
	readonly victims: Victims;
	readonly phase: string;
	readonly task: string;
	readonly sessionId: string;
}

const CELLS: readonly Cell[] = VICTIMS.flatMap((victims) =>
	Object.keys(PHASES).map((phase) => {
		const task = `${phase}, and then without ${victims.join(" and ")}`;
		return { victims, phase, task, sessionId: task.replaceAll(/[^a-z]+/g, "-") };
	}),
);

interface Found {
	readonly runId: string;
	readonly supervisor: number;
	readonly pi: number;
}

/** The run of a task, once it is where it is to be killed. */
async function reach(setup: Setup, { task, phase }: Cell): Promise<Found> {
	const runs = join(setup.home.project, ".pi", "subagents", "runs");
	let found: Found | undefined;
	const look = () => {
		for (const name of existsSync(runs) ? readdirSync(runs) : []) {
			const read = (file: string) => {
				const path = join(runs, name, file);
				return existsSync(path) ? readFileSync(path, "utf8") : "";
			};
			if (!read("meta.json").includes(JSON.stringify(task))) continue;
			const events = read("events.jsonl");
			if (!PHASES[phase]?.reached.test(events)) return false;
			const started = events.split("\n").find((line) => line.includes('"type":"started"')) ?? "";
			const { supervisorPid: supervisor, pid: pi } = JSON.parse(started).event;
			found = { runId: name, supervisor, pi };
		}
		return found !== undefined;
	};
	await until(look, `${task}: to be there`, 90_000);
	if (phase === "waiting for the first words") await setup.server.waitForRequest((each) => each.lastUser === task);
	return found as Found;
}

/** What the call tells of a run, if anybody is left to tell. */
function endOf(victims: Victims, phase: string): RegExp {
	const dead: readonly string[] = victims;
	if (dead.includes("parent")) return /^$/;
	if (phase === "leaving with its answer") return /SUCCESS\n[\s\S]*---\n\ndone early$/;
	return dead.includes("supervisor") ? /Error: .* was lost/ : /Error: .*SIGKILL/;
}

test("Whoever is killed in whatever phase, the session goes on with what pi had stored (C17, C23, X13, X22, X23)", {
	timeout: 240_000,
}, async (t) => {
	const setup = await createSetup(t, { settings: { subagents: { maxConcurrency: 5 } } });
	const { home, start, define, call, requestsOf, server } = setup;
	const stays = home.write(join(home.root, "stays.ts"), STAYS);
	define("prompts/scout.md", ["name: scout", "description: finds", `extensions: ${stays}`], "SCOUT BODY");
	const plays = Object.fromEntries(CELLS.map(({ phase, task }) => [task, PHASES[phase]?.replies ?? []]));
	const asTask = ({ task, sessionId }: Cell) => ({ agent: "scout", task, sessionId });

	/** One parent per set of victims; what its call told, where it lived to tell. */
	const play = async (victims: Victims) => {
		const cells = CELLS.filter((cell) => cell.victims === victims);
		const { parent, done } = start([{ tasks: cells.map(asTask) }], plays);
		const found = await Promise.all(cells.map((cell) => reach(setup, cell)));
		const dead: readonly string[] = victims;
		if (dead.includes("parent")) parent.kill("SIGKILL");
		for (const { supervisor, pi } of found) {
			if (dead.includes("supervisor")) process.kill(supervisor, "SIGKILL");
			if (dead.includes("pi")) process.kill(pi, "SIGKILL");
		}
		await Promise.all(found.map(({ runId }) => waitNoneWithEnv("PI_SUBAGENTS_RUN_ID", runId)));
		const { results } = await done;
		const blocks = (results[0]?.text ?? "").split(/\n\n(?=\[\d\/5\] )/);
		return cells.map(({ phase }, index) => ({ victims, phase, told: blocks[index] ?? "" }));
	};
	for (const victims of VICTIMS) {
		for (const { phase, told } of await play(victims))
			assert.match(told, endOf(victims, phase), `${victims}: ${phase}`);
	}

	const goOn = CELLS.map(({ sessionId }) => ({ agent: "scout", task: `go on with ${sessionId}`, sessionId }));
	const answers = Object.fromEntries(goOn.map(({ task }) => [task, [success(`went on: ${task}`)]]));
	const results = await call([{ tasks: goOn.slice(0, 13) }, { tasks: goOn.slice(13) }], answers);
	const told = results.map(({ text: said }) => said).join("\n");
	for (const [index, { phase, task }] of CELLS.entries()) {
		const next = goOn[index]?.task ?? "";
		assert.ok(told.includes(`went on: ${next}`), told);
		const [request] = requestsOf(next);
		const stored = request?.messages.slice(0, -1) ?? [];
		assert.deepEqual(
			stored.map(({ role }) => role),
			PHASES[phase]?.stored,
			task,
		);
		if (stored.length > 0) assert.equal(stored[0]?.text, task);
		assert.equal(stored.filter(isReminder).length, phase === "being corrected" ? 1 : 0);
	}
	assert.deepEqual(server.scriptErrors, []);
	const sessions = join(home.root, ".pi", "subagent-sessions");
	const files = readdirSync(sessions).flatMap((name) => readdirSync(join(sessions, name)));
	assert.deepEqual(
		files.filter((name) => name.includes("lock")),
		[],
	);
});
