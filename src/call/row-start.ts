import { err, ok, type Result } from "../domain/result.ts";
import type { RunIds } from "../domain/spec.ts";
import { canBeParked, launchKey, parkRun, underIdsOf } from "../head-start/parked-run.ts";
import { createRunId, createToken } from "../plan/ids.ts";
import type { Parent, PlannedRun } from "../plan/parent.ts";
import type { PreparedRun } from "../run/execute.ts";
import { type Launcher, launchProcess } from "../run/launch-process.ts";
import { createRunDirectory } from "../run-directory/create.ts";
import { noteStart } from "../session/spending.ts";
import type { Host } from "./host.ts";
import type { Row } from "./row.ts";

/*
 * How the child of a task is started. All that a call has to do with the head start is here: a child may have been parked
 * while the call was written, or while the task waits for its turn; at its turn the task takes it over, or starts a new one.
 */

/** The task takes over a child that was parked while the call was written, and with it the ids which that has. */
export function takeParked(row: Row, { headStart }: Host, parent: Parent): void {
	const { request, plan } = row;
	row.parked = plan.ok ? headStart.take(request, launchKey(request, plan.value)) : undefined;
	if (!row.parked) return;
	const { ids } = row.parked;
	rename(row, request.naming === "free" ? ids : { ...ids, sessionId: request.sessionId }, parent);
}

/** Starts the child of a task that waits for its turn. False where there is nothing to do. */
export function parkRow(row: Row, parent: Parent): boolean {
	if (row.parked || !row.plan.ok || !canBeParked(row.request)) return false;
	// While others work, what could be done before the task is known is done just as well in its time.
	row.parked = parkRun(row.plan.value, { ...parent, dialect: undefined });
	return true;
}

/** The task's run and how it is launched: at once, or nobody ends what was parked. Nothing once it is stopped. */
export async function prepareRow(
	row: Row,
	host: Host,
	parent: Parent,
	stop: AbortSignal,
): Promise<Result<{ readonly run: PreparedRun; readonly launch: Launcher }>> {
	const { parked, plan } = row;
	if (!plan.ok) return plan;
	row.parked = undefined;
	const answers = (await parked?.answers()) ?? false;
	if (stop.aborted) {
		void parked?.drop();
		return err("stopped before it was started");
	}
	const begun = answers ? parked?.begin(plan.value) : undefined;
	if (parked && begun?.ok) {
		noteStart(begun.value.spec);
		return ok({ run: begun.value, launch: parked.launch });
	}
	if (parked) {
		// Whatever is still clearing away that one goes by its id.
		const runId = createRunId(new Date());
		const { runId: before, sessionId } = row.request;
		rename(row, { runId, sessionId: sessionId === before ? runId : sessionId }, parent);
		void parked.drop();
	}
	const run = row.plan.ok ? prepareRun(row.plan.value, host, parent) : row.plan;
	if (run.ok) noteStart(run.value.spec);
	return run.ok ? ok({ run: run.value, launch: launchProcess }) : run;
}

/** Ends the child of a task that never came to its turn. */
export const dropParked = async ({ parked }: Row): Promise<void> => await parked?.drop();

function rename(row: Row, ids: RunIds, parent: Parent): void {
	row.request = { ...row.request, ...ids };
	if (row.plan.ok) row.plan = ok(underIdsOf(ids, row.plan.value, parent));
}

/** Makes the run's directory. If it is not where the settings say, the person is told once. */
function prepareRun({ spec, packet, files }: PlannedRun, host: Host, parent: Parent): Result<PreparedRun> {
	const made = createRunDirectory(spec, parent.runPlaces, files);
	if (!made.ok) return made;
	const { path: directory, spec: placed, warning } = made.value;
	if (warning !== undefined) host.warn(warning);
	return { ok: true, value: { spec: placed, packet, directory, token: createToken() } };
}
