import { join } from "node:path";
import type { Home } from "../test/rig/home.ts";
import { type ModelServer, startModelServer } from "../test/rig/model-server.ts";
import { measureRequest } from "../test/rig/request-size.ts";
import { homeFor, type Sample, sampleBare, sampleMemory, sampleStart, sampleSystem, type Work } from "./delegation.ts";
import { median, ms, printTable, times } from "./figures.ts";
import { ourSystem, type System } from "./systems.ts";

const ROOT = join(import.meta.dirname, "..");
const WRITING_MS = 2_000;

const USES_A_TOOL = 2;
const ANSWERS_AT_ONCE = 1;

/**
 * Children use a tool and answer, as real ones do; those that only answer stand beside them. The model writes the call at
 * once, or as real models write it; and one call has more tasks than run at a time.
 */
const WORKS: readonly Work[] = [
	{ tasks: 1, writingMs: WRITING_MS, turnMs: 0, turns: USES_A_TOOL },
	{ tasks: 4, writingMs: WRITING_MS, turnMs: 0, turns: USES_A_TOOL },
	{ tasks: 16, writingMs: WRITING_MS, turnMs: 500, turns: USES_A_TOOL },
	{ tasks: 1, writingMs: 0, turnMs: 0, turns: USES_A_TOOL },
	{ tasks: 4, writingMs: 0, turnMs: 0, turns: USES_A_TOOL },
	{ tasks: 1, writingMs: WRITING_MS, turnMs: 0, turns: ANSWERS_AT_ONCE },
	{ tasks: 4, writingMs: WRITING_MS, turnMs: 0, turns: ANSWERS_AT_ONCE },
];

/** A system that is measured, or a bare pi, with the home that it works in. */
interface Contestant {
	readonly name: string;
	readonly system: System | undefined;
	readonly home: Home;
}

/** How long a delegation takes to begin and to end, what it costs, and what the package adds to pi, beside a bare pi. */
export async function benchStart(rounds: number): Promise<void> {
	const ours = ourSystem();
	try {
		await benchSystems([ours.system, ours.cold], rounds);
	} finally {
		ours.dispose();
	}
}

/** The first system against all others and a bare pi: everybody takes part in every round. */
export async function benchSystems(systems: readonly System[], rounds: number): Promise<void> {
	const server = await startModelServer();
	const contestants: Contestant[] = [undefined, ...systems].map((system) => ({
		name: system?.name ?? "bare pi",
		system,
		home: homeFor(server, system),
	}));
	try {
		for (const { home } of contestants) await sampleStart(home, server); // whoever is first would compile everything
		for (const work of WORKS) await benchWork(work, contestants, server, rounds);
		await benchCosts(contestants, server, rounds);
	} finally {
		await server.close();
		for (const { home } of contestants) home.dispose();
	}
}

async function benchWork(
	work: Work,
	contestants: readonly Contestant[],
	server: ModelServer,
	rounds: number,
): Promise<void> {
	const samples = new Map<Contestant, Sample[]>(contestants.map((each) => [each, []]));
	for (let round = 0; round < rounds; round++) {
		for (const each of contestants) {
			const { system, home } = each;
			const sample = system ? await sampleSystem(home, server, system, work) : await sampleBare(home, server, work);
			if (sample) samples.get(each)?.push(sample);
		}
	}
	const ours = samples.get(contestants[1] as Contestant) ?? [];
	const rows = contestants.map((each) => rowOf(each.name, samples.get(each) ?? [], ours));
	printTable(titleOf(work), [
		["", "first request", "all requests", "result", "CPU", "ours is (first)", "ours is (result)"],
		...rows,
	]);
}

function rowOf(name: string, samples: readonly Sample[], ours: readonly Sample[]): string[] {
	if (samples.length === 0) return [name, "not possible"];
	const of = (all: readonly Sample[], pick: (sample: Sample) => number) => median(all.map(pick));
	const ratio = (pick: (sample: Sample) => number) => times(of(ours, pick) / of(samples, pick));
	return [
		name,
		...[(s: Sample) => s.first, (s: Sample) => s.all, (s: Sample) => s.result].map((pick) => ms(of(samples, pick))),
		`${of(samples, ({ cpuSeconds }) => cpuSeconds).toFixed(2)} s`,
		...(samples === ours ? [] : [ratio(({ first }) => first), ratio(({ result }) => result)]),
	];
}

function titleOf({ tasks, writingMs, turnMs, turns }: Work): string {
	const written = writingMs > 0 ? `written in ${writingMs / 1_000} s` : "written at once";
	const turn = turnMs > 0 ? `, ${turnMs} ms per turn of a child's model` : "";
	const does = turns === USES_A_TOOL ? "one tool call and an answer" : "an answer and no tool call";
	return `${tasks} ${tasks === 1 ? "task" : "tasks"} (${does}), the call ${written}${turn}: from the complete call (medians, interleaved)`;
}

/** What each adds to pi without being used, and the memory that four tasks take. */
async function benchCosts(contestants: readonly Contestant[], server: ModelServer, rounds: number): Promise<void> {
	const starts = new Map<Contestant, number[]>(contestants.map((each) => [each, []]));
	for (let round = 0; round < rounds * 3; round++) {
		for (const each of contestants) starts.get(each)?.push(await sampleStart(each.home, server));
	}
	const startOf = (each: Contestant) => median(starts.get(each) ?? []);
	const [bare] = contestants;
	const bareStart = bare ? startOf(bare) : 0;
	const bareRequest = await measureRequest();
	const rows: string[][] = [];
	for (const each of contestants) {
		const { name, system, home } = each;
		const memory = `${Math.round(await sampleMemory(home, server, system))} MB`;
		const start = ms(startOf(each));
		if (!system) rows.push([name, start, "", "", `${memory} (one)`]);
		else {
			const characters = (await measureRequest({ settings: system.settings })) - bareRequest;
			rows.push([name, start, ms(startOf(each) - bareStart), String(characters), memory]);
		}
	}
	printTable(
		"What it adds to pi without being used, and the memory of everything while four tasks wait for their models",
		[["", "pi's start", "added", "characters in a request", "memory (PSS)"], ...rows],
	);
}

/** What the extension adds to pi's start: in the parent, from a checkout, and in a child that has it installed. */
export async function benchLoad(rounds: number): Promise<void> {
	const ours = ourSystem();
	const server = await startModelServer();
	const [plain, packaged] = [homeFor(server), homeFor(server, ours.system)];
	const checkout = homeFor(server, { ...ours.system, settings: { packages: [ROOT] } });
	// A child has an extension in any case, and with it pi's loader.
	const extension = plain.write(join(plain.root, "other/index.js"), "export default () => {};\n");
	const child = { extension, env: { PI_SUBAGENTS_CHILD: "1" } };
	const variants = [
		{ name: "pi", home: plain, pi: {}, against: "pi" },
		{ name: "with the package", home: packaged, pi: {}, against: "pi" },
		{ name: "with a checkout", home: checkout, pi: {}, against: "pi" },
		{ name: "pi with any extension", home: plain, pi: { extension }, against: "pi" },
		{ name: "a child", home: plain, pi: child, against: "a child" },
		{ name: "a child with the package", home: packaged, pi: child, against: "a child" },
	];
	try {
		const samples = new Map(variants.map(({ name }) => [name, [] as number[]]));
		for (const { home, pi } of variants) await sampleStart(home, server, pi);
		for (let round = 0; round < rounds; round++) {
			for (const { name, home, pi } of variants) samples.get(name)?.push(await sampleStart(home, server, pi));
		}
		const middle = (name: string) => median(samples.get(name) ?? []);
		const fastest = (name: string) => Math.min(...(samples.get(name) ?? []));
		printTable("pi's start, until its first request (medians and, less disturbed, the fastest; interleaved)", [
			["", "start", "added", "fastest", "added"],
			...variants.map(({ name, against }) => {
				const added = (of: (name: string) => number) =>
					name === against ? "" : `${ms(of(name) - of(against))} to ${against}`;
				return [name, ms(middle(name)), added(middle), ms(fastest(name)), added(fastest)];
			}),
		]);
	} finally {
		await server.close();
		for (const home of [plain, packaged, checkout]) home.dispose();
		ours.dispose();
	}
}
