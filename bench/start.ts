import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startDelegation } from "../test/rig/delegation.ts";
import { createHome, type Home } from "../test/rig/home.ts";
import { type ModelServer, startModelServer, text } from "../test/rig/model-server.ts";
import { runPi } from "../test/rig/pi.ts";
import { median, ms, printTable, times } from "./figures.ts";

/** From the call of the tool: until the first and the last child asked its model, and until the result. */
interface Sample {
	readonly first: number;
	readonly all: number;
	readonly result: number;
}

const ROOT = join(import.meta.dirname, "..");
const CONCURRENCY = 4;

/** How long a delegation takes to begin and to end, against pi processes started by hand in the same run. */
export async function benchStart(rounds: number): Promise<void> {
	const packed = packPackage();
	const server = await startModelServer(() => text("ok"));
	const home = createHome(server);
	try {
		const rows = [["tasks", "", "first request", "all requests", "result"]];
		for (const tasks of [1, 4, 16]) {
			const bare: Sample[] = [];
			const ours: Sample[] = [];
			for (let round = 0; round < Math.max(2, Math.ceil(rounds / Math.sqrt(tasks))); round++) {
				bare.push(await startByHand(home, server, tasks));
				ours.push(await startByTool(home, server, tasks, packed.extension));
			}
			const of = (samples: Sample[], pick: (sample: Sample) => number) => median(samples.map(pick));
			const picks = [(s: Sample) => s.first, (s: Sample) => s.all, (s: Sample) => s.result];
			rows.push([String(tasks), "bare pi", ...picks.map((pick) => ms(of(bare, pick)))]);
			rows.push(["", "delegated", ...picks.map((pick) => ms(of(ours, pick)))]);
			rows.push(["", "ratio", ...picks.map((pick) => times(of(ours, pick) / of(bare, pick)))]);
		}
		printTable("From the call to the children's requests and to the result (medians, interleaved)", rows);
	} finally {
		await server.close();
		home.dispose();
		packed.dispose();
	}
}

/** What the extension adds to pi's own start, until pi asks its model. */
export async function benchLoad(rounds: number): Promise<void> {
	const packed = packPackage();
	const server = await startModelServer(() => text("ok"));
	const home = createHome(server);
	try {
		const variants = { without: undefined, bundle: packed.extension, checkout: join(ROOT, "index.js") };
		const samples = { without: [] as number[], bundle: [] as number[], checkout: [] as number[] };
		for (let round = 0; round < rounds; round++) {
			for (const name of ["without", "bundle", "checkout"] as const) {
				const extension = variants[name];
				const from = performance.now();
				const pi = runPi(home, { prompt: "hello", ...(extension !== undefined && { extension }) });
				const request = await nextRequest(server, server.requests.length);
				samples[name].push(request - from);
				await pi.done;
			}
		}
		const base = median(samples.without);
		printTable("pi's start with the extension, until its first request (medians, interleaved)", [
			["", "start", "added"],
			["without", ms(base), ""],
			["as a package", ms(median(samples.bundle)), ms(median(samples.bundle) - base)],
			["from a checkout", ms(median(samples.checkout)), ms(median(samples.checkout) - base)],
		]);
	} finally {
		await server.close();
		home.dispose();
		packed.dispose();
	}
}

async function nextRequest(server: ModelServer, after: number): Promise<number> {
	const request = await server.waitForRequest(({ index }) => index >= after, 60_000);
	return request.at;
}

async function startByHand(home: Home, server: ModelServer, tasks: number): Promise<Sample> {
	server.use(() => text("ok"));
	const before = server.requests.length;
	const from = performance.now();
	let waiting = tasks;
	const work = async () => {
		while (waiting-- > 0) await runPi(home, { prompt: "hello", timeoutMs: 120_000 }).done;
	};
	await Promise.all(Array.from({ length: Math.min(tasks, CONCURRENCY) }, work));
	return sampleOf(server, before, from, performance.now());
}

async function startByTool(home: Home, server: ModelServer, tasks: number, extension: string): Promise<Sample> {
	const before = server.requests.length;
	const { parent, done } = startDelegation(home, server, {
		extension,
		args: { tasks: Array.from({ length: tasks }, (_, index) => ({ name: `t${index}`, prompt: "hello" })) },
		child: () => text("ok"),
		pi: { timeoutMs: 120_000 },
	});
	await parent.waitForEvent((event) => event.type === "tool_execution_start", 60_000);
	const from = performance.now();
	await parent.waitForEvent((event) => event.type === "tool_execution_end", 120_000);
	const to = performance.now();
	await done;
	return sampleOf(server, before, from, to, (tools) => !tools.includes("delegate_to_subagents"));
}

function sampleOf(
	server: ModelServer,
	before: number,
	from: number,
	to: number,
	isChild: (tools: readonly string[]) => boolean = () => true,
): Sample {
	const at = server.requests
		.slice(before)
		.filter(({ tools }) => isChild(tools))
		.map((request) => request.at - from);
	return { first: Math.min(...at), all: Math.max(...at), result: to - from };
}

/** The package as a person has it: the entry and the bundle, without the source. */
export function packPackage(): { readonly extension: string; dispose(): void } {
	const directory = mkdtempSync(join(tmpdir(), "pi-subagents-package-"));
	execFileSync(process.execPath, [
		"--disable-warning=ExperimentalWarning",
		join(ROOT, "scripts/build.ts"),
		join(directory, "dist"),
	]);
	for (const file of ["index.js", "package.json"]) cpSync(join(ROOT, file), join(directory, file));
	symlinkSync(join(ROOT, "node_modules"), join(directory, "node_modules"));
	return {
		extension: join(directory, "index.js"),
		dispose: () => rmSync(directory, { recursive: true, force: true }),
	};
}
