import { readFileSync } from "node:fs";
import { toolOutcomes } from "../test/rig/delegation.ts";
import { createHome, type Home } from "../test/rig/home.ts";
import {
	type ModelRequest,
	type ModelServer,
	type Reply,
	type ScriptedCall,
	text,
	toolCalls,
} from "../test/rig/model-server.ts";
import { type PiOptions, type PiRun, runPi } from "../test/rig/pi.ts";
import { processesWithEnv, waitNoneWithEnv } from "../test/rig/processes.ts";
import type { System } from "./systems.ts";

/** What is to be done, and how fast the models are. */
export interface Work {
	readonly tasks: number;
	/** How long the parent's model takes to write the call. */
	readonly writingMs: number;
	/** How long a child's model thinks in each of its turns, and how many there are; in all but the last it calls a tool. */
	readonly turnMs: number;
	readonly turns: number;
}

/** From the moment the call was complete, in milliseconds. */
export interface Sample {
	readonly first: number;
	readonly all: number;
	readonly result: number;
	/** Of pi and of all that it started and waited for. */
	readonly cpuSeconds: number;
}

export const CONCURRENCY = 4;
const PROMPT = "please delegate";
const TASK = "the work of a child";
const TIMEOUT_MS = 120_000;
const CHUNK_CHARS = 8;
const TICKS_PER_SECOND = 100;
const KB = 1024;

export const homeFor = (server: ModelServer, system?: System): Home => {
	const home = createHome(server, system && { settings: system.settings });
	system?.prepare(home);
	return home;
};

/** One call of the system's tool by a real pi. Undefined where the system cannot do that much. */
export async function sampleSystem(
	home: Home,
	server: ModelServer,
	system: System,
	work: Work,
	options: StartOptions = {},
): Promise<Sample | undefined> {
	const calls = system.calls(promptsOf(work.tasks));
	if (!calls) return undefined;
	const before = server.requests.length;
	const cpu = cpuSeconds();
	serve(server, calls, work.writingMs, async (request) => childReply(request, work));
	const parent = runPi(home, { ...options, prompt: PROMPT, timeoutMs: TIMEOUT_MS });
	const { from, to } = await timesOf(parent, calls.length);
	const { events } = await parent.done;
	await waitNoneWithEnv("HOME", home.root, TIMEOUT_MS);
	const failed = toolOutcomes(events).find(({ isError }) => isError);
	if (failed) throw new Error(`${system.name}: ${failed.text}`);
	return {
		...requestTimes(server, before, from, work.tasks, system.name),
		result: to - from,
		cpuSeconds: cpuSeconds() - cpu,
	};
}

/** The same work by pi processes that are started by hand, as many at a time. */
export async function sampleBare(home: Home, server: ModelServer, work: Work): Promise<Sample> {
	const { tasks } = work;
	server.use((request) => childReply(request, work));
	const before = server.requests.length;
	const cpu = cpuSeconds();
	const from = performance.now();
	const waiting = promptsOf(tasks);
	const worker = async () => {
		for (let prompt = waiting.shift(); prompt !== undefined; prompt = waiting.shift()) {
			await runPi(home, { prompt, timeoutMs: TIMEOUT_MS }).done;
		}
	};
	await Promise.all(Array.from({ length: Math.min(tasks, CONCURRENCY) }, worker));
	const result = performance.now() - from;
	return { ...requestTimes(server, before, from, tasks, "pi"), result, cpuSeconds: cpuSeconds() - cpu };
}

/** Megabytes of all processes together while `CONCURRENCY` tasks wait for their models; for pi alone, of one that waits. */
export async function sampleMemory(
	home: Home,
	server: ModelServer,
	system?: System,
	options: StartOptions = {},
): Promise<number> {
	const calls = system?.calls(promptsOf(CONCURRENCY)) ?? [];
	const waiting = Promise.withResolvers<void>();
	const before = server.requests.length;
	serve(server, calls, 0, async () => {
		await waiting.promise;
		return text("ok");
	});
	const parent = runPi(home, { ...options, prompt: system ? PROMPT : TASK, timeoutMs: TIMEOUT_MS });
	const wanted = system ? CONCURRENCY : 1;
	const asked = () => server.requests.slice(before).filter(isChild).length;
	await server.waitForRequest(({ index }) => index >= before && asked() >= wanted, TIMEOUT_MS);
	const megabytes = processesWithEnv("HOME", home.root).reduce((sum, { pid }) => sum + sharedMegabytes(pid), 0);
	waiting.resolve();
	await parent.done;
	await waitNoneWithEnv("HOME", home.root, TIMEOUT_MS);
	return megabytes;
}

type StartOptions = Pick<PiOptions, "args" | "extension" | "env">;

/** Milliseconds until pi has asked its model. */
export async function sampleStart(home: Home, server: ModelServer, options: StartOptions = {}): Promise<number> {
	server.use(() => text("ok"));
	const before = server.requests.length;
	const from = performance.now();
	const pi = runPi(home, { ...options, prompt: "hello", timeoutMs: TIMEOUT_MS });
	const { at } = await server.waitForRequest(({ index }) => index >= before, TIMEOUT_MS);
	await pi.done;
	return at - from;
}

const childReply = ({ turn }: ModelRequest, { turnMs, turns }: Work): Reply =>
	turn < turns - 1
		? toolCalls([{ name: "bash", args: { command: "true" } }], { delayMs: turnMs })
		: text("ok", { delayMs: turnMs });

const promptsOf = (tasks: number) => Array.from({ length: tasks }, (_, at) => `${TASK}, part ${at + 1}`);

const isChild = ({ messages }: ModelRequest) =>
	messages.some(({ role, text: said }) => role === "user" && said.includes(TASK));

function serve(
	server: ModelServer,
	calls: ScriptedCall[],
	writingMs: number,
	child: (request: ModelRequest) => Promise<Reply>,
): void {
	const chunks = calls.reduce((sum, { args }) => sum + Math.ceil(JSON.stringify(args).length / CHUNK_CHARS), 0);
	const writing = writingMs > 0 ? { argumentChunkDelayMs: writingMs / chunks } : {};
	server.use((request) => {
		if (isChild(request)) return child(request);
		return request.messages.at(-1)?.role === "user" ? toolCalls(calls, writing) : text("the parent is done");
	});
}

/** When the call was complete, and when its last result was there. */
async function timesOf(parent: PiRun, calls: number): Promise<{ readonly from: number; readonly to: number }> {
	await parent.waitForEvent(({ type }) => type === "tool_execution_start", TIMEOUT_MS);
	const from = performance.now();
	const ended = () => parent.events.filter(({ type }) => type === "tool_execution_end").length;
	await parent.waitForEvent(({ type }) => type === "tool_execution_end" && ended() >= calls, TIMEOUT_MS);
	return { from, to: performance.now() };
}

function requestTimes(server: ModelServer, before: number, from: number, tasks: number, name: string) {
	const times = server.requests
		.slice(before)
		.filter((request) => isChild(request) && request.turn === 0)
		.map(({ at }) => at - from);
	if (times.length !== tasks) throw new Error(`${name}: ${times.length} requests of children instead of ${tasks}`);
	return { first: Math.min(...times), all: Math.max(...times) };
}

/** What the processes that this one has waited for have used, with all of theirs. */
function cpuSeconds(): number {
	const fields = readFileSync("/proc/self/stat", "utf8").split(")").at(-1)?.trim().split(" ") ?? [];
	return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
}

/** What a process has for itself, and its part of what several share. */
function sharedMegabytes(pid: number): number {
	try {
		return Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0) / KB;
	} catch {
		return 0; // it has just ended
	}
}
