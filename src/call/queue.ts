import type { Parent } from "../plan/parent.ts";
import type { Row } from "./row.ts";
import { parkRow } from "./row-start.ts";

/** The tasks of a call that wait for their turn. */
export interface Queue {
	/** It is its turn. */
	begun(row: Row): void;
	/** Its child has got to work and waits for its model: there is time to start another one's. */
	atWork(row: Row): void;
}

export function createQueue(rows: readonly Row[], parent: Parent): Queue {
	const waiting = new Set(rows);
	const working = new Set<Row>();
	const { headStart, maxConcurrency } = parent.settings;
	return {
		begun: (row) => void waiting.delete(row),
		atWork(row) {
			// One after the other: the next may be meant to see what this one does.
			if (working.has(row) || !headStart || maxConcurrency === 1) return;
			working.add(row);
			for (const next of waiting) if (parkRow(next, parent)) return;
		},
	};
}
