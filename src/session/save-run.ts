import type { KeptRun } from "../domain/kept-run.ts";
import { messageOf } from "../domain/result.ts";
import { describeEnd } from "../present/text.ts";
import type { RunStore } from "../records/run-store.ts";
import { ENTRY_TYPE, encodeRun } from "../records/session-entries.ts";

/** Keeps foreground runs in the store and in pi's session file: when one starts, and again when it has ended. Never throws. */
export function createSaveRun(
	store: RunStore,
	appendEntry: (type: string, data: unknown) => void,
	warn: (message: string) => void,
	publish: (run: KeptRun) => void,
): (run: KeptRun) => void {
	return (run) => {
		store.put(run);
		try {
			appendEntry(ENTRY_TYPE, encodeRun(run, describeEnd(run)));
		} catch (error) {
			warn(`A sub-agent's session could not be saved: ${messageOf(error)}`);
		}
		publish(run);
	};
}
