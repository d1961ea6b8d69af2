import { isBackground, type KeptRun } from "../domain/kept-run.ts";
import { err, ok, type Result } from "../domain/result.ts";
import type { RunSpec } from "../domain/spec.ts";
import type { RunState } from "../domain/state.ts";
import { lastAnswerOf } from "../domain/transcript.ts";
import { noUsage } from "../domain/usage.ts";
import { endNote } from "../present/end-note.ts";
import type { ListedRun } from "../present/fleet-view.ts";
import { receiptLines } from "../present/receipt-text.ts";
import { endStateOf, type TaskState, taskStateOf } from "../present/task-state.ts";
import { describeEnd } from "../present/text.ts";
import type { StartedRun } from "../run/watch.ts";
import type { LiveRun } from "./live-runs.ts";

/** A run as a person sees it among others, and how it is reached. */
export interface FleetRun extends ListedRun {
	readonly sessionId: string;
	readonly family: RunSpec["family"];
	/** Undefined while it is queued, and where nothing may be read. */
	readonly directory: string | undefined;
	readonly handle: Handle;
}

export type Handle =
	/** A task of a call of this session that has not ended. */
	| { readonly kind: "live"; readonly run: LiveRun }
	/** What this session has kept: background runs, and all that has ended. */
	| { readonly kind: "own"; readonly run: KeptRun }
	/** Somebody else's, found by its directory. */
	| { readonly kind: "foreign"; readonly run: StartedRun };

export const hasEnded = ({ shown }: Pick<FleetRun, "shown">): boolean =>
	shown !== "running" && shown !== "queued" && shown !== "asks";

/** Where a run can be reached that has been started and not ended. */
export function startedOf({ kind, run }: Handle): Result<StartedRun> {
	if (kind === "foreign") return ok(run);
	if (kind === "live") return run.started ? ok(run.started) : err(`"${run.label}" is queued`);
	if (run.progress.kind === "ended" || !isBackground(run)) return err(`Run ${run.runId} has ended`);
	const { runId, directory, lifetime, distrusted } = run;
	return ok({ runId, directory, socket: lifetime.socket, ...(distrusted && { distrusted: true as const }) });
}

export function fromLive(run: LiveRun): FleetRun {
	const { state, runId, sessionId, family, label, task, limits } = run;
	const told = ofState(state);
	return {
		...{ runId, sessionId, family, label, task, limits, state, directory: run.started?.directory },
		...{ lifetime: "foreground", cwd: "", origin: "session", contextWindow: undefined },
		...told,
		model: told.model ?? run.model,
		handle: { kind: "live", run },
	};
}

export function fromKept(run: KeptRun): FleetRun {
	const { runId, sessionId, family, label, task, progress, startedAt } = run;
	const ended = progress.kind === "ended" ? progress : undefined;
	return {
		...{ runId, sessionId, family, label, task, startedAt, state: undefined, limits: undefined },
		model: modelNamed(ended?.model ?? run.resolvedModel),
		...{ contextWindow: undefined, origin: "session" },
		lifetime: run.lifetime.kind,
		cwd: run.cwd ?? "",
		directory: run.distrusted ? undefined : run.directory,
		shown: shownOf(run),
		note: ended && (describeEnd(run) ?? ended.text),
		receipt: ended?.receipt ?? [],
		endedAt: ended?.at,
		usage: ended?.usage ?? noUsage,
		handle: { kind: "own", run },
	};
}

/** `provider/id`; an id may have slashes of its own. */
function modelNamed(name: string | undefined): FleetRun["model"] {
	const [provider, ...id] = name?.split("/") ?? [];
	return provider === undefined ? undefined : { provider, id: id.join("/") };
}

const PLACE = { width: 200, cwd: "", home: "" };

/** What a state tells of its run. */
export function ofState(
	state: RunState,
): Pick<FleetRun, "shown" | "note" | "receipt" | "startedAt" | "endedAt" | "usage" | "model"> {
	const { phase, usage } = state;
	const result = phase.kind === "done" ? phase.result : undefined;
	const last = lastAnswerOf(state);
	return {
		shown: taskStateOf(state),
		note: endNote(state, undefined, PLACE),
		receipt: receiptLines(result?.receipt),
		model: last && { provider: last.provider, id: last.model },
		startedAt: phase.kind === "running" ? phase.since : (result?.startedAt ?? 0),
		...{ endedAt: result?.endedAt, usage },
	};
}

function shownOf({ progress }: KeptRun): TaskState {
	if (progress.kind === "running") return "running";
	const { outcome } = progress;
	if (outcome.kind === "completed") return "done";
	const { failure } = outcome;
	if (failure.kind === "told") return failure.status === "aborted" ? "stopped" : "failed";
	if (failure.kind === "interrupted" || failure.kind === "closed" || failure.kind === "gone") return "failed";
	return endStateOf({ kind: "failed", failure });
}
