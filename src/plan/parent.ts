import type { Trust } from "../definitions/trust.ts";
import type { Invocation, ModelRef, Packet, RunFile, RunSpec } from "../domain/spec.ts";
import type { RunPlaces } from "../run-directory/places.ts";
import type { Settings } from "../settings/settings.ts";

/** What planning needs to know of the session that asks: a value, so that planning is a function of its arguments. */
export interface Parent {
	readonly cwd: string;
	/** How a pi is started: the one that runs us. */
	readonly pi: Invocation;
	/** The model the session uses now. */
	readonly model: ModelRef | undefined;
	/** In which dialect of its provider it is asked. */
	readonly dialect: string | undefined;
	readonly trust: Trust;
	/** Whether somebody is there whom extensions of a child may ask. */
	readonly attended: boolean;
	/** Where the control socket of a run will be. */
	socketOf(runId: string): string;
	readonly settings: Settings;
	/** What all runs of the session share. */
	readonly sessionBudget: RunSpec["sessionBudget"];
	/** Where its runs note which files they change. */
	readonly writeLedger: string;
	readonly runPlaces: RunPlaces;
}

/** A run to be started: the spec, the files it speaks of, and what is told to the child alone. */
export interface PlannedRun {
	readonly spec: RunSpec;
	readonly files: readonly RunFile[];
	readonly packet: Packet;
	/** What of the files that were to be attached is missing; undefined where nothing is. */
	readonly shortfall: string | undefined;
}
