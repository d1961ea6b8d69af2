import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createRunId, createSessionId } from "../../src/plan/ids.ts";
import { delegate } from "../../test/rig/delegation.ts";
import { createHome, type Home } from "../../test/rig/home.ts";
import { type ModelServer, startModelServer, text } from "../../test/rig/model-server.ts";
import { packPackage } from "../../test/rig/package.ts";
import { runPi } from "../../test/rig/pi.ts";
import { median } from "../figures.ts";
import { atMost, type Verdict } from "./verdict.ts";

const RUNS = 1_000;
const ROUNDS = 5;

interface Entry {
	readonly type: string;
	readonly customType?: string;
	readonly id?: string;
	readonly parentId?: string | null;
	readonly data?: { readonly runId: string; readonly sessionId: string; readonly directory?: string };
}

/** How much longer pi takes to its first request when the session has 1,000 runs, with their directories. */
export async function soakSessionStart(): Promise<Verdict[]> {
	const packed = packPackage();
	const server = await startModelServer();
	const home = createHome(server, { settings: { subagents: { maxRuns: RUNS * 2 } } });
	const one = join(home.root, "one.jsonl");
	const many = join(home.root, "many.jsonl");
	try {
		await delegate(home, server, {
			extension: packed.extension,
			args: { tasks: [{ name: "recorded", prompt: "say something" }] },
			child: () => text("something"),
			pi: { args: ["--session", one] },
		});
		writeFileSync(many, multiply(readFileSync(one, "utf8")));
		const start = (session: string, extension: string | undefined) => timeToRequest(home, server, session, extension);
		const [alone, few, all]: [number[], number[], number[]] = [[], [], []];
		for (let round = 0; round < ROUNDS; round++) {
			alone.push((await start(many, undefined)) - (await start(one, undefined)));
			few.push(await start(one, packed.extension));
			all.push(await start(many, packed.extension));
		}
		const added = median(all) - median(few);
		const ours = added - median(alone);
		return [
			atMost(`session start with ${RUNS} recorded runs, added to a start with one`, added, 500, "ms"),
			{ promise: "of which ours, without pi's own reading", measured: `${Math.round(ours)} ms`, kept: true },
		];
	} finally {
		await server.close();
		home.dispose();
		packed.dispose();
	}
}

async function timeToRequest(
	home: Home,
	server: ModelServer,
	session: string,
	extension: string | undefined,
): Promise<number> {
	const copy = `${session}.copy`;
	cpSync(session, copy); // pi appends to it
	server.use(() => text("ok"));
	const seen = server.requests.length;
	const from = performance.now();
	const pi = runPi(home, { prompt: "hello", args: ["--session", copy], ...(extension !== undefined && { extension }) });
	const request = await server.waitForRequest(({ index }) => index >= seen, 60_000);
	await pi.done;
	return request.at - from;
}

/** The session with its only run's entries, and its directory, many times. */
function multiply(session: string): string {
	const entries = session
		.trim()
		.split("\n")
		.map((line) => JSON.parse(line) as Entry);
	const ours = entries.filter(({ customType }) => customType === "pi-subagents");
	const directory = ours[0]?.data?.directory;
	if (ours.length !== 2 || directory === undefined) throw new Error(`One run has ${ours.length} entries.`);
	let parentId = entries.at(-1)?.id ?? null;
	const copies = Array.from({ length: RUNS - 1 }, (_, run) => {
		const ids = { runId: createRunId(new Date()), sessionId: createSessionId() };
		const copy = join(dirname(directory), ids.runId);
		cpSync(directory, copy, { recursive: true });
		return ours.map((entry, index) => {
			const id = `${run.toString(16).padStart(6, "0")}${index.toString(16).padStart(2, "0")}`;
			const placed = { ...entry, id, parentId, data: { ...entry.data, ...ids, directory: copy } };
			parentId = id;
			return JSON.stringify(placed);
		});
	});
	return `${[...entries.map((entry) => JSON.stringify(entry)), ...copies.flat()].join("\n")}\n`;
}
