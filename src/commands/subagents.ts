import type { ExtensionAPI, ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { type Limit, limitLine } from "../present/limits-text.ts";
import { listedRunRow, listedRunsText } from "../present/listed-runs-text.ts";
import { sanitizeLine } from "../present/sanitize.ts";
import { createFleet, type FleetRun } from "../session/fleet.ts";
import { hasEnded } from "../session/fleet-run.ts";
import { actOnChanges, CHANGE_VERBS, isAboutChanges } from "./changes.ts";
import { tell } from "./profile-host.ts";
import { isSteering, STEERING, type SteeringHost, steer, steeringItems, stop } from "./steer.ts";

type Command = Parameters<ExtensionAPI["registerCommand"]>[1];

/** What the command needs of the session. */
export interface SubagentsHost extends SteeringHost {
	doctor(context: ExtensionCommandContext): Promise<void>;
	/** Those that are in force. */
	limits(context: ExtensionCommandContext): readonly Limit[];
}

const USAGE =
	"Usage: /subagents (open the fleet view), /subagents list, /subagents watch|stop|background <name, session id or run id>, /subagents message <id> <text>, /subagents diff|apply|undo|discard <id> (changes of a run with a tree of its own), /subagents doctor (check the set-up)";

/** `/subagents`: for a person to see what runs, to steer it, also while the agent is busy, and to check the set-up. */
export function subagentsCommand(host: SubagentsHost): Command {
	return {
		description: "Sub-agents: list, watch, message or stop runs; doctor checks the set-up",
		getArgumentCompletions: (prefix) => {
			const verbs = ["list", "doctor", ...(prefix.includes(" ") ? [] : [...STEERING, ...CHANGE_VERBS])];
			const items = [...verbs.map((value) => ({ value, label: value })), ...steeringItems(host)];
			if (items.some(({ value }) => value === prefix)) return null; // Enter would choose what is there already instead of sending it
			return items.filter(({ value, label }) => value.startsWith(prefix) || label.startsWith(prefix));
		},
		async handler(args, context) {
			const [, verb = "", subject = ""] = /^\s*(\S*)\s*(.*?)\s*$/s.exec(args) ?? [];
			const act = actOn(verb);
			if (act && subject !== "") return await act(args, host, context);
			if (verb === "stop") return await stopOne(host, context);
			if (subject !== "" || !["", "list", "doctor"].includes(verb)) return tell(context, USAGE, "warning");
			if (verb === "" && context.mode === "tui") return await host.openFleet(context, undefined);
			if (verb === "doctor") return await host.doctor(context);
			const runs = listedRunsText(await listRuns(host), Date.now());
			tell(context, [runs, ...limitRows(host.limits(context))].join("\n"), "info");
		},
	};
}

/** What is done with one run that the words name. */
function actOn(verb: string): typeof steer | undefined {
	if (isSteering(verb)) return steer;
	return isAboutChanges(verb) ? actOnChanges : undefined;
}

/** All runs of the session, and those of other sessions of the project that still run. */
async function listRuns(host: SubagentsHost): Promise<FleetRun[]> {
	const fleet = createFleet(host);
	await fleet.look("project");
	return fleet.runs("project").filter((run) => run.origin === "session" || !hasEnded(run));
}

const limitRows = (limits: readonly Limit[]): string[] =>
	limits.length === 0 ? [] : ["Limits:", ...limits.map((limit) => `  ${sanitizeLine(limitLine(limit))}`)];

async function stopOne(host: SubagentsHost, context: ExtensionCommandContext): Promise<void> {
	const open = (await listRuns(host)).filter((run) => !hasEnded(run));
	if (open.length === 0) return tell(context, "No sub-agent is running", "info");
	const rows = open.map((run) => listedRunRow(run, Date.now()));
	const chosen = await context.ui.select("Stop which sub-agent?", rows);
	const run = chosen === undefined ? undefined : open[rows.indexOf(chosen)];
	if (run) await stop(createFleet(host), run, context);
}
