import { copyFileSync, cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Home } from "../test/rig/home.ts";
import { type ModelServer, startModelServer } from "../test/rig/model-server.ts";
import { homeFor, sampleMemory, sampleStart, sampleSystem } from "./delegation.ts";
import { median, ms, printTable } from "./figures.ts";
import { ourSystem, type System } from "./systems.ts";

const SESSION_RUNS = 200;
const DIRECTORIES = 1_000;
const WORK = { tasks: 1, writingMs: 2_000, turnMs: 0, turns: 2 };
const RUN_ENTRY = "pi-subagents";

interface Contestant {
	readonly name: string;
	readonly home: Home;
	/** A session of its own for each start: pi writes to it. */
	session(): string;
}

/** One parent with a long history, beside one that has had a single run: pi's start, a call, and the memory of both. */
export async function benchHistory(rounds: number): Promise<void> {
	const ours = ourSystem();
	// Nothing is deleted between the rounds.
	const settings = {
		...ours.system.settings,
		subagents: { receipts: true, maxRuns: 10_000, maxRunsPerSession: 10_000 },
	};
	const system: System = { ...ours.system, settings };
	const server = await startModelServer();
	const short = await afterOneRun(server, system, "one run in the session");
	const long = await afterOneRun(server, system, `${SESSION_RUNS} runs in the session, ${DIRECTORIES} run directories`);
	try {
		multiply(long);
		const rows = new Map(
			[short, long].map((each) => [each, { start: [], first: [], result: [], memory: [] } as Figures]),
		);
		for (let round = 0; round < rounds; round++) {
			for (const [each, figures] of rows) await sampleInto(figures, each, server, system);
		}
		printTable("A parent with a history (medians, interleaved)", [
			["", "pi's start", "first request of a call", "its result", "memory with four tasks (PSS)"],
			...[...rows].map(([{ name }, { start, first, result, memory }]) => [
				name,
				...[start, first, result].map((values) => ms(median(values))),
				`${Math.round(median(memory))} MB`,
			]),
		]);
	} finally {
		await server.close();
		for (const { home } of [short, long]) home.dispose();
		ours.dispose();
	}
}

type Figures = Readonly<Record<"start" | "first" | "result" | "memory", number[]>>;

async function sampleInto(
	{ start, first, result, memory }: Figures,
	{ home, session }: Contestant,
	server: ModelServer,
	system: System,
): Promise<void> {
	const options = () => ({ args: ["--session", session()] });
	start.push(await sampleStart(home, server, options()));
	const sample = await sampleSystem(home, server, system, WORK, options());
	if (!sample) throw new Error(`${system.name}: no sample`);
	first.push(sample.first);
	result.push(sample.result);
	memory.push(await sampleMemory(home, server, system, options()));
}

async function afterOneRun(server: ModelServer, system: System, name: string): Promise<Contestant> {
	const home = homeFor(server, system);
	const original = sessionOf(home);
	await sampleSystem(home, server, system, WORK, { args: ["--session", original] });
	let copies = 0;
	const session = () => {
		const copy = join(home.root, `session-${copies++}.jsonl`);
		copyFileSync(original, copy);
		return copy;
	};
	return { name, home, session };
}

const sessionOf = (home: Home) => join(home.root, "original.jsonl");

/** The one run again and again, in the session file and on disk, each under an id of its own. */
function multiply({ home }: Contestant): void {
	const text = readFileSync(sessionOf(home), "utf8").trimEnd();
	const entries = text.split("\n").map((line) => JSON.parse(line) as Entry);
	const kept = entries.filter(({ customType }) => customType === RUN_ENTRY);
	const [first] = kept;
	if (!first?.data) throw new Error("the session names no run");
	const { runId, sessionId, directory } = first.data;
	const idOf = (at: number) => `${runId.slice(0, -8)}${at.toString(16).padStart(8, "0")}`;
	const added: string[] = [];
	let parentId = entries.at(-1)?.id ?? "";
	for (let at = 0; at < SESSION_RUNS - 1; at++) {
		for (const [part, entry] of kept.entries()) {
			const id = `b${part}${at.toString(16).padStart(6, "0")}`;
			const line = JSON.stringify({ ...entry, id, parentId });
			const session = at.toString(16).padStart(sessionId.length, "0");
			added.push(line.replaceAll(runId, idOf(at)).replaceAll(sessionId, session));
			parentId = id;
		}
	}
	writeFileSync(sessionOf(home), `${[text, ...added].join("\n")}\n`);
	for (let at = 0; at < DIRECTORIES - 1; at++) {
		const copy = join(dirname(directory), idOf(at));
		cpSync(directory, copy, { recursive: true, preserveTimestamps: true });
		for (const name of readdirSync(copy).filter((each) => each.endsWith(".json"))) {
			const path = join(copy, name);
			writeFileSync(path, readFileSync(path, "utf8").replaceAll(runId, idOf(at)));
		}
	}
}

interface Entry {
	readonly id: string;
	readonly customType?: string;
	readonly data?: { readonly runId: string; readonly sessionId: string; readonly directory: string };
}
