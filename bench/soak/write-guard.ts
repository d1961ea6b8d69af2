import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Played, playSchedules } from "../../test/child/guard-schedules.ts";
import { playWithPi } from "../../test/e2e/guard-play.ts";
import { measureWriteGuard } from "../write-guard.ts";
import { atMost, type Verdict } from "./verdict.ts";

/** Random schedules of writers on one file, without pi and with it, and what the guard costs. */
export async function soakWriteGuard(schedules: number): Promise<Verdict[]> {
	const directory = mkdtempSync(join(tmpdir(), "pi-soak-guard-"));
	const seeds = Array.from({ length: schedules }, () => Math.floor(Math.random() * 2 ** 31));
	const medians = await measureWriteGuard(500);
	try {
		const guarded = await playSchedules(directory, seeds, "guarded");
		const control = await playSchedules(directory, seeds.slice(0, 500), "unguarded");
		const two = await withPi(2, true);
		const three = await withPi(3, true);
		const controlWithPi = await withPi(2, false);
		return [
			none(`${schedules} schedules without pi`, guarded),
			some("the control without pi", control),
			none("200 schedules of two real sub-agents", two),
			none("200 schedules of three real sub-agents", three),
			some("the control with real sub-agents", controlWithPi),
			...Object.entries(medians).map(([tool, added]) =>
				atMost(`added by the guard, ${tool} of 100 kB`, added, 1, "ms"),
			),
		];
	} finally {
		rmSync(directory, { recursive: true, force: true });
	}
}

async function withPi(agents: number, writeGuard: boolean) {
	const ends: (() => unknown)[] = [];
	try {
		return await playWithPi({ after: (end) => void ends.push(end) }, { agents, schedules: 200, writeGuard });
	} finally {
		for (const end of ends) await end();
	}
}

type Lost = Pick<Played, "acknowledged" | "lost">;
const measured = ({ acknowledged, lost }: Lost) => `${lost.length} of ${acknowledged} changes lost`;

const none = (what: string, played: Lost): Verdict => ({
	promise: `${what} lose nothing`,
	measured: [measured(played), ...played.lost.slice(0, 3)].join(" "),
	kept: played.lost.length === 0,
});

const some = (what: string, played: Lost): Verdict => ({
	promise: `${what} loses at least a twentieth`,
	measured: measured(played),
	kept: played.lost.length * 20 >= played.acknowledged,
});
