import { type ExtensionCommandContext, VERSION } from "@earendil-works/pi-coding-agent";
import type { Catalog } from "../definitions/catalog.ts";
import type { Trust } from "../definitions/trust.ts";
import { doctorText, type Finding } from "../present/doctor-text.ts";
import type { Limit } from "../present/limits-text.ts";
import { sanitizeLine } from "../present/sanitize.ts";
import { endLeftovers, findLeftovers, type Leftover } from "../run/leftovers.ts";
import { moveRuns, strayRuns } from "../run-directory/move.ts";
import { homeRunsOf, type RunPlaces } from "../run-directory/places.ts";
import type { LoadedSettings } from "../settings/settings.ts";
import {
	checkBranches,
	checkDefinitions,
	checkDirectories,
	checkIsolation,
	checkModels,
	checkSettings,
	checkTmux,
	checkTrust,
	checkVersions,
	type ModelState,
} from "./doctor-checks.ts";
import { checkLimits } from "./limits-check.ts";
import { tell } from "./profile-host.ts";

/** What is looked at of the session. */
export interface DoctorHost {
	readonly agentDirectory: string;
	readonly loaded: LoadedSettings;
	readonly catalog: Catalog;
	readonly trust: Trust;
	readonly models: ModelState;
	readonly activeTools: readonly string[];
	readonly limits: readonly Limit[];
}

/** `/subagents doctor`: looks at everything that a delegation needs, says what is wrong, and offers to end what is left over. */
export async function doctor(context: ExtensionCommandContext, host: DoctorHost): Promise<void> {
	const leftovers = await findLeftovers();
	const { cwd } = context;
	const places: RunPlaces = { cwd, agentDirectory: host.agentDirectory, runsIn: host.loaded.settings.runsIn };
	const stray = await strayRuns(places);
	const findings: Finding[] = [
		checkVersions(VERSION, process.versions.node),
		checkModels(host.models),
		checkDefinitions(host.catalog),
		checkTrust(host.trust, context.cwd, host.agentDirectory),
		checkSettings(host.loaded, host.activeTools, host.models),
		checkLimits(host.limits, host.loaded.settings.refusal),
		await checkTmux(host.loaded.settings, process.env),
		checkDirectories(places),
		...(await checkIsolation(host.loaded, host.catalog, places)),
		...(await checkBranches(cwd)),
		...checkRuns(stray),
		checkLeftovers(leftovers, host.loaded.settings.leftovers),
	];
	const worst = findings.some(({ level }) => level === "problem") ? "warning" : "info";
	tell(context, doctorText(findings), worst);
	if (leftovers.length > 0 && context.hasUI) await offerToEnd(leftovers, context);
	if (stray.length > 0 && context.hasUI) await offerToMove(stray, places, context);
}

const runsOf = ({ length }: readonly string[]) => (length === 1 ? "1 run" : `${length} runs`);

/** Searches of the project find what is in it. */
function checkRuns(stray: readonly string[]): Finding[] {
	if (stray.length === 0) return [];
	const lines = ["Searches of the project find them. To move them to your agent directory: answer yes when asked."];
	return [{ level: "note", title: `Runs: ${runsOf(stray)} of an earlier version inside of the project`, lines }];
}

async function offerToMove(
	stray: readonly string[],
	places: RunPlaces,
	context: ExtensionCommandContext,
): Promise<void> {
	const question = `Move ${runsOf(stray)} out of the project?`;
	const target = homeRunsOf(places);
	if (!(await context.ui.confirm(question, `They are kept in ${target} then, and are found there.`))) {
		return tell(context, "Nothing was moved.", "info");
	}
	const moved = await moveRuns(places);
	const left = stray.length - moved;
	tell(
		context,
		`Moved ${moved} of ${runsOf(stray)}${left === 0 ? "" : "; those that still run stay where they are"}.`,
		"info",
	);
}

function checkLeftovers(leftovers: readonly Leftover[], wanted: "end" | "keep"): Finding {
	if (leftovers.length === 0) return { level: "fine", title: "Processes: nothing is left over", lines: [] };
	const kept = wanted === "keep" ? 'That may be meant: subagents.leftovers is "keep". ' : "";
	return {
		level: wanted === "keep" ? "note" : "problem",
		title: `Processes: ${countOf(leftovers)} of runs that nobody watches over`,
		lines: [...leftovers.flatMap(describe), `${kept}To end one: kill <number>; to end all: answer yes when asked.`],
	};
}

const countOf = (leftovers: readonly Leftover[]): string => {
	const count = leftovers.flatMap(({ processes }) => processes).length;
	return count === 1 ? "1 process" : `${count} processes`;
};

const describe = ({ runId, processes }: Leftover): string[] =>
	processes.map(({ pid, command }) => sanitizeLine(`${pid} ${command} (run ${runId})`));

async function offerToEnd(leftovers: readonly Leftover[], context: ExtensionCommandContext): Promise<void> {
	const question = `End ${countOf(leftovers)} of runs that nobody watches over?`;
	if (!(await context.ui.confirm(question, leftovers.flatMap(describe).join("\n")))) {
		return tell(context, "Nothing was ended.", "info");
	}
	const ended = await endLeftovers(leftovers);
	tell(context, `Ended ${ended === 1 ? "1 process" : `${ended} processes`}.`, "info");
}
