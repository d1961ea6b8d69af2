import { type ChildProcess, fork } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Assignment, Report } from "./fixtures/guarded-writer.ts";

const WRITER = fileURLToPath(new URL("fixtures/guarded-writer.ts", import.meta.url));
const WRITERS = 3;
const AT_ONCE = 30;
const MAX_PAUSE_MS = 6;

export interface Played {
	readonly schedules: number;
	/** Changes that somebody was told are done. */
	readonly acknowledged: number;
	/** Those of them that are not in the file in the end, with the seed of their schedule. */
	readonly lost: readonly string[];
	readonly refusals: number;
}

/** Random schedules of two or three processes that change one file, as many times as asked. The same seed is the same schedule. */
export async function playSchedules(
	directory: string,
	seeds: readonly number[],
	how: "guarded" | "unguarded",
): Promise<Played> {
	const writers = Array.from({ length: WRITERS }, () =>
		fork(WRITER, { stdio: ["ignore", "inherit", "inherit", "ipc"] }),
	);
	const reports = listen(writers);
	const played: { acknowledged: number; lost: string[]; refusals: number } = { acknowledged: 0, lost: [], refusals: 0 };
	const left = [...seeds];
	const playNext = async (): Promise<void> => {
		for (let seed = left.shift(); seed !== undefined; seed = left.shift()) {
			const assignments = scheduleOf(seed, directory, how);
			const path = assignments[0]?.path ?? "";
			writeFileSync(path, "begin\nend\n");
			const done = await Promise.all(
				assignments.map((assignment, at) => reports.of(assignment, writers[at % WRITERS])),
			);
			const content = readFileSync(path, "utf8").split("\n");
			const acknowledged = done.flatMap((report) => report.acknowledged);
			played.acknowledged += acknowledged.length;
			played.refusals += done.reduce((sum, { refusals }) => sum + refusals, 0);
			played.lost.push(
				...acknowledged.filter((line) => !content.includes(line)).map((line) => `${line} (seed ${seed})`),
			);
		}
	};
	try {
		await Promise.all(Array.from({ length: AT_ONCE }, playNext));
	} finally {
		for (const writer of writers) writer.kill("SIGKILL");
	}
	return { schedules: seeds.length, ...played };
}

function listen(writers: readonly ChildProcess[]) {
	const waiting = new Map<number, { resolve(report: Report): void; reject(error: Error): void }>();
	for (const writer of writers) {
		writer.on("message", (report: Report) => {
			waiting.get(report.id)?.resolve(report);
			waiting.delete(report.id);
		});
		writer.on("exit", (code) => {
			for (const { reject } of waiting.values()) reject(new Error(`a writer ended with ${code}`));
		});
	}
	return {
		of: (assignment: Assignment, writer: ChildProcess | undefined) =>
			new Promise<Report>((resolve, reject) => {
				waiting.set(assignment.id, { resolve, reject });
				writer?.send(assignment);
			}),
	};
}

let assignments = 0;

function scheduleOf(seed: number, directory: string, how: "guarded" | "unguarded"): Assignment[] {
	const random = createRandom(seed);
	const below = (limit: number) => Math.floor(random() * limit);
	const path = join(directory, `${how}-${seed}.txt`);
	return Array.from({ length: 2 + below(2) }, (_, writer) => ({
		id: ++assignments,
		path,
		guard:
			how === "guarded"
				? {
						ledger: join(directory, `ledger-${seed}`),
						name: `w${writer}`,
						session: `s${writer}`,
						since: Date.now(),
						holder: "",
					}
				: undefined,
		changes: Array.from({ length: 1 + below(3) }, (__, change) => ({
			tool: random() < 0.5 ? ("write" as const) : ("edit" as const),
			line: `${writer}-${change}`,
			pauses: [below(MAX_PAUSE_MS), below(MAX_PAUSE_MS), below(MAX_PAUSE_MS)],
		})),
	}));
}

/** Mulberry32. */
function createRandom(seed: number): () => number {
	let state = seed;
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
	};
}
