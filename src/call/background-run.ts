import type { BackgroundRun, KeptRun } from "../domain/kept-run.ts";
import { modelName } from "../domain/model-name.ts";
import type { Result } from "../domain/result.ts";
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

/** Lets a foreground run go on without its call: its supervisor agrees first, then the session takes it as a background run. */
export async function moveToBackground(
	{ spec, directory, token }: PreparedRun,
	startedAt: number,
	{ host, parent, context }: Call,
): Promise<Result<undefined>> {
	const place = host.background.reserve(parent.settings.maxBackground);
	if (!place.ok) return place;
	try {
		const released = await releaseRun({ runId: spec.runId, directory, socket: spec.socket }, token);
		if (!released.ok) return released;
		const run = backgroundRunOf(spec, directory, context.sessionManager.getSessionId());
		const added = host.background.add({ ...run, startedAt }, released.value, token);
		if (!added.ok) {
			released.value.send({ type: "stop", cause: { kind: "aborted", by: "caller" } });
			released.value.closeWhenSent();
		}
		return added;
	} finally {
		place.value();
	}
}
