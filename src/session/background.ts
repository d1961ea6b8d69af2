import type { Usage } from "@earendil-works/pi-ai";
import { type BackgroundRun, isBackground, type RunEnd } from "../domain/kept-run.ts";
import { err, messageOf, ok, type Result } from "../domain/result.ts";
import { addUsage, noUsage } from "../domain/usage.ts";
import { isTrusted } from "../files/private.ts";
import type { RunStore } from "../records/run-store.ts";
import {
	BILLED_ENTRY,
	encodeBilled,
	encodeRun,
	RUN_ENTRY,
	readRuns,
	type SessionEntry,
} from "../records/session-entries.ts";
import type { ControlClient } from "../run/control-client.ts";
import { isPlaced } from "../run/watch.ts";
import { locateRun } from "../run-directory/places.ts";
import { type BackgroundActions, createActions } from "./background-actions.ts";
import { attempt, createEndAnnouncements, type SessionPort } from "./end-announcements.ts";
import { createEndNews, type EndNews } from "./end-news.ts";
import type { RunSession } from "./rebuild.ts";
import { createRunFollower, startedOf } from "./run-follower.ts";

export interface Background extends BackgroundActions {
	/** Keeps a place for a run that is about to start, where fewer than `max` run; to be given back when it has started. */
	reserve(max: number): Result<() => void>;
	/**
	 * Takes a run that is ready to start into the session and watches it. Where that fails it must not start. By the token its
	 * supervisor knows this session.
	 */
	add(run: BackgroundRun, control: ControlClient, token: string): Result<undefined>;
	/** The two halves of it: the session has an entry of the run before anything lets it go on alone, then it is watched. */
	note(run: BackgroundRun): Result<undefined>;
	watch(run: BackgroundRun, control: ControlClient, token: string): void;
	/** After a start: what the entries tell, picked up where it is now. Resolves when that is known of every run. */
	rebuild(entries: readonly SessionEntry[], places?: RunSession["places"]): Promise<void>;
	/** Which ends the model has not seen yet. */
	readonly news: EndNews;
	/** Whether this process has started it. */
	isOwn(runId: string): boolean;
	/** What runs that have ended have cost, as far as no tool result of the session that started them has carried it; once. */
	bill(): Usage | undefined;
	/** Leaves all runs to themselves. */
	detach(): void;
}

/** More than the stop ladder's own time: then a supervisor that does not answer is killed. */
const UNRESPONSIVE_MS = 9_000;

interface BackgroundOptions {
	readonly unresponsiveMs?: number;
	/** This process has started the run and is connected to its supervisor. The token is the one of `add`. */
	readonly onControl?: (run: BackgroundRun, control: ControlClient, token: string) => void;
}

export function createBackground(
	store: RunStore,
	port: SessionPort,
	{ unresponsiveMs = UNRESPONSIVE_MS, onControl = () => {} }: BackgroundOptions = {},
): Background {
	let catchingUp = false;
	const news = createEndNews();
	const tokens = new Map<string, string>();
	const announcements = createEndAnnouncements(port);
	const showStatus = () => attempt(port, () => port.showStatus(store.counts()));
	const put = (run: BackgroundRun) => {
		store.put(run);
		showStatus();
		attempt(port, () => port.publish(run));
	};
	const onEnd = (run: BackgroundRun, end: RunEnd) => {
		const ended: BackgroundRun = { ...run, progress: end };
		put(ended);
		if (news.isAwaited(run.runId)) announcements.record(ended);
		else announcements.tell(ended, end);
		if (!catchingUp && run.lifetime.owner === port.sessionId()) news.ended(ended);
	};
	const follower = createRunFollower(onEnd, port.warn, (run, control) => {
		const token = tokens.get(run.runId);
		if (token !== undefined) onControl(run, control, token);
	});

	const watch: Background["watch"] = (run, control, token) => {
		tokens.set(run.runId, token);
		put(run);
		follower.attend(run, control);
	};

	return {
		reserve: createReserve(store),
		news,
		isOwn: (runId) => tokens.has(runId),
		note: (run) => noteIn(port, run),
		watch,
		add(run, control, token) {
			const noted = noteIn(port, run);
			if (noted.ok) watch(run, control, token);
			return noted;
		},
		async rebuild(entries, places) {
			follower.detach();
			store.clear("background");
			const known = readRuns(entries);
			const runs = known.runs.filter(isBackground).flatMap((run) => believed(run, places));
			for (const run of runs) store.put(run);
			showStatus();
			const ended = runs.flatMap((run) => (run.progress.kind === "ended" ? [{ run, end: run.progress }] : []));
			announcements.begin(
				ended.map(({ run }) => run.runId),
				known.told,
			);
			for (const { run, end } of ended) announcements.tell(run, end);
			catchingUp = true; // what ended while pi was closed is told, and is no news
			await Promise.all(runs.filter(({ progress }) => progress.kind === "running").map(follower.pickUp));
			catchingUp = false;
		},
		...createActions({ store, tokens, news, announcements, expectStop: follower.expectStop, unresponsiveMs }),
		bill: () => billOf(store, port),
		detach() {
			follower.detach();
			news.clear();
		},
	};
}

function noteIn(port: SessionPort, run: BackgroundRun): Result<undefined> {
	try {
		port.appendEntry(RUN_ENTRY, encodeRun(run));
		return ok(undefined);
	} catch (error) {
		return err(`The run could not be kept in the session: ${messageOf(error)}`);
	}
}

function createReserve(store: RunStore): Background["reserve"] {
	let reserved = 0;
	return (max) => {
		const running = store.counts().running + reserved;
		if (running >= max) {
			return err(`${running} background agents are running, and subagents.maxBackground allows no more`);
		}
		reserved++;
		return ok(() => void reserved--);
	};
}

/** What runs have cost that this session has yet to be told; from here on they count as told. */
function billOf(store: RunStore, port: SessionPort): Usage | undefined {
	const open = store.background.flatMap((run) => openBill(run, port.sessionId()));
	if (open.length === 0) return undefined;
	return open.reduce((sum, { run, end }) => {
		store.put({ ...run, progress: { ...end, billing: "billed" } });
		attempt(port, () => port.appendEntry(BILLED_ENTRY, encodeBilled(run.runId)));
		return addUsage(sum, end.usage);
	}, noUsage);
}

/** A run whose cost this session has yet to be told. */
function openBill(run: BackgroundRun, sessionId: string) {
	if (run.progress.kind !== "ended" || run.progress.billing !== "open" || run.lifetime.owner !== sessionId) return [];
	return [{ run, end: run.progress }];
}

/**
 * What an entry tells of a run is believed, but not that it may be read or followed wherever it says. One that has ended
 * needs neither.
 */
function believed(named: BackgroundRun, places: RunSession["places"] | undefined): BackgroundRun[] {
	const directory = (places && locateRun(named.directory, places)) ?? named.directory;
	const run = { ...named, directory };
	const placed = isPlaced(startedOf(run));
	if (!placed && run.progress.kind === "running") return [];
	return [{ ...run, distrusted: !placed || !isTrusted(run.directory) }];
}
