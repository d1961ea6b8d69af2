import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { hang, toolCall } from "../test/rig/model-server.ts";
import type { PiOptions, PiRun } from "../test/rig/pi.ts";
import { describeProcess, isAlive, parentOf } from "../test/rig/processes.ts";
import { until } from "../test/rig/until.ts";
import { brief, type Check, type Finding, saysFailure, unknown, verdict } from "./check.ts";
import { type Child, createStage, type Stage } from "./stage.ts";

const PIDS = "conformance-pids";
const JOBS = ["nohup", "setsid"]
	.map((launcher) => `${launcher} sh -c 'echo $$ >> ${PIDS}; exec sleep 600' >/dev/null 2>&1 &`)
	.join(" ");
/** Three jobs: in the tool itself, one that ignores SIGHUP, one in a session of its own. */
export const WORKING: Child = ({ turn }) =>
	turn === 0 ? toolCall("bash", { command: `${JOBS} echo $$ >> ${PIDS}; exec sleep 600` }) : hang();
const JOB_COUNT = 3;
const GONE_WITHIN_MS = 10_000;

/** A child at work, and every process between its jobs and the parent. */
export interface Working {
	readonly parent: PiRun;
	readonly jobs: readonly number[];
	/** The pi of the child; undefined where the child is in the parent's own process. */
	readonly child: number | undefined;
	readonly all: readonly number[];
}

export async function startWorking(stage: Stage, mode: PiOptions["mode"] = "json"): Promise<Working> {
	const parent = stage.start({ mode });
	const file = join(stage.home.project, PIDS);
	const jobs = () => (existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").map(Number) : []);
	await until(() => jobs().length === JOB_COUNT, "the child's jobs to run", 30_000);
	const started = jobs();
	const above = started.flatMap((pid) => ancestors(pid, parent.pid)).filter((pid) => !started.includes(pid));
	return { parent, jobs: started, child: above[0], all: [...new Set([...started, ...above])] };
}

function ancestors(pid: number, end: number): number[] {
	const parent = parentOf(pid);
	if (parent === undefined || parent <= 1) return [];
	return parent === end ? [] : [parent, ...ancestors(parent, end)];
}

const DEATHS: Readonly<Record<string, (working: Working) => Promise<unknown> | unknown>> = {
	"kill -9 of the parent": ({ parent }) => parent.kill("SIGKILL"),
	"kill -9 of the child's pi": ({ child }) => (child === undefined ? undefined : process.kill(child, "SIGKILL")),
	"abort, as by Escape": ({ parent }) => parent.send({ type: "abort" }),
	"SIGTERM to the parent": ({ parent }) => parent.kill("SIGTERM"),
};

/** Whatever is killed, nothing of the delegation lives on. */
export const ORPHANS: readonly Check[] = Object.entries(DEATHS).map(([name, die]) => ({
	name: `no orphans: ${name}`,
	async run(extension, shape) {
		const stage = await createStage(extension, shape, WORKING);
		let working: Working | undefined;
		try {
			working = await startWorking(stage, name.startsWith("abort") ? "rpc" : "json");
			if (name.includes("child's") && working.child === undefined)
				return unknown("the child is in the parent's process");
			await die(working);
			return await survivorsOf(working);
		} finally {
			for (const pid of working?.all ?? []) if (isAlive(pid)) process.kill(pid, "SIGKILL");
			working?.parent.kill("SIGKILL");
			await stage.dispose();
		}
	},
}));

/** pi ends without a word, and its exit code is none: easily taken for success. */
export const KILLED: Check = {
	name: "honest: the child's pi is killed",
	async run(extension, shape) {
		const stage = await createStage(extension, shape, WORKING);
		let working: Working | undefined;
		try {
			working = await startWorking(stage);
			if (working.child === undefined) return unknown("the child is in the parent's process");
			process.kill(working.child, "SIGKILL");
			const [told] = stage.outcomes(await working.parent.done);
			if (!told) return verdict(false, "the model was never told anything");
			return verdict(saysFailure(told), `${told.isError ? "an error" : "no error"}: "${brief(told.text)}"`);
		} finally {
			for (const pid of working?.all ?? []) if (isAlive(pid)) process.kill(pid, "SIGKILL");
			working?.parent.kill("SIGKILL");
			await stage.dispose();
		}
	},
};

async function survivorsOf({ all }: Working): Promise<Finding> {
	const from = performance.now();
	const alive = () => all.filter(isAlive);
	await until(() => alive().length === 0, "all to be gone", GONE_WITHIN_MS).catch(() => {});
	const left = alive().map((pid) => describeProcess(pid).command);
	if (left.length === 0)
		return verdict(true, `all ${all.length} gone after ${Math.round(performance.now() - from)} ms`);
	const names = left.map((command) => (command.startsWith("sleep") ? "a job" : "a pi")).join(", ");
	return verdict(false, `${left.length} of ${all.length} alive after ${GONE_WITHIN_MS / 1_000} s: ${names}`);
}
