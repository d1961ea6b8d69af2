import type { BackgroundCounts, BackgroundRun, RunEnd } from "../domain/kept-run.ts";
import { messageOf } from "../domain/result.ts";
import { completionText, wasStoppedByPerson } from "../present/background-text.ts";
import { describeEnd } from "../present/text.ts";
import { type Claim, claimDelivery, isMarkedTold, markTold } from "../records/delivery.ts";
import { COMPLETION_MESSAGE, encodeRun, UPDATE_ENTRY } from "../records/session-entries.ts";

/** What background runs need of the session they belong to. Everything here may throw once the session is over. */
export interface SessionPort {
	sessionId(): string;
	appendEntry(type: string, data: unknown): void;
	/** A message that everybody sees and that starts no turn. */
	post(customType: string, text: string, details: unknown): void;
	notify(text: string, kind: "info" | "error"): void;
	/** How many background runs there are has changed. */
	showStatus(counts: BackgroundCounts): void;
	warn(text: string): void;
	/** Other extensions hear of it. */
	publish(run: BackgroundRun): void;
}

/** Tells a run's end to the session that started it, once, and nowhere else. Never throws. */
export interface EndAnnouncements {
	tell(run: BackgroundRun, end: RunEnd): void;
	/** Keeps the end in the session and says nothing yet: a tool that waited for it returns it, or it is told after all. */
	record(run: BackgroundRun): void;
	/** A tool has returned the end. */
	returned(run: BackgroundRun): void;
	/** What a session's entries show: of which ends it has an entry, and of which a message. */
	begin(recorded: Iterable<string>, told: Iterable<string>): void;
}

export function createEndAnnouncements(port: SessionPort): EndAnnouncements {
	let recorded = new Set<string>();
	let told = new Set<string>();
	const record = (run: BackgroundRun) => {
		if (!recorded.has(run.runId)) port.appendEntry(UPDATE_ENTRY, encodeRun(run, describeEnd(run)));
		recorded.add(run.runId);
	};
	const tell = (run: BackgroundRun, end: RunEnd) => {
		const { runId } = run;
		record(run);
		if (told.has(runId)) return;
		const { notice, text, details } = completionText(run, end);
		if (!wasStoppedByPerson(end)) port.notify(notice, end.outcome.kind === "completed" ? "info" : "error");
		// Last, because pi may keep it back until the turn ends: a process that dies before has left the entry.
		port.post(COMPLETION_MESSAGE, text, details);
		told.add(runId);
	};
	/** Another process of this session told it and has ended since; what it left half done, a later start sees. */
	const wasToldElsewhere = ({ runId, directory, distrusted }: BackgroundRun) =>
		!distrusted && !recorded.has(runId) && !told.has(runId) && isMarkedTold(directory);
	const tellOnce = (run: BackgroundRun, end: RunEnd) => {
		const done = recorded.has(run.runId) && told.has(run.runId);
		if (done || run.lifetime.owner !== port.sessionId()) return;
		const claim = run.distrusted ? UNCLAIMED : claimDelivery(run.directory);
		if (claim.kind === "held" || wasToldElsewhere(run)) return;
		try {
			tell(run, end);
			if (!run.distrusted) markTold(run.directory);
		} catch (error) {
			claim.release();
			throw error;
		}
	};
	return {
		tell: (run, end) => attempt(port, () => tellOnce(run, end)),
		record(run) {
			if (run.lifetime.owner === port.sessionId()) attempt(port, () => record(run));
		},
		returned(run) {
			told.add(run.runId);
			if (!run.distrusted) markTold(run.directory);
		},
		begin(withEntry, withMessage) {
			recorded = new Set(withEntry);
			told = new Set(withMessage);
		},
	};
}

/** Where others can write, a claim proves nothing: better told twice than never. */
const UNCLAIMED: Claim = { kind: "taken", release() {} };

/** A session that is over takes nothing more: the next start finds what was not told. */
export function attempt(port: SessionPort, act: () => void): void {
	try {
		act();
	} catch (error) {
		port.warn(`A background run could not be told of: ${messageOf(error)}`);
	}
}
