import type { BackgroundRun, KeptRun } from "../domain/kept-run.ts";
import { modelName } from "../domain/model-name.ts";
import { err, type Result } from "../domain/result.ts";
import type { RunSpec } from "../domain/spec.ts";
import { releaseRun } from "../run/act-on-run.ts";
import type { PreparedRun } from "../run/execute.ts";
import type { Call } from "./call.ts";

/** What the session keeps of a plan. */
export const modelsOf = (spec: RunSpec | undefined): Pick<KeptRun, "scope" | "requestedModel" | "resolvedModel"> => ({
	scope: spec?.agent?.scope,
	requestedModel: spec?.agent?.requestedModel,
	resolvedModel: spec?.model && modelName(spec.model),
});

/** A run that goes on without its caller, as the session keeps it. */
export function backgroundRunOf(spec: RunSpec, directory: string, owner: string): BackgroundRun {
	const { runId, sessionId, family, label, task, agent, cwd, socket } = spec;
	return {
		...{ runId, sessionId, family, label, task, cwd, directory, definition: agent?.name, ...modelsOf(spec) },
		distrusted: false,
		startedAt: Date.now(),
		lifetime: { kind: "background", socket, owner },
		progress: { kind: "running" },
	};
}

/**
 * Lets a foreground run go on without its call. The session has an entry of it before its supervisor lets it go: a parent that is
 * killed in between leaves no run that its session does not know.
 */
export async function moveToBackground(
	{ spec, directory, token }: PreparedRun,
	startedAt: number,
	detach: () => boolean,
	{ host, parent, context }: Call,
): Promise<Result<undefined>> {
	const place = host.background.reserve(parent.settings.maxBackground);
	if (!place.ok) return place;
	try {
		const run = { ...backgroundRunOf(spec, directory, context.sessionManager.getSessionId()), startedAt };
		const noted = host.background.note(run);
		if (!noted.ok) return noted;
		const released = await releaseRun({ runId: spec.runId, directory, socket: spec.socket }, token);
		if (!released.ok) {
			takeBack(spec.runId, host);
			return released;
		}
		if (!detach()) {
			released.value.close();
			return err(`Run ${spec.runId} has ended`); // its call has its end
		}
		host.background.watch(run, released.value, token);
		return noted;
	} finally {
		place.value();
	}
}

/** It stays a task of its call: the newest entry counts, and one that has ended meanwhile has that. */
function takeBack(runId: string, { store, keep }: Call["host"]): void {
	const run = store.get(runId);
	if (run?.progress.kind === "running") keep(run);
}
