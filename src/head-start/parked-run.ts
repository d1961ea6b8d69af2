import { rmSync } from "node:fs";
import { ok, type Result } from "../domain/result.ts";
import { type RunIds, type RunSpec, renamed } from "../domain/spec.ts";
import { removeTree } from "../files/remove-tree.ts";
import { createToken } from "../plan/ids.ts";
import type { Parent, PlannedRun } from "../plan/parent.ts";
import type { RunRequest } from "../plan/run.ts";
import type { PreparedRun } from "../run/execute.ts";
import { type Launched, type Launcher, launchProcess } from "../run/launch-process.ts";
import { createRunDirectory, writeMeta } from "../run-directory/create.ts";

/** A busy machine takes its time; only a supervisor that is stopped (SIGSTOP) never answers. */
const ANSWER_MS = 5_000;
/** Nobody waits longer for one that is not needed. */
const GONE_MS = 2_000;

/** A run whose pi has been started before there is a task for it. */
export interface ParkedRun {
	readonly ids: RunIds;
	readonly parkedAt: number;
	/** As far as is known. */
	isAlive(): boolean;
	/** Asks: one that has just died is not known to. */
	answers(): Promise<boolean>;
	/** Makes it the planned run, which must have its ids. From here on it is not parked any more. */
	begin(planned: PlannedRun): Result<PreparedRun>;
	/** Gives what was launched when the run was parked. */
	readonly launch: Launcher;
	/** Resolves, after a moment at most, when nothing is left of it. */
	drop(): Promise<void>;
}

/** Undefined where there is no room for it. It stays out of sight: what goes wrong here is told when a run needs it. */
export function parkRun(
	planned: PlannedRun,
	parent: Pick<Parent, "runPlaces" | "model" | "dialect">,
): ParkedRun | undefined {
	const { runId, sessionId } = planned.spec;
	// While it is parked it ends with its parent, whatever it is for.
	const foreground: RunSpec = { ...planned.spec, lifetime: "foreground" };
	const made = createRunDirectory(foreground, parent.runPlaces, planned.files, "parked");
	if (!made.ok || made.value.warning !== undefined) {
		if (made.ok) rmSync(made.value.path, { recursive: true, force: true });
		return undefined;
	}
	const { path: directory, spec } = made.value;
	let failed = false;
	let launched: Launched | undefined;
	const launching = launchProcess(directory, spec).then((result) => {
		if (result.ok) launched = result.value;
		else failed = true;
		return result;
	});
	const held = launching.then((result) => result.ok && hold(result.value, dialectOf(spec, parent)));
	return {
		ids: { runId, sessionId },
		parkedAt: performance.now(),
		isAlive: () => !failed && launched?.control.isOpen() !== false,
		async answers() {
			const result = await launching;
			return result.ok && (await held) && (await hold(result.value, undefined));
		},
		begin({ spec: wanted, packet }) {
			const meta = writeMeta(directory, wanted);
			return meta.ok ? ok({ spec: meta.value, packet, directory, token: createToken() }) : meta;
		},
		launch: () => launching,
		async drop() {
			const result = await launching;
			if (result.ok) await leave(result.value);
			await removeTree(directory).catch(() => {}); // for a supervisor that could not; else it is pruned with old runs
		},
	};
}

async function leave({ control, gone, kill, unref }: Launched): Promise<void> {
	control.send({ type: "stop", cause: { kind: "aborted", by: "caller" } });
	control.closeWhenSent();
	unref();
	await gone(GONE_MS);
	kill(); // if it stands still; its pi then goes by itself
}

/** Says that its task may take its time, and whether it has heard that. */
async function hold({ control }: Launched, dialect: string | undefined): Promise<boolean> {
	control.send({ type: "hold", dialect });
	const silence = new Promise<undefined>((resolve) => setTimeout(resolve, ANSWER_MS, undefined).unref());
	return (await Promise.race([control.next(), silence])) !== undefined;
}

/** The parent's, where the child asks the same model. */
const dialectOf = ({ model }: RunSpec, parent: Pick<Parent, "model" | "dialect">) =>
	model && (model.provider !== parent.model?.provider || model.id !== parent.model.id) ? undefined : parent.dialect;

/** A session that goes on is read when pi starts, under a lock: that is not done ahead of time. */
export const canBeParked = ({ sharedSession, naming }: RunRequest): boolean =>
	sharedSession === undefined || naming === "free";

/** How the child of a run is started, but for what names it: runs of the same key can have each other's child. */
export function launchKey({ naming }: RunRequest, { spec, files }: PlannedRun): string {
	const { invocation, cwd, isolation, sessionId } = spec;
	const args = naming === "free" ? invocation.args.map((arg) => arg.replaceAll(sessionId, "")) : invocation.args;
	return JSON.stringify([invocation.command, args, cwd, isolation, files, process.env]);
}

/** The same plan for another run of the same key. */
export const underIdsOf = (ids: RunIds, planned: PlannedRun, parent: Parent): PlannedRun => ({
	...planned,
	spec: renamed(planned.spec, ids, parent.socketOf(ids.runId)),
});
