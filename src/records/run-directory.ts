import {
	chmodSync,
	closeSync,
	constants,
	existsSync,
	fchmodSync,
	lstatSync,
	mkdirSync,
	openSync,
	realpathSync,
	writeFileSync,
} from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import { err, messageOf, ok, type Result } from "../domain/result.ts";
import { FILES } from "../domain/run-files.ts";
import { placeIn, type RunFile, type RunSpec } from "../domain/spec.ts";

export interface RunDirectory {
	readonly path: string;
	/** As meta.json has it: with the paths of its files. */
	readonly spec: RunSpec;
	/** Why the trail is not where it belongs. */
	readonly warning: string | undefined;
}

const IN_PROJECT = join(".pi", "subagents", "runs");
const IN_AGENT = join("subagents", "runs");

/** Where runs may have been kept for this project. */
export const runsDirectories = (projectDirectory: string, agentDirectory: string): readonly string[] => [
	join(projectDirectory, IN_PROJECT),
	join(agentDirectory, IN_AGENT),
];

/**
 * Makes the directory of one run, with its files and its meta.json, or what stands in for that while the run is parked:
 * under the project, or where that cannot be written under the agent directory.
 */
export function createRunDirectory(
	spec: RunSpec,
	projectDirectory: string,
	agentDirectory: string,
	files: readonly RunFile[] = [],
	stage: "meta" | "parked" = "meta",
): Result<RunDirectory> {
	const inProject = attempt(() => makeRun(spec, files, stage, projectDirectory, IN_PROJECT));
	if (inProject.ok) return ok({ ...inProject.value, warning: undefined });
	const inAgent = attempt(() => makeRun(spec, files, stage, agentDirectory, IN_AGENT));
	if (!inAgent.ok) return err(`No run directory could be made: ${inProject.error}; ${inAgent.error}`);
	return ok({
		...inAgent.value,
		warning: `Sub-agent runs are kept in ${join(agentDirectory, IN_AGENT)}: ${inProject.error}`,
	});
}

function attempt<T>(make: () => T): Result<T> {
	try {
		return ok(make());
	} catch (error) {
		return err(messageOf(error));
	}
}

function makeRun(
	spec: RunSpec,
	files: readonly RunFile[],
	stage: "meta" | "parked",
	base: string,
	inside: string,
): Pick<RunDirectory, "path" | "spec"> {
	const runs = makeInside(base, inside.split(sep));
	chmodSync(runs, 0o700);
	const ignore = join(runs, ".gitignore");
	if (!existsSync(ignore)) attempt(() => writePrivate(ignore, "*\n")); // another pi may be faster
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

function writeSpec(directory: string, spec: RunSpec, stage: "meta" | "parked"): void {
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
		resolvedModel: model ? `${model.provider}/${model.id}` : null,
	};
}

/** Makes the missing parts of a path one by one, and refuses a link that leads out of the base or a foreign directory. */
function makeInside(base: string, parts: readonly string[]): string {
	const root = realpathSync(base);
	const owners = new Set([process.getuid?.() ?? 0, lstatSync(root).uid]);
	return parts.reduce((parent, part) => {
		const path = join(parent, part);
		try {
			mkdirSync(path);
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
		}
		const real = realpathSync(path);
		const within = relative(root, real);
		if (within.startsWith("..") || isAbsolute(within)) throw new Error(`${path} is a link that leaves ${root}`);
		if (!owners.has(lstatSync(real).uid)) throw new Error(`${path} belongs to another user`);
		return real;
	}, root);
}

/** Exclusive, so that no link is followed; the mode holds under any umask. */
export function writePrivate(path: string, text: string): void {
	const fd = openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600);
	try {
		fchmodSync(fd, 0o600);
		writeFileSync(fd, text);
	} finally {
		closeSync(fd);
	}
}
