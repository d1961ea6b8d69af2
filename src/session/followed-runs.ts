import type { RunEvent } from "../domain/event.ts";
import type { RunSpec } from "../domain/spec.ts";
import { initialState, type RunState, reduce } from "../domain/state.ts";
import { createTranscript, type Step, stepsIn } from "../domain/transcript.ts";
import { connectControl } from "../run/control-client.ts";
import { follow, readSpec } from "../run-directory/read.ts";
import { type FleetRun, ofState, startedOf } from "./fleet-run.ts";

/** The states of runs that are looked at, told as they grow. */
export interface FollowedRuns {
	/** Has the run's state told as it grows, or read once where it has ended. */
	attend(run: FleetRun): void;
	/** All steps of the one run that is watched, as far as they are known yet. Undefined: none is watched any more. */
	watch(run: FleetRun | undefined): readonly Step[];
	/** The run with what is known by now. */
	with(run: FleetRun): FleetRun;
	close(): void;
}

interface Watched {
	readonly runId: string;
	readonly leave: AbortController;
	steps: readonly Step[];
}

/** Whom a run tells of its growth that has no supervisor any more. */
const NOBODY = { next: async () => undefined };

export function createFollowedRuns(onChange: () => void): FollowedRuns {
	const states = new Map<string, RunState>();
	const specs = new Map<string, RunSpec>();
	const begun = new Set<string>();
	const closing = new AbortController();
	let watched: Watched | undefined;
	const learn = async ({ runId, directory }: FleetRun) => {
		const spec = directory === undefined ? undefined : await readSpec(directory);
		if (spec) specs.set(runId, spec);
	};
	const attend = (run: FleetRun) => {
		if (run.handle.kind === "live" || begun.has(run.runId) || run.directory === undefined) return;
		begun.add(run.runId);
		const tell = (_event: RunEvent, state: RunState) => {
			states.set(run.runId, state);
			onChange();
		};
		void learn(run)
			.then(() => fold(run, closing.signal, tell))
			.catch(() => {});
	};
	const begin = (run: FleetRun) => {
		const leave = new AbortController();
		const transcript = createTranscript();
		const own: Watched = { runId: run.runId, leave, steps: [] };
		const tell = (event: RunEvent, state: RunState) => {
			transcript.add(event, state);
			own.steps = transcript.steps;
			onChange();
		};
		void fold(run, AbortSignal.any([leave.signal, closing.signal]), tell).catch(() => {});
		return own;
	};
	return {
		attend,
		watch(run) {
			if (watched && watched.runId !== run?.runId) {
				watched.leave.abort();
				watched = undefined;
			}
			if (!run) return [];
			attend(run);
			if (run.directory !== undefined) watched ??= begin(run);
			if (watched && watched.steps.length > 0) return watched.steps;
			return run.state ? stepsIn(run.state) : [];
		},
		with(run) {
			const { task = run.task, limits = run.limits } = specs.get(run.runId) ?? {};
			const state = states.get(run.runId);
			if (!state || run.handle.kind === "live") return run;
			const known = { ...run, task, limits, state };
			if (run.shown !== "running" || state.phase.kind === "queued") return known;
			const told = ofState(state);
			return { ...known, ...told, model: told.model ?? run.model };
		},
		close: () => closing.abort(),
	};
}

/** From the beginning of its trail to its end, or until nobody wants to know any more. */
async function fold(
	run: FleetRun,
	signal: AbortSignal,
	tell: (event: RunEvent, state: RunState) => void,
): Promise<void> {
	const started = run.shown === "running" ? startedOf(run.handle) : undefined;
	const isReachable = started?.ok && !started.value.distrusted;
	const control = isReachable ? await connectControl(started.value.socket) : undefined;
	const client = control?.ok ? control.value : undefined;
	const leave = () => client?.close();
	signal.addEventListener("abort", leave, { once: true });
	client?.unref();
	try {
		let state = initialState;
		if (signal.aborted || run.directory === undefined) return leave();
		for await (const event of follow(run.directory, client ?? NOBODY)) {
			if (signal.aborted) return;
			state = reduce(state, event);
			tell(event, state);
		}
	} finally {
		signal.removeEventListener("abort", leave);
		leave();
	}
}
