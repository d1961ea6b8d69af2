import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { initialState, reduce } from "../domain/state.ts";
import { noUsage } from "../domain/usage.ts";
import { connectControl } from "../run/control-client.ts";
import { isOurs } from "../run/watch.ts";
import { isRunId, startOfRun } from "../run-directory/names.ts";
import { homeRuns, homeRunsOf, isReadable, projectRunsOf, type RunPlaces } from "../run-directory/places.ts";
import { readSpec } from "../run-directory/read.ts";
import { readResult } from "../run-directory/result.ts";
import { type FleetRun, ofState } from "./fleet-run.ts";

type Places = Omit<RunPlaces, "runsIn">;

/** More than anybody scrolls through. */
const MAX_FOUND = 200;

/** The newest runs whose directories are there, whoever started them; of what has ended, `known` is not read again. */
export async function findRuns(
	scope: "project" | "all",
	places: Places,
	known: ReadonlyMap<string, FleetRun>,
): Promise<FleetRun[]> {
	const ofProject = [homeRunsOf(places), projectRunsOf(places.cwd)];
	const ofOthers = scope === "all" ? await inside(homeRuns(places.agentDirectory)) : [];
	const directories = await Promise.all([...new Set([...ofProject, ...ofOthers])].map(inside));
	const newest = directories
		.flat()
		.filter((path) => isRunId(basename(path)))
		.toSorted((a, b) => (basename(a) < basename(b) ? 1 : -1))
		.slice(0, MAX_FOUND);
	const runs = await Promise.all(
		newest.map(async (directory) => {
			const before = known.get(basename(directory));
			if (before?.endedAt !== undefined) return [before];
			return await fromDirectory(directory, ofProject.includes(dirname(directory)) ? "project" : "elsewhere");
		}),
	);
	return runs.flat();
}

const inside = async (path: string): Promise<string[]> =>
	(await readdir(path).catch(() => [])).map((name) => join(path, name));

/** Nothing is read from a directory to which others can write. */
async function fromDirectory(directory: string, origin: FleetRun["origin"]): Promise<FleetRun[]> {
	if (!isReadable(directory)) return [];
	const spec = await readSpec(directory);
	const runId = basename(directory);
	if (spec?.runId !== runId || typeof spec.label !== "string" || typeof spec.socket !== "string") return [];
	const started = { runId, directory, socket: spec.socket };
	const result = await readResult(directory);
	const alive = !result && isOurs(started) && (await answers(spec.socket));
	const ended = result && reduce(initialState, { type: "ended", result });
	return [
		{
			...{ runId, directory, sessionId: spec.sessionId, family: spec.family, label: spec.label, task: spec.task },
			...{ lifetime: spec.lifetime, cwd: spec.cwd, limits: spec.limits, origin },
			...{ state: undefined, contextWindow: undefined },
			...(ended ? ofState(ended) : UNKNOWN),
			model: result?.model ?? spec.model,
			startedAt: result?.startedAt ?? startOfRun(runId),
			...(!ended && alive && { shown: "running" as const, note: undefined }),
			handle: { kind: "foreign", run: started },
		},
	];
}

/** A pid proves nothing: it may be somebody else's by now. */
async function answers(socket: string): Promise<boolean> {
	const control = await connectControl(socket);
	if (control.ok) control.value.close();
	return control.ok;
}

const UNKNOWN = {
	shown: "failed",
	note: "broke off: nobody watches over it",
	receipt: [],
	endedAt: undefined,
	usage: noUsage,
} as const;
