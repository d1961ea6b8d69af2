import { chmodSync, existsSync, lstatSync, mkdirSync, realpathSync } from "node:fs";
import { isAbsolute, join, relative, resolve } from "node:path";
import { modelName } from "../domain/model-name.ts";
import { err, messageOf, ok, type Result } from "../domain/result.ts";
import { placeIn, type RunFile, type RunSpec } from "../domain/spec.ts";
import { writePrivate } from "../files/private.ts";
import { FILES } from "./names.ts";
import { homeRuns, IN_AGENT, IN_PROJECT, linkRuns, projectName, type RunPlaces } from "./places.ts";

export interface RunDirectory {
	readonly path: string;
	/** As meta.json has it: with the paths of its files. */
	readonly spec: RunSpec;
	/** Why the run is not kept where the settings say. */
	readonly warning: string | undefined;
}

/** What describes the run: its meta.json, or what stands in for that while no task has been given to it. */
type Stage = "meta" | "parked";

/** Makes the directory of one run with its files. If the first place cannot be written, the other one is used. */
export function createRunDirectory(
	spec: RunSpec,
	places: RunPlaces,
	files: readonly RunFile[] = [],
	stage: Stage = "meta",
): Result<RunDirectory> {
	const { cwd, agentDirectory, runsIn } = places;
	const inHome = () => {
		const made = again(() => makeRun(makeHomeRuns(places), spec, files, stage));
		linkRuns(places);
		return made;
	};
	const inProject = () => makeRun(makeRuns(makeInside(cwd, IN_PROJECT, "refuse")), spec, files, stage);
	const [first, second] = runsIn === "home" ? [inHome, inProject] : [inProject, inHome];
	const made = attempt(first);
	if (made.ok) return ok({ ...made.value, warning: undefined });
	const instead = attempt(second);
	if (!instead.ok) return err(`No run directory could be made: ${made.error}; ${instead.error}`);
	const place = runsIn === "home" ? join(cwd, ...IN_PROJECT) : homeRuns(agentDirectory);
	return ok({ ...instead.value, warning: `Sub-agent runs are kept in ${place}: ${made.error}` });
}

function attempt<T>(make: () => T): Result<T> {
	try {
		return ok(make());
	} catch (error) {
		return err(messageOf(error));
	}
}

/** Another pi may just have removed the project's directory because it was empty. */
function again<T>(make: () => T): T {
	try {
		return make();
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
		return make();
	}
}

/** A person may keep parts of the agent directory elsewhere, so links are followed there. */
export function makeHomeRuns({ cwd, agentDirectory }: RunPlaces): string {
	mkdirSync(agentDirectory, { recursive: true });
	const runs = makeRuns(makeInside(agentDirectory, IN_AGENT, "follow"));
	const project = join(runs, projectName(cwd));
	mkdirSync(project, { recursive: true, mode: 0o700 });
	chmodSync(project, 0o700);
	return project;
}

/** A directory of runs is the person's alone, and git does not see it. */
function makeRuns(runs: string): string {
	chmodSync(runs, 0o700);
	const ignore = join(runs, ".gitignore");
	if (!existsSync(ignore)) attempt(() => writePrivate(ignore, "*\n")); // another pi may be faster
	return runs;
}

function makeRun(
	runs: string,
	spec: RunSpec,
	files: readonly RunFile[],
	stage: Stage,
): Pick<RunDirectory, "path" | "spec"> {
	const directory = join(runs, spec.runId);
	mkdirSync(directory, { mode: 0o700 }); // not recursive: a directory that is already there is not ours
	chmodSync(directory, 0o700);
	for (const { name, text } of files) writePrivate(join(directory, name), text);
	const placed = placeIn(directory, spec);
	writeSpec(directory, placed, stage);
	return { path: directory, spec: placed };
}

/** Makes a parked run a real one. */
export function writeMeta(directory: string, spec: RunSpec): Result<RunSpec> {
	return attempt(() => {
		const placed = placeIn(directory, spec);
		writeSpec(directory, placed, "meta");
		return placed;
	});
}

function writeSpec(directory: string, spec: RunSpec, stage: Stage): void {
	writePrivate(join(directory, FILES[stage]), JSON.stringify({ ...spec, ...presetFields(spec) }, undefined, "\t"));
}

/** For whoever looks at a run by preset: what it was made from, by the names that presets have for it. */
function presetFields({ family, agent, model }: RunSpec): object {
	if (family !== "preset" || !agent) return {};
	return {
		preset: agent.name,
		presetSource: agent.scope,
		tools: agent.tools ?? null,
		systemPrompt: agent.systemPrompt ?? null,
		systemPromptPath: agent.systemPromptPath ?? null,
		requestedModel: agent.requestedModel ?? null,
		resolvedModel: model ? modelName(model) : null,
	};
}

/**
 * Makes the missing parts of a path one by one. Refuses a directory of another user and, inside of a project, a link that
 * leads out of it. The path has no links in a project; in the home it keeps its names, by which a run is known again.
 */
function makeInside(base: string, parts: readonly string[], links: "refuse" | "follow"): string {
	const root = realpathSync(base);
	const owners = new Set([process.getuid?.() ?? 0, lstatSync(root).uid]);
	return parts.reduce(
		(parent, part) => {
			const path = join(parent, part);
			try {
				mkdirSync(path);
			} catch (error) {
				if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
			}
			const real = realpathSync(path);
			const within = relative(root, real);
			const leaves = within.startsWith("..") || isAbsolute(within);
			if (leaves && links === "refuse") throw new Error(`${path} is a link that leaves ${root}`);
			if (!owners.has(lstatSync(real).uid)) throw new Error(`${path} belongs to another user`);
			return links === "refuse" ? real : path;
		},
		links === "refuse" ? root : resolve(base),
	);
}
