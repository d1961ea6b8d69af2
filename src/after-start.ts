import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { agentDirectory } from "./agent-directory.ts";
import { catalogContextOf, catalogOf, settingsOf, surroundingsOf } from "./call/host.ts";
import { describeDiagnostic } from "./definitions/catalog.ts";
import { recallNotices, rememberNotices } from "./definitions/told-notices.ts";
import type { LiveHost } from "./host.ts";
import { countForeign } from "./plan/listing.ts";
import { foreignNotice, problemsNotice } from "./present/definition-text.ts";
import { endOrphans } from "./run/orphans.ts";
import { type ProjectRules, pruneProjects } from "./run-directory/retain.ts";
import { interruptedRuns, namedRuns } from "./session/rebuild.ts";
import { runsInSessions, type SessionFiles } from "./session/session-files.ts";

/** What need not be done before the first request: telling of broken definitions, and clearing up after earlier runs. */
export async function lookAround(host: LiveHost, context: ExtensionContext): Promise<void> {
	if (host.context() !== context) return;
	tellOfDefinitions(host, context);
	for (const { runId, directory } of interruptedRuns(host.store)) await endOrphans(runId, directory);
	const { runRetentionDays, maxRuns, runsIn } = settingsOf(host, context);
	const { sessionManager, cwd } = context;
	const maxAgeMs = runRetentionDays * 24 * 60 * 60 * 1_000;
	const now = Date.now();
	const files: SessionFiles = { directory: sessionManager.getSessionDir(), open: sessionManager.getSessionFile() };
	const named: ProjectRules["named"] = async (runs, project) => {
		const inFiles = await runsInSessions(runs, project === "own" ? files : {}, now - maxAgeMs);
		return project === "own" ? new Set([...inFiles, ...namedRuns(sessionManager.getEntries())]) : inFiles;
	};
	await pruneProjects({ cwd, agentDirectory: agentDirectory(), runsIn }, { maxAgeMs, maxRuns, named, now });
}

/** Fewer definitions are read in a millisecond or two. */
const WORTH_REMEMBERING = 20;

/** What is wrong with definitions. They are read only where a file has changed since the last session of the project. */
function tellOfDefinitions(host: LiveHost, context: ExtensionContext): void {
	const stamp = host.library.stamp(catalogContextOf(context));
	const before = recallNotices(agentDirectory(), context.cwd);
	if (before?.stamp === stamp) {
		if (before.own !== undefined) host.warn(before.own);
		return;
	}
	const catalog = catalogOf(host, context);
	const own = problemsNotice(catalog.diagnostics.map(describeDiagnostic));
	const foreign = foreignNotice(countForeign(surroundingsOf(host, context)));
	if (own !== undefined) host.warn(own);
	if (foreign !== undefined && foreign !== before?.foreign) host.warn(foreign);
	const isWorthIt = catalog.entries.size >= WORTH_REMEMBERING || own !== undefined || foreign !== undefined;
	if (isWorthIt || before !== undefined) {
		rememberNotices(agentDirectory(), context.cwd, { stamp, own, foreign });
	}
}
