import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { execute } from "../../src/run/execute.ts";
import { createSetup, endOf } from "../../test/rig/fake-run.ts";
import { atMost, type Verdict } from "./verdict.ts";

const MEGABYTE = 1024 * 1024;
const TOTAL_MB = 500;
const DELTA_CHARS = 1_000;
const SAMPLE_MS = 50;
/** It has 100 MB when it starts from a checkout, where Node strips its types; 100 MB of deltas and 1,000 come to the same. */
const SUPERVISOR_MB = 200;

/** One child that streams without end: neither its supervisor nor the parent grows with it. */
export async function soakDeltas(): Promise<Verdict[]> {
	const setup = createSetup();
	try {
		const repeat = Math.ceil((TOTAL_MB * MEGABYTE) / DELTA_CHARS);
		const before = process.memoryUsage().rss;
		const from = performance.now();
		const run = setup.prepare([{ repeat, steps: [{ delta: "x".repeat(DELTA_CHARS) }] }, { say: "the end" }], {
			limits: { timeoutMs: 0, idleGraceMs: 0, repeatedCalls: 0 },
		});
		let supervisorMost = 0;
		let parentMost = 0;
		const sampling = setInterval(() => {
			supervisorMost = Math.max(supervisorMost, peakOf(supervisorIn(run.directory)));
			parentMost = Math.max(parentMost, process.memoryUsage().rss);
		}, SAMPLE_MS);
		const { outcome } = endOf(await execute(run, new AbortController().signal, () => {}));
		clearInterval(sampling);
		const seconds = (performance.now() - from) / 1_000;
		const events = statSync(join(run.directory, "events.jsonl")).size / MEGABYTE;
		const complete = outcome.kind === "completed" && outcome.text === "the end";
		const what = `${TOTAL_MB} MB of deltas`;
		return [
			{ promise: `${what}: the answer`, measured: `${complete}, after ${seconds.toFixed(1)} s`, kept: complete },
			atMost(`${what}: supervisor's memory`, supervisorMost / MEGABYTE, SUPERVISOR_MB, "MB"),
			atMost(`${what}: what the parent grows by`, (parentMost - before) / MEGABYTE, 112, "MB"),
			atMost(`${what}: events.jsonl`, events, 60, "MB"),
		];
	} finally {
		setup.dispose();
	}
}

/** From the first line of the run's events; 0 while there is none. */
function supervisorIn(directory: string): number {
	const file = join(directory, "events.jsonl");
	if (!existsSync(file)) return 0;
	const head = Buffer.alloc(1_000);
	const fd = openSync(file, "r");
	readSync(fd, head);
	closeSync(fd);
	return Number(/"supervisorPid":(\d+)/.exec(head.toString("utf8"))?.[1] ?? 0);
}

function peakOf(pid: number): number {
	try {
		return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;
	} catch {
		return 0; // it has ended
	}
}
