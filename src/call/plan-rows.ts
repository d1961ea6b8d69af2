import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { childPrograms } from "../child/scripts.ts";
import { contradictionAmong } from "../definitions/lookup.ts";
import { err } from "../domain/result.ts";
import { WORD_OF } from "../domain/spec.ts";
import { initialState } from "../domain/state.ts";
import type { Parent } from "../plan/parent.ts";
import { planRun, type RunRequest } from "../plan/run.ts";
import { readRuns } from "../records/session-entries.ts";
import { noteEarlierRuns, spentRefusal } from "../session/spending.ts";
import type { Call } from "./call.ts";
import { surroundingsOf } from "./host.ts";
import { type Row, refused } from "./row.ts";
import { takeParked } from "./row-start.ts";

/** Too many runs, or a definition that contradicts itself, refuse the whole call; any other mistake its own task. */
export async function planRows(requests: readonly RunRequest[], { id, host, context, parent }: Call): Promise<Row[]> {
	const surroundings = surroundingsOf(host, context);
	for (const { family, definition } of requests) {
		const contradiction = contradictionAmong(surroundings.catalog, WORD_OF[family], [definition]);
		if (contradiction !== undefined) throw new Error(contradiction);
	}
	const programs = childPrograms();
	const spent = spentBefore(parent, context);
	const rows = await Promise.all(
		requests.map(async (request) => {
			const plan = spent === undefined ? await planRun(request, parent, surroundings, programs) : err(spent);
			const state = plan.ok ? initialState : refused(request.runId, { kind: "rejected", message: plan.error });
			return { request, plan, parked: undefined, directory: undefined, moved: false, state };
		}),
	);
	const planned = rows.filter(({ plan }) => plan.ok).length;
	const refusal = host.budget.claim(planned, parent.settings.maxRunsPerSession);
	if (refusal !== undefined) throw new Error(refusal);
	for (const row of rows) takeParked(row, host, parent);
	host.headStart.callBegun(id);
	return rows;
}

/** Why no run may start: the runs of this session, also those before a restart, have used up its budget. */
function spentBefore({ sessionBudget }: Parent, { sessionManager }: ExtensionContext): string | undefined {
	if (!sessionBudget) return undefined;
	const since = Date.parse(sessionManager.getHeader()?.timestamp ?? "") || 0;
	noteEarlierRuns(sessionBudget, readRuns(sessionManager.getEntries()).runs, since);
	return spentRefusal(sessionBudget);
}
