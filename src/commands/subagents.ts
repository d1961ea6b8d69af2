import type { ExtensionAPI, ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { countsText, runRow } from "../present/background-text.ts";
import type { RunStore } from "../records/run-store.ts";
import type { Background } from "../session/background.ts";
import { tell } from "./profile-host.ts";

type Command = Parameters<ExtensionAPI["registerCommand"]>[1];

const USAGE =
	"Usage: /subagents (list the background agents), /subagents stop <runId>, /subagents doctor (check the set-up)";

/** `/subagents`: for a person to see what goes on in the background, to end it, also while the agent is busy, and to check. */
export function subagentsCommand(
	store: RunStore,
	background: Background,
	doctor: (context: ExtensionCommandContext) => Promise<void>,
): Command {
	return {
		description: "Background agents: list them, or stop one; doctor checks the set-up",
		getArgumentCompletions: (prefix) => {
			const running = store.background.filter(({ progress }) => progress.kind === "running");
			const items = ["list", "doctor", ...running.map(({ runId }) => `stop ${runId}`)];
			if (items.includes(prefix)) return null; // Enter would choose what is there already instead of sending it
			return items.filter((item) => item.startsWith(prefix)).map((value) => ({ value, label: value }));
		},
		async handler(args, context) {
			const [verb = "list", runId, ...rest] = args
				.trim()
				.split(/\s+/)
				.filter((word) => word !== "");
			if (verb === "list" && runId === undefined) return tell(context, listText(store), "info");
			if (verb === "doctor" && runId === undefined) return await doctor(context);
			if (verb !== "stop" || rest.length > 0) return tell(context, USAGE, "warning");
			await stop(runId, store, background, context);
		},
	};
}

async function stop(
	runId: string | undefined,
	store: RunStore,
	background: Background,
	context: ExtensionCommandContext,
): Promise<void> {
	if (runId === undefined && store.counts().running === 0) {
		return tell(context, "No background agent is running", "info");
	}
	const asked = runId ?? (await choose(store, (title, options) => context.ui.select(title, options)));
	if (asked === undefined) return;
	const problem = await background.stop(asked);
	if (problem === undefined) tell(context, `Stopping ${asked}`, "info");
	else tell(context, problem, "error");
}

function listText(store: RunStore): string {
	const rows = store.background.map((run) => runRow(run, Date.now()));
	return [`Background agents: ${countsText(store.counts())}`, ...rows].join("\n");
}

async function choose(
	store: RunStore,
	select: (title: string, options: string[]) => Promise<string | undefined>,
): Promise<string | undefined> {
	const running = store.background.filter(({ progress }) => progress.kind === "running");
	const rows = running.map((run) => runRow(run, Date.now()));
	const chosen = await select("Stop which background agent?", rows);
	return chosen === undefined ? undefined : running[rows.indexOf(chosen)]?.runId;
}
