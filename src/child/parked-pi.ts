import { statSync } from "node:fs";
import { dirname } from "node:path";
import type { Result } from "../domain/result.ts";
import type { RunSpec } from "../domain/spec.ts";
import { type Isolation, isolate } from "./isolation.ts";
import { spawnPi, type WaitingPi } from "./pi-process.ts";
import { makePrivate } from "./session-lock.ts";

/** What a pi has read when it started (context files, settings, skills) may be out of date after this. */
const MAX_AGE_MS = 60_000;

/** A run's pi before it has its task. Nothing that it does before can be seen. */
export interface ParkedPi {
	/** The pi, where it is just what one that starts now would be. It can be taken once. */
	take(spec: RunSpec): Promise<WaitingPi | undefined>;
	/** How the pi of this run is to be started. */
	isolationFor(spec: RunSpec): Promise<Result<Isolation>>;
	/** Has it get ready for its first request meanwhile. */
	warmUp(dialect: string): void;
	/** Ends one that was not taken. */
	end(): Promise<void>;
}

/** Starts pi ahead of its task. For one that is started early the task may take its time, or never come. */
export function parkPi(
	spec: RunSpec,
	when: "on time" | "early",
	runDirectory: string,
	maxAgeMs = MAX_AGE_MS,
): ParkedPi {
	const isolation = isolate(spec, runDirectory);
	let pi = spawnAhead(spec, isolation, when);
	const end = async () => {
		const waiting = await pi;
		pi = Promise.resolve(undefined);
		await waiting?.end();
	};
	setTimeout(end, maxAgeMs).unref();
	return {
		async take(wanted) {
			const waiting = await pi;
			const fits = startsAlike(spec, wanted) && !goesOn(wanted);
			if (!waiting?.isAlive() || !fits) {
				await end();
				return undefined;
			}
			pi = Promise.resolve(undefined);
			return waiting;
		},
		end,
		isolationFor: (wanted) => (startsAlike(spec, wanted) ? isolation : isolate(wanted, runDirectory)),
		warmUp: (dialect) => void pi.then((waiting) => waiting?.warmUp(dialect)),
	};
}

/** Whatever keeps it from being started is told when it is needed. */
async function spawnAhead(
	spec: RunSpec,
	isolating: Promise<Result<Isolation>>,
	when: "on time" | "early",
): Promise<WaitingPi | undefined> {
	if (goesOn(spec)) return undefined;
	const isolation = await isolating;
	if (!isolation.ok) return undefined;
	try {
		if (spec.sharedSession !== undefined) makePrivate(dirname(spec.sharedSession));
		return spawnPi(spec, isolation.value, when);
	} catch {
		return undefined;
	}
}

/** pi reads a session when it starts: one that others may write to is not read ahead of time. An empty file is none. */
const goesOn = ({ sharedSession }: RunSpec) =>
	sharedSession !== undefined && (statSync(sharedSession, { throwIfNoEntry: false })?.size ?? 0) > 0;

function startsAlike(one: RunSpec, other: RunSpec): boolean {
	const startOf = ({ invocation, cwd, isolation, runId }: RunSpec) =>
		JSON.stringify([invocation, cwd, isolation, runId]);
	return startOf(one) === startOf(other);
}
