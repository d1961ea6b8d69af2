import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { KeyId } from "@earendil-works/pi-tui";
import { agentDirectory } from "./agent-directory.ts";
import {
	catalogContextOf,
	catalogOf,
	type Host,
	parentOf,
	piCommand,
	runSessionOf,
	sessionModelOf,
	settingsOf,
	surroundingsOf,
	trustContextOf,
	usableModels,
} from "./call/host.ts";
import { createTurns } from "./call/turns.ts";
import { type DoctorHost, doctor } from "./commands/doctor.ts";
import { openFleet } from "./commands/fleet-overlay.ts";
import { limitsInForce } from "./commands/limits-check.ts";
import { profileCommand } from "./commands/profile.ts";
import { subagentsCommand } from "./commands/subagents.ts";
import { createLibrary, describeDiagnostic } from "./definitions/catalog.ts";
import { recallNotices, rememberNotices } from "./definitions/told-notices.ts";
import { createHeadStart } from "./head-start/head-start.ts";
import { importedFields } from "./plan/import.ts";
import { countForeign, listDefinitions } from "./plan/listing.ts";
import { nameOf } from "./plan/model.ts";
import { footerText, keepsRunningText } from "./present/background-text.ts";
import { renderCompletion, renderNotice } from "./present/completion-view.ts";
import { foreignNotice, problemsNotice } from "./present/definition-text.ts";
import { nameFleetKey } from "./present/fleet-key.ts";
import type { Limit } from "./present/limits-text.ts";
import { sanitize } from "./present/sanitize.ts";
import { createRunStore, type RunStore } from "./records/run-store.ts";
import { COMPLETION_MESSAGE } from "./records/session-entries.ts";
import { endOrphans } from "./run/orphans.ts";
import { homeRunsOf } from "./run-directory/places.ts";
import { type ProjectRules, pruneProjects } from "./run-directory/retain.ts";
import { createBackground } from "./session/background.ts";
import { createBudget } from "./session/budget.ts";
import type { FleetHost } from "./session/fleet.ts";
import { createKeep } from "./session/keep-run.ts";
import { listRuns } from "./session/listed-runs.ts";
import { createLiveRuns, type LiveRuns } from "./session/live-runs.ts";
import {
	INTERRUPTED_MESSAGE,
	interruptedNotice,
	interruptedRuns,
	namedRuns,
	rebuildForeground,
	startedRuns,
} from "./session/rebuild.ts";
import { closeSession, runsInSessions, type SessionFiles } from "./session/session-files.ts";
import { spentOf } from "./session/spending.ts";
import { giveTurnsForEnds } from "./session/turns-for-ends.ts";
import { type LoadedSettings, loadSettings, personalFleetKey } from "./settings.ts";
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

const runningNow = ({ live, store }: Host) => [
	...live.runs,
	...store.background.filter(({ progress }) => progress.kind === "running"),
];

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
		places: () => ({ cwd: host.context()?.cwd ?? process.cwd(), agentDirectory: agentDirectory() }),
	};
	pi.registerCommand(
		"subagents",
		subagentsCommand({
			...fleet,
			list: (context) => listRuns(host, parentOf(host, context).runPlaces),
			running: () => runningNow(host),
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
			current: model && nameOf(model),
			error: modelRegistry.getError(),
		},
		activeTools: tools().active,
		limits: limitsOf(host, context, loaded),
	};
}

function limitsOf(host: Host, context: ExtensionContext, loaded: LoadedSettings): readonly Limit[] {
	return limitsInForce(loaded, catalogOf(host, context), spentOf(parentOf(host, context).sessionBudget));
}

/** The tools' host, and the session it is in at the moment. */
interface LiveHost extends Host {
	/** A message that everybody sees and that starts no turn. */
	post(customType: string, content: string, details: unknown): void;
	enter(context: ExtensionContext): void;
	leave(): void;
	context(): ExtensionContext | undefined;
	/** Says how many agents run, where that has changed. */
	showFooter(): void;
}

function createHost(pi: ExtensionAPI): LiveHost {
	let session = new AbortController();
	let current: ExtensionContext | undefined;
	const warned = new Set<string>();
	const warn = (message: string) => {
		if (warned.has(message)) return;
		warned.add(message);
		tell(message, current);
	};
	const post: LiveHost["post"] = (customType, content, details) =>
		pi.sendMessage({ customType, content, display: true, details }, { triggerTurn: false });
	const store = createRunStore();
	const background = createBackground(store, {
		sessionId: () => current?.sessionManager.getSessionId() ?? "",
		appendEntry: (type, data) => pi.appendEntry(type, data),
		post,
		notify: (text, kind) => current?.ui.notify(text, kind),
		showStatus: () => footer.show(),
		warn,
	});
	const live = createLiveRuns();
	const footer = createFooter(live, store, () => current);
	const command = piCommand(process.argv, process.execPath);
	const library = createLibrary();
	const budget = createBudget();
	const headStart = createHeadStart({ pi, command, library, budget, warn });
	return {
		pi,
		command,
		failedCalls: new Set(),
		store,
		resuming: new Set(),
		keep: createKeep(store, (type, data) => pi.appendEntry(type, data), warn),
		library,
		background,
		live,
		budget,
		turns: createTurns(),
		headStart,
		sessionSignal: () => session.signal,
		warn,
		post,
		context: () => current,
		showFooter: () => footer.show(),
		enter(context) {
			footer.enter();
			session = new AbortController();
			current = context;
		},
		leave() {
			if (current) void closeSession(homeRunsOf({ cwd: current.cwd, agentDirectory: agentDirectory() }));
			session.abort();
			headStart.drop();
			background.detach();
			store.clear();
			current = undefined;
		},
	};
}

/** Says in the footer how many agents run. */
function createFooter(live: LiveRuns, store: RunStore, session: () => ExtensionContext | undefined) {
	/** Nothing has been said yet in this session: what the one before it said may still be there. */
	let isFresh = true;
	let shown: string | undefined;
	return {
		show() {
			const running = live.runs.filter(({ state }) => state.phase.kind === "running").length;
			const text = footerText(running, store.counts());
			if (text === shown && !isFresh) return;
			shown = text;
			isFresh = false;
			session()?.ui.setStatus("pi-subagents", text);
		},
		enter() {
			isFresh = true;
		},
	};
}

/** What need not be done before the first request: telling of broken definitions, and clearing up after earlier runs. */
async function lookAround(host: LiveHost, context: ExtensionContext): Promise<void> {
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

/** Between two sessions there is nobody to tell. */
function tell(message: string, context: ExtensionContext | undefined): void {
	if (!context) return;
	const text = sanitize(message);
	if (context.hasUI) context.ui.notify(text, "warning");
	else process.stderr.write(`pi-subagents: ${text}\n`);
}
