import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lookAfter, lookBefore } from "../src/child/receipt/scan.ts";
import { median, ms, printTable } from "./figures.ts";

/** What one look at a directory costs, before a run and after it: time on the clock, and of the processors (git's included). */
const FILES = 20_000;
const TIMES = 7;
const PATIENCE_MS = 60_000;

export async function benchReceipts(): Promise<void> {
	const root = realpathSync(mkdtempSync(join(tmpdir(), "pi-bench-receipts-")));
	try {
		for (let at = 0; at < FILES; at++) {
			const directory = join(root, `d${Math.floor(at / 50)}`);
			if (at % 50 === 0) mkdirSync(directory);
			writeFileSync(join(directory, `f${at}.txt`), `${at}\n`);
		}
		const walked = await measure("no repository", root);
		const git = (...args: string[]) =>
			execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0", ...args], {
				cwd: root,
				stdio: "ignore",
			});
		git("init", "-q");
		git("add", "-A");
		git("commit", "-qm", "first");
		git("status");
		const asked = await measure("git", root);
		printTable(`${FILES} files: a look by a receipt`, [["", "clock", "processor"], ...walked, ...asked]);
	} finally {
		rmSync(root, { recursive: true, force: true });
	}
}

async function measure(name: string, root: string): Promise<string[][]> {
	const figures: { readonly before: Cost; readonly after: Cost }[] = [];
	for (let time = 0; time < TIMES; time++) {
		const [look, before] = await costOf(() => lookBefore(root, PATIENCE_MS));
		const since = Date.now();
		writeFileSync(join(root, "d1", "f51.txt"), `changed ${time}\n`);
		const [found, after] = await costOf(() => lookAfter(look, since, PATIENCE_MS));
		if (found.sightings.length !== 1) throw new Error(`${name}: ${JSON.stringify(found)}`);
		figures.push({ before, after });
	}
	return (["before", "after"] as const).map((when) => {
		const costs = figures.map((each) => each[when]);
		const processor = costs.reduce((sum, each) => sum + each.processorMs, 0) / TIMES;
		return [`${name}, ${when} the run`, ms(median(costs.map(({ clockMs }) => clockMs))), ms(processor)];
	});
}

interface Cost {
	readonly clockMs: number;
	readonly processorMs: number;
}

async function costOf<T>(work: () => Promise<T>): Promise<[T, Cost]> {
	const [clock, processor] = [performance.now(), processorMs()];
	const value = await work();
	return [value, { clockMs: performance.now() - clock, processorMs: processorMs() - processor }];
}

/** Of this process and of its children that have ended: Linux counts in hundredths of a second. */
function processorMs(): number {
	const fields = readFileSync("/proc/self/stat", "utf8")
		.replace(/^.*\) /s, "")
		.split(" ");
	return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0);
}
