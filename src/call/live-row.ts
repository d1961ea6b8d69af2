import { err, ok, type Result } from "../domain/result.ts";
import type { Receipt, Steer } from "../domain/steer.ts";
import { createSteer, refuseText, type SentMessage, sendMessage } from "../run/act-on-run.ts";
import { type PreparedRun, STOPPED_BY_PERSON } from "../run/execute.ts";
import type { StartedRun } from "../run/watch.ts";
import type { LiveRun } from "../session/live-runs.ts";
import type { Row } from "./row.ts";

/** A message to a task that has no supervisor yet. */
interface Waiting {
	readonly steer: Steer;
	settle(receipt: Receipt): void;
}

/** How far a task has come, as far as a message to it is concerned. */
type Stage =
	| { readonly kind: "queued"; readonly waiting: readonly Waiting[] }
	| { readonly kind: "begun"; readonly run: PreparedRun }
	| { readonly kind: "over" };

/** What a person can do about a task while its call runs. */
export interface LiveRow {
	readonly live: LiveRun;
	/** Aborted when a person stops this task alone. */
	readonly stop: AbortSignal;
	/** Its supervisor has its packet: what was sent to it while it was queued follows. */
	begun(run: PreparedRun): void;
	/** Aborted when the task goes on as a background run. */
	readonly moved: AbortSignal;
	/** It has ended, was dropped or has moved to the background. */
	over(): void;
}

const startedOf = ({ spec, directory }: PreparedRun): StartedRun => ({
	...{ runId: spec.runId, directory, socket: spec.socket },
});

export function createLiveRow(
	row: Row,
	/** Calls `detach` when the run may go on alone; that says whether it has not ended before. */
	move: (run: PreparedRun, startedAt: number, detach: () => boolean) => Promise<Result<undefined>>,
): LiveRow {
	const stopping = new AbortController();
	const moving = new AbortController();
	let stage: Stage = { kind: "queued", waiting: [] };
	let started: StartedRun | undefined;
	const send = (run: PreparedRun, steer: Steer) =>
		sendMessage(startedOf(run), steer, { as: "session", token: run.token });
	const keep = (steer: Steer, waiting: readonly Waiting[]): SentMessage => {
		const { promise, resolve } = Promise.withResolvers<Receipt>();
		stage = { kind: "queued", waiting: [...waiting, { steer, settle: resolve }] };
		return { id: steer.id, settled: promise };
	};
	const live: LiveRun = {
		get runId() {
			return row.request.runId;
		},
		get sessionId() {
			return row.request.sessionId;
		},
		get started() {
			return started;
		},
		get model() {
			return row.plan.ok ? row.plan.value.spec.model : undefined;
		},
		get limits() {
			return row.plan.ok ? row.plan.value.spec.limits : undefined;
		},
		get state() {
			return row.state;
		},
		family: row.request.family,
		label: row.request.label,
		task: row.request.task,
		async message(text, when): Promise<Result<SentMessage>> {
			const problem = refuseText(text);
			if (problem !== undefined) return err(problem);
			const steer = createSteer(text, when);
			if (stage.kind === "over") return err(`Run ${row.request.runId} has ended`);
			return stage.kind === "queued" ? ok(keep(steer, stage.waiting)) : await send(stage.run, steer);
		},
		stop: () => stopping.abort(STOPPED_BY_PERSON),
		async release() {
			if (stage.kind === "over") return err(`Run ${row.request.runId} has ended`);
			const { phase } = row.state;
			if (stage.kind === "queued" || phase.kind !== "running") {
				return err(`"${row.request.label}" is queued: only a running task can go to the background`);
			}
			return await move(stage.run, phase.since, () => {
				if (stage.kind === "over") return false;
				moving.abort();
				return true;
			});
		},
	};
	return {
		live,
		stop: stopping.signal,
		moved: moving.signal,
		begun(run) {
			const waiting = stage.kind === "queued" ? stage.waiting : [];
			stage = { kind: "begun", run };
			started = startedOf(run);
			for (const { steer, settle } of waiting) {
				void send(run, steer)
					.then(async (sent): Promise<Receipt> => (sent.ok ? await sent.value.settled : { kind: "undelivered" }))
					.then(settle);
			}
		},
		over() {
			const waiting = stage.kind === "queued" ? stage.waiting : [];
			stage = { kind: "over" };
			for (const { settle } of waiting) settle({ kind: "undelivered" });
		},
	};
}
