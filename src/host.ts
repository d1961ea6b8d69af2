import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { agentDirectory } from "./agent-directory.ts";
import { type ChangedFiles, createChangedFiles } from "./call/changed-files.ts";
import { type Host, isAttended, piCommand } from "./call/host.ts";
import { createTurns } from "./call/turns.ts";
import { askPerson } from "./commands/question-overlay.ts";
import { createLibrary } from "./definitions/catalog.ts";
import { createHeadStart } from "./head-start/head-start.ts";
import { footerText } from "./present/background-text.ts";
import { sanitize } from "./present/sanitize.ts";
import { createRunStore, type RunStore } from "./records/run-store.ts";
import { homeRunsOf } from "./run-directory/places.ts";
import { createBackground } from "./session/background.ts";
import { createBudget } from "./session/budget.ts";
import type { SessionPort } from "./session/end-announcements.ts";
import { createLiveRuns, type LiveRuns } from "./session/live-runs.ts";
import { createRunEvents } from "./session/run-events.ts";
import { createSaveRun } from "./session/save-run.ts";
import { closeSession } from "./session/session-files.ts";

/** The tools' host, and the session it is in at the moment. */
export interface LiveHost extends Host {
	/** A message that everybody sees and that starts no turn. */
	post(customType: string, content: string, details: unknown): void;
	enter(context: ExtensionContext): void;
	leave(): void;
	context(): ExtensionContext | undefined;
	readonly changedFiles: ChangedFiles;
	/** Says how many agents run, where that has changed. */
	showFooter(): void;
}

export function createHost(pi: ExtensionAPI): LiveHost {
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
	const publish = createRunEvents((channel, notice) => pi.events.emit(channel, notice));
	const changedFiles = createChangedFiles(warn);
	const store = createRunStore();
	const questions = askPerson(pi, () => current);
	const port: SessionPort = {
		sessionId: () => current?.sessionManager.getSessionId() ?? "",
		appendEntry: (type, data) => pi.appendEntry(type, data),
		post(type, text, details) {
			const changed = current && changedFiles.take(current);
			post(type, changed === undefined ? text : `${text}\n\n${changed}`, details);
		},
		notify: (text, kind) => current?.ui.notify(text, kind),
		showStatus: () => footer.show(),
		warn,
		publish,
	};
	const background = createBackground(store, port, {
		onControl({ runId, label }, control, token) {
			if (current && isAttended({ warn }, current)) questions.attend({ runId, label, token }, control);
		},
	});
	const live = createLiveRuns();
	const footer = createFooter(live, store, () => current);
	const command = piCommand(process.argv, process.execPath);
	const library = createLibrary();
	const budget = createBudget();
	const headStart = createHeadStart({ pi, command, library, budget, warn });
	return {
		...{ pi, command, store, library, background, live, questions, budget, headStart, changedFiles, warn, post },
		failedCalls: new Set(),
		resuming: new Set(),
		keep: createSaveRun(store, (type, data) => pi.appendEntry(type, data), warn, publish),
		turns: createTurns(),
		sessionSignal: () => session.signal,
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
			questions.clear();
			background.detach();
			store.clear();
			changedFiles.clear();
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

/** Between two sessions there is nobody to tell. */
function tell(message: string, context: ExtensionContext | undefined): void {
	if (!context) return;
	const text = sanitize(message);
	if (context.hasUI) context.ui.notify(text, "warning");
	else process.stderr.write(`pi-subagents: ${text}\n`);
}
