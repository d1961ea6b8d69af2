import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { KeyId } from "@earendil-works/pi-tui";
import { lookAround } from "./after-start.ts";
import { agentDirectory } from "./agent-directory.ts";
import {
	catalogOf,
	type Host,
	parentOf,
	runSessionOf,
	sessionModelOf,
	settingsOf,
	surroundingsOf,
	trustContextOf,
	usableModels,
} from "./call/host.ts";
import { type DoctorHost, doctor } from "./commands/doctor.ts";
import { limitsInForce } from "./commands/limits-check.ts";
import { openFleet } from "./commands/open-fleet.ts";
import { profileCommand } from "./commands/profile.ts";
import { subagentsCommand } from "./commands/subagents.ts";
import { modelName } from "./domain/model-name.ts";
import { createHost, type LiveHost } from "./host.ts";
import { importedFields } from "./plan/import.ts";
import { listDefinitions } from "./plan/listing.ts";
import { keepsRunningText } from "./present/background-text.ts";
import { renderCompletion, renderNotice } from "./present/completion-view.ts";
import { nameFleetKey } from "./present/fleet-key.ts";
import type { Limit } from "./present/limits-text.ts";
import { COMPLETION_MESSAGE } from "./records/session-entries.ts";
import type { FleetHost } from "./session/fleet.ts";
import { INTERRUPTED_MESSAGE, interruptedNotice, rebuildForeground, startedRuns } from "./session/rebuild.ts";
import { spentOf } from "./session/spending.ts";
import { giveTurnsForEnds } from "./session/turns-for-ends.ts";
import { type LoadedSettings, loadSettings, personalFleetKey } from "./settings/settings.ts";
import { createRegistration } from "./tools/registration.ts";

/** What pi calls when it loads the extension, in the parent only: see index.js. */
export default function register(pi: ExtensionAPI): void {
	const host = createHost(pi);
	const { store, background, library } = host;
	const registration = createRegistration(host);

	pi.on("session_start", async (event, context) => {
		host.enter(context);
		registration.start(context);
		const entries = event.reason === "new" ? [] : context.sessionManager.getEntries();
		host.budget.reset(startedRuns(entries));
		if (event.reason !== "new") await rebuildForeground(store, runSessionOf(context));
		await background.rebuild(entries, runSessionOf(context).places);
		const broken = interruptedNotice(store, entries);
		if (broken) host.post(INTERRUPTED_MESSAGE, broken.text, broken.details);
		setImmediate(() => void lookAround(host, context).catch(() => {})); // nobody waits for it
	});
	pi.on("before_agent_start", (_event, context) => registration.update(context));
	pi.on("session_tree", (_event, context) => rebuildForeground(store, runSessionOf(context)));
	pi.on("session_shutdown", ({ reason }, context) => {
		if (reason === "quit" && context.mode === "tui") sayWhatKeepsRunning(host);
		host.leave();
	});
	pi.on("message_update", (event, context) => host.headStart.observe(event, context));
	pi.on("message_end", (event) => host.headStart.messageEnded(event));
	pi.on("tool_execution_end", ({ toolCallId }) => host.headStart.callBegun(toolCallId));
	pi.on("tool_result", (event) => (host.failedCalls.delete(event.toolCallId) ? { isError: true } : undefined));
	host.changedFiles.listen(pi);
	giveTurnsForEnds({
		...{ pi, background, context: host.context, sessionSignal: host.sessionSignal },
		settings: (context) => settingsOf(host, context),
		running: () =>
			store.background
				.filter(({ runId, progress }) => progress.kind === "running" && background.isOwn(runId))
				.map(({ runId }) => runId),
	});
	pi.registerMessageRenderer(COMPLETION_MESSAGE, renderCompletion);
	pi.registerMessageRenderer(INTERRUPTED_MESSAGE, renderNotice);
	registerFleet(pi, host);
	pi.registerCommand(
		"profile",
		profileCommand((asking) => {
			const current = asking ?? host.context();
			if (!current) return undefined;
			return {
				catalog: () => catalogOf(host, current),
				list: () => listDefinitions(surroundingsOf(host, current), sessionModelOf(host, current)),
				models: () => usableModels(current),
				imported: (definition) =>
					importedFields(definition, surroundingsOf(host, current), sessionModelOf(host, current)),
				invalidate: library.invalidate,
				agentDirectory: agentDirectory(),
			};
		}),
	);
}

/** The last thing that is written, once the terminal is the shell's again. */
function sayWhatKeepsRunning({ store }: Host): void {
	const text = keepsRunningText(store.background);
	if (text !== undefined) process.once("exit", () => void process.stderr.write(`${text}\n`));
}

/** The fleet view: by command, by key, and in the footer. */
function registerFleet(pi: ExtensionAPI, host: LiveHost): void {
	const key = personalFleetKey(agentDirectory());
	nameFleetKey(key);
	const fleet: FleetHost = {
		store: host.store,
		live: host.live,
		background: host.background,
		questions: host.questions,
		places: () => ({ cwd: host.context()?.cwd ?? process.cwd(), agentDirectory: agentDirectory() }),
		contextWindow: ({ provider, id }) => host.context()?.modelRegistry.find(provider, id)?.contextWindow,
	};
	pi.registerCommand(
		"subagents",
		subagentsCommand({
			...fleet,
			limits: (context) => limitsOf(host, context, loadSettings(agentDirectory(), trustContextOf(context))),
			doctor: (context) => doctor(context, doctorHost(host, context)),
			openFleet: (context, runId) => openFleet(fleet, context, runId),
		}),
	);
	if (key !== "") {
		pi.registerShortcut(key as KeyId, {
			description: "Watch and steer sub-agents",
			handler: (context) => openFleet(fleet, context),
		});
	}
	host.live.subscribe(host.showFooter);
}

function doctorHost(host: Host, context: ExtensionContext): DoctorHost {
	const { model, modelRegistry } = context;
	const { models, tools } = surroundingsOf(host, context);
	const loaded = loadSettings(agentDirectory(), trustContextOf(context));
	return {
		agentDirectory: agentDirectory(),
		loaded,
		catalog: catalogOf(host, context),
		trust: parentOf(host, context).trust,
		models: {
			usable: models("usable").length,
			current: model && modelName(model),
			error: modelRegistry.getError(),
		},
		activeTools: tools().active,
		limits: limitsOf(host, context, loaded),
	};
}

function limitsOf(host: Host, context: ExtensionContext, loaded: LoadedSettings): readonly Limit[] {
	return limitsInForce(loaded, catalogOf(host, context), spentOf(parentOf(host, context).sessionBudget));
}
