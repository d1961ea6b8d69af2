import { type BackgroundRun, endStatusOf } from "../domain/kept-run.ts";
import { err, type Result } from "../domain/result.ts";
import type { Steer } from "../domain/steer.ts";
import type { RunStore } from "../records/run-store.ts";
import { type Proof, type SentMessage, STRANGER, sendMessage } from "../run/act-on-run.ts";
import { connectControl } from "../run/control-client.ts";
import { killSupervisor } from "../run/watch.ts";
import type { EndAnnouncements } from "./end-announcements.ts";
import type { EndNews } from "./end-news.ts";
import { type RunFollower, startedOf } from "./run-follower.ts";

/** What can be done about background runs of the session while they run. */
export interface BackgroundActions {
	/** Asks a run to stop; resolves to why that is not possible. */
	stop(runId: string, by?: "person" | "caller"): Promise<string | undefined>;
	/** Sends a text to a running run. */
	message(runId: string, steer: Steer, as: Proof["as"]): Promise<Result<SentMessage>>;
	/**
	 * Resolves when all of these have ended, or the signal is aborted. Their ends are not announced meanwhile; the returned
	 * function says whether a tool result tells them instead.
	 */
	wait(runIds: readonly string[], signal: AbortSignal): Promise<(told: boolean) => void>;
}

interface Parts {
	readonly store: RunStore;
	/** By which supervisors know this session. */
	readonly tokens: ReadonlyMap<string, string>;
	readonly news: EndNews;
	readonly announcements: EndAnnouncements;
	readonly expectStop: RunFollower["expectStop"];
	readonly unresponsiveMs: number;
}

export function createActions({
	store,
	tokens,
	news,
	announcements,
	expectStop,
	unresponsiveMs,
}: Parts): BackgroundActions {
	const find = (runId: string) => store.background.find((run) => run.runId === runId);
	return {
		async message(runId, steer, as) {
			const run = find(runId);
			if (!run) return err(unknownRun(runId, store));
			const token = tokens.get(runId);
			return await sendMessage(
				startedOf(run),
				steer,
				token === undefined || as === "process" ? STRANGER : { as, token },
			);
		},
		async wait(runIds, signal) {
			const running = runIds.filter((runId) => find(runId)?.progress.kind === "running");
			const awaited = news.await(running);
			await awaited.all(signal);
			return (told) => {
				for (const run of awaited.leave()) {
					if (told) announcements.returned(run);
					else if (run.progress.kind === "ended") announcements.tell(run, run.progress);
				}
			};
		},
		async stop(runId, by = "person") {
			const run = find(runId);
			if (!run) return unknownRun(runId, store);
			if (run.progress.kind === "ended") return `Run ${runId} has already ended: ${endStatusOf(run.progress.outcome)}`;
			const control = await connectControl(run.lifetime.socket);
			if (!control.ok) return `Run ${runId} does not answer: ${control.error.message}`;
			expectStop(runId);
			control.value.send({ type: "stop", cause: { kind: "aborted", by } });
			control.value.closeWhenSent();
			setTimeout(() => void insist(run, store), unresponsiveMs).unref();
			return undefined;
		},
	};
}

/** Ends a supervisor that was asked to stop its run and has not. Its directory says which process that is. */
async function insist({ runId, directory, distrusted }: BackgroundRun, store: RunStore): Promise<void> {
	if (!distrusted && store.get(runId)?.progress.kind === "running") await killSupervisor(directory);
}

export function unknownRun(runId: string, store: RunStore): string {
	const known = store.background.map((run) => run.runId).join(", ");
	return `Unknown run: "${runId}". Known runs: ${known || "(none)"}`;
}
