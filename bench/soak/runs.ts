import { readdirSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createDelegateSetup, task } from "../../test/rig/delegate-setup.ts";
import { printTable } from "../figures.ts";
import { atMost, type Verdict } from "./verdict.ts";

const PER_CALL = 16;
const AT_ONCE = 4;
/** What is loaded and grown at the first use is not growth. */
const WARM_UP = 160;
const MEGABYTE = 1024 * 1024;

interface Sample {
	readonly runs: number;
	readonly rss: number;
	readonly heap: number;
	readonly files: number;
	readonly resources: number;
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** A session that delegates and delegates, with the fake pi: what its process keeps of it. */
export async function soakRuns(total: number): Promise<Verdict[]> {
	const setup = createDelegateSetup();
	try {
		const session = setup.session({}, { maxConcurrency: AT_ONCE, maxRunsPerSession: 1_000_000 });
		let runs = 0;
		let failed = 0;
		const advanceTo = async (count: number) => {
			while (runs < count) {
				const tasks = Array.from({ length: PER_CALL }, (_, index) => task(`t${index}`, { say: `run ${runs + index}` }));
				const { lines } = await session.delegate({ tasks });
				failed += lines.filter((line) => !line.startsWith("✓")).length;
				runs += PER_CALL;
			}
			return await sample(runs);
		};
		const samples = [await advanceTo(WARM_UP)];
		for (let at = 1_000; at < total; at += 1_000) samples.push(await advanceTo(at));
		samples.push(await advanceTo(total));
		printTable("The parent's process after so many runs (fake pi)", [
			["runs", "RSS", "heap", "files", "timers, sockets, …"],
			...samples.map((each) => [
				String(each.runs),
				`${(each.rss / MEGABYTE).toFixed(1)} MB`,
				`${(each.heap / MEGABYTE).toFixed(1)} MB`,
				String(each.files),
				String(each.resources),
			]),
		]);
		const [first, last] = [samples[0], samples.at(-1)];
		if (!first || !last) throw new Error("Nothing was measured.");
		const thousands = (last.runs - first.runs) / 1_000;
		return [
			{ promise: `${runs} runs complete`, measured: `${failed} did not`, kept: failed === 0 },
			atMost("parent's memory per 1,000 runs", (last.rss - first.rss) / MEGABYTE / thousands, 15, "MB"),
			atMost("files that stay open", last.files - first.files, 0, ""),
			atMost("timers, sockets and others that stay", last.resources - first.resources, 0, ""),
		];
	} finally {
		setup.dispose();
	}
}

async function sample(runs: number): Promise<Sample> {
	await pause(200); // what closes by itself may do so
	collectGarbage();
	const { rss, heapUsed: heap } = process.memoryUsage();
	const files = readdirSync("/proc/self/fd").length;
	return { runs, rss, heap, files, resources: process.getActiveResourcesInfo().length };
}
