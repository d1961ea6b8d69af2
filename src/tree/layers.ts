import {
	chmodSync,
	chownSync,
	closeSync,
	existsSync,
	mkdirSync,
	openSync,
	readFileSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { mkdtemp, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { err, messageOf, ok, type Result } from "../domain/result.ts";
import type { Invocation, RunSpec } from "../domain/spec.ts";
import { removeTree } from "../files/remove-tree.ts";
import { enterTree } from "./enter.ts";
import { isRoot, missingProgram, whyItFails, withMounts } from "./namespace.ts";
import { type Layer, layersOf, planTree, type TreePlan } from "./plan.ts";

/** How the pi of a run is started in a tree of its own; an error says why it cannot be. */
export async function startInTree(spec: RunSpec, runDirectory: string): Promise<Result<Invocation>> {
	const missing = missingProgram();
	if (missing !== undefined) return err(refusal(missing));
	try {
		const tree = planTree(spec.cwd, runDirectory);
		if (!tree.ok) return err(refusal(tree.error));
		for (const layer of [tree.value.project, ...tree.value.others]) makeLayer(layer);
		const session = sessionOf(spec.invocation);
		if (session !== undefined) makeSession(session);
		const why = await whyNoLayers(tree.value, layersOf(runDirectory));
		if (why !== undefined) return err(refusal(why));
		return ok(enterTree(tree.value, { invocation: spec.invocation, cwd: spec.cwd, runDirectory, session }));
	} catch (error) {
		return err(refusal(messageOf(error)));
	}
}

const refusal = (why: string) =>
	`isolation is "worktree", which is not available here (${why}). /subagents doctor says more`;

/** The same for whoever asks before there is a run: a directory where runs are kept is enough. */
export async function whyNoTree(cwd: string, directory: string): Promise<string | undefined> {
	const missing = missingProgram();
	if (missing !== undefined) return missing;
	const probe = await mkdtemp(join(directory, ".probe-"));
	try {
		const tree = planTree(cwd, probe);
		if (!tree.ok) return tree.error;
		mkdirSync(layersOf(probe), { recursive: true });
		return await whyNoLayers(tree.value, layersOf(probe));
	} catch (error) {
		return messageOf(error);
	} finally {
		await removeTree(probe).catch(() => {});
	}
}

/** Tries a layer beside those of the run, with the same programs. */
async function whyNoLayers(tree: TreePlan, directory: string): Promise<string | undefined> {
	const layer: Layer = { at: tree.project.at, directory: join(directory, "probe") };
	makeLayer(layer);
	const user = isRoot() ? [] : ["--unshare-user"];
	const bwrap = ["bwrap", ...user, "--ro-bind", "/", "/", "--proc", "/proc", "--unshare-pid", "--cap-drop", "ALL"];
	return await whyItFails(withMounts([layer], "write", [...bwrap, "--", "true"]));
}

/** The root of what is put together has the owner and the mode of `up`. */
function makeLayer({ at, directory }: Layer): void {
	if (existsSync(join(directory, "up"))) return;
	for (const part of ["up", "work", "mnt"]) mkdirSync(join(directory, part), { recursive: true, mode: 0o700 });
	const { mode, uid, gid } = statSync(at);
	const up = join(directory, "up");
	chmodSync(up, mode & 0o7777);
	if (isRoot()) chownSync(up, uid, gid);
	symlinkSync(at, join(directory, "lower"));
	writeFileSync(join(directory, "at"), at);
}

/** pi makes a session file that is not there; a file has to be there to be mounted. */
function makeSession(path: string): void {
	if (existsSync(path)) return;
	mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
	closeSync(openSync(path, "a", 0o600));
}

function sessionOf({ args }: Invocation): string | undefined {
	const at = args.indexOf("--session");
	return at < 0 ? undefined : args[at + 1];
}

/** The project that the layers of a run are for; undefined where it has none. */
export function projectOf(layer: string): string | undefined {
	try {
		return readFileSync(join(layer, "at"), "utf8");
	} catch {
		return undefined;
	}
}

/** Leaves nothing of a run's layers but what it changed in the project, or nothing at all. Best effort. */
export async function clearLayers(runDirectory: string, keep: "project" | "nothing"): Promise<void> {
	const layers = layersOf(runDirectory);
	if (keep === "nothing") return await removeTree(layers).catch(() => {});
	const names = (await readdir(layers).catch(() => [])).filter((name) => name !== "project");
	// Programs that follow links would walk from here to the project and back.
	const rest = [...names, ...["work", "mnt", "lower"].map((name) => join("project", name))];
	for (const name of rest) await removeTree(join(layers, name)).catch(() => {});
}
