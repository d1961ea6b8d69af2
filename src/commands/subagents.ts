import type { ExtensionAPI, ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { type Limit, limitLine } from "../present/limits-text.ts";
import { listedRunRow, listedRunsText } from "../present/listed-runs-text.ts";
import { sanitizeLine } from "../present/sanitize.ts";
import type { ListedRun } from "../session/listed-runs.ts";
import { tell } from "./profile-host.ts";
import { STEERING, type SteeringHost, steer, steeringItems } from "./steer.ts";

type Command = Parameters<ExtensionAPI["registerCommand"]>[1];

/** What the command needs of the session. */
export interface SubagentsHost extends SteeringHost {
	list(context: ExtensionCommandContext): Promise<readonly ListedRun[]>;
	/** What runs as far as that is known without asking anybody: for completion. */
	running(): readonly { readonly runId: string; readonly label: string }[];
	doctor(context: ExtensionCommandContext): Promise<void>;
	/** Those that are in force. */
	limits(context: ExtensionCommandContext): readonly Limit[];
}

const USAGE =
	"Usage: /subagents (open the fleet view), /subagents list, /subagents watch|stop|background <name, session id or run id>, /subagents message <id> <text>, /subagents doctor (check the set-up)";

/** `/subagents`: for a person to see what runs, to stop it, also while the agent is busy, and to check the set-up. */
export function subagentsCommand(host: SubagentsHost): Command {
	const { list, running, doctor, limits } = host;
	return {
		description: "Sub-agents: list the runs, or stop one; doctor checks the set-up",
		getArgumentCompletions: (prefix) => {
			const stops = running().map(({ runId, label }) => ({
				value: `stop ${runId}`,
				label: sanitizeLine(`stop ${label} (${runId})`),
			}));
			const verbs = ["list", "doctor", ...(prefix.includes(" ") ? [] : Object.keys(STEERING))];
			const items = [...verbs.map((value) => ({ value, label: value })), ...stops, ...steeringItems(host)];
			if (items.some(({ value }) => value === prefix)) return null; // Enter would choose what is there already instead of sending it
			return items.filter(({ value, label }) => value.startsWith(prefix) || label.startsWith(prefix));
		},
		async handler(args, context) {
			const [, verb = "", subject = ""] = /^\s*(\S*)\s*(.*?)\s*$/s.exec(args) ?? [];
			if (Object.hasOwn(STEERING, verb) && subject !== "") return await steer(args, host, context);
			if (verb === "stop") return await stop(unquoted(subject), await list(context), context);
			if (subject !== "" || !["", "list", "doctor"].includes(verb)) return tell(context, USAGE, "warning");
			if (verb === "" && context.mode === "tui") return await host.openFleet(context, undefined);
			if (verb === "doctor") return await doctor(context);
			const runs = listedRunsText(await list(context), Date.now());
			tell(context, [runs, ...limitRows(limits(context))].join("\n"), "info");
		},
	};
}

/** A name with blanks may stand in quotes. */
const unquoted = (text: string): string => /^(["'])(.*)\1$/s.exec(text)?.[2] ?? text;

const isOpen = ({ status }: ListedRun): boolean => status === "queued" || status === "running";

async function stop(asked: string, runs: readonly ListedRun[], context: ExtensionCommandContext): Promise<void> {
	const open = runs.filter(isOpen);
	if (asked === "" && open.length === 0) return tell(context, "No sub-agent is running", "info");
	const found = asked === "" ? await choose(open, context) : whichOf(asked, runs);
	if (found === undefined) return;
	if (typeof found === "string") return tell(context, found, "error");
	const problem = await found.stop();
	if (problem === undefined) tell(context, `Stopping ${sanitizeLine(found.label)} (run ${found.runId})`, "info");
	else tell(context, problem, "error");
}

const limitRows = (limits: readonly Limit[]): string[] =>
	limits.length === 0 ? [] : ["Limits:", ...limits.map((limit) => `  ${sanitizeLine(limitLine(limit))}`)];

/** The one open run that is meant, or why there is none. */
function whichOf(asked: string, runs: readonly ListedRun[]): ListedRun | string {
	const isMeant = ({ runId, sessionId, label }: ListedRun) => [runId, sessionId, label].includes(asked);
	const meant = runs.filter(isMeant);
	const [one, ...others] = meant.filter(isOpen);
	if (one && others.length === 0) return one;
	const name = sanitizeLine(asked);
	if (one) {
		return `"${name}" means ${others.length + 1} runs: ${[one, ...others].map(({ runId }) => runId).join(", ")}. Stop one by its run id`;
	}
	const last = meant.at(-1);
	if (last) return `${sanitizeLine(last.label)} (run ${last.runId}) has already ended: ${last.status}`;
	const running = runs.filter(isOpen).map(({ label, runId }) => `${sanitizeLine(label)} (${runId})`);
	return `No run is called "${name}". Running: ${running.join(", ") || "(none)"}`;
}

async function choose(open: readonly ListedRun[], { ui }: ExtensionCommandContext): Promise<ListedRun | undefined> {
	const rows = open.map((run) => listedRunRow(run, Date.now()));
	const chosen = await ui.select("Stop which sub-agent?", rows);
	return chosen === undefined ? undefined : open[rows.indexOf(chosen)];
}
