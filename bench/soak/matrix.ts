import pLimit from "p-limit";
import { type Cell, playCell, VICTIMS, type Victims, WORKS, type Work } from "../../test/faults/kill-matrix.ts";
import { median, ms, printTable } from "../figures.ts";
import type { Verdict } from "./verdict.ts";

const AT_ONCE = 3;

interface Round {
	readonly victims: Victims;
	readonly work: Work;
	readonly cells: (Cell | Error)[];
}

/** Every cell of the kill matrix so many times, with the real pi. */
export async function soakMatrix(times: number): Promise<Verdict[]> {
	const rounds = VICTIMS.flatMap((victims) => WORKS.map((work): Round => ({ victims, work, cells: [] })));
	const plays = rounds.flatMap((round) => Array.from({ length: times }, () => round));
	let done = 0;
	const progress = setInterval(() => console.log(`  … ${done} of ${plays.length} cells`), 60_000);
	await pLimit(AT_ONCE).map(plays, async (round) => {
		round.cells.push(await playCell(round.victims, round.work).catch((error: Error) => error));
		done++;
	});
	clearInterval(progress);
	const head = ["killed", "while the child is at", "times", "survivors", "empty after (median, max)", "not played"];
	printTable("Kill matrix: real pi, SIGKILL, survivors by marker and by the pids that the jobs wrote", [
		head,
		...rounds.map(rowOf),
	]);
	const cells = rounds.flatMap((round) => round.cells);
	return [
		{
			promise: `nothing survives (${plays.length} kills)`,
			measured: `${cells.reduce((sum, cell) => sum + survivorsIn(cell), 0)} survivors`,
			kept: cells.every((cell) => survivorsIn(cell) === 0),
		},
		{
			promise: "every kill was played",
			measured: `${cells.filter((cell) => cell instanceof Error).length} were not`,
			kept: !cells.some((cell) => cell instanceof Error),
		},
	];
}

const survivorsIn = (cell: Cell | Error) => (cell instanceof Error ? 0 : cell.survivors.length);

function rowOf({ victims, work, cells }: Round): string[] {
	const played = cells.filter((cell): cell is Cell => !(cell instanceof Error));
	const times = played.map(({ emptyAfterMs }) => emptyAfterMs);
	const by = played.some(({ endedBy }) => endedBy === "the next parent") ? ", by the next parent" : "";
	return [
		victims.join(" + "),
		work,
		String(played.length),
		String(cells.reduce((sum, cell) => sum + survivorsIn(cell), 0)),
		played.length > 0 ? `${ms(median(times))}, ${ms(Math.max(...times))}${by}` : "",
		cells.flatMap((cell) => (cell instanceof Error ? [cell.message.split("\n")[0] ?? ""] : []))[0] ?? "",
	];
}
