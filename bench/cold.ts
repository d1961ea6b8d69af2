import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startModelServer } from "../test/rig/model-server.ts";
import { homeFor, sampleStart, sampleSystem } from "./delegation.ts";
import { median, ms, printTable, times } from "./figures.ts";
import { ourSystem } from "./systems.ts";

const WORK = { tasks: 1, writingMs: 0, turnMs: 0, turns: 2 };

/** With an empty compile cache, as after an installation or an update of Node: a bare pi, and the first child of a pi. */
export async function benchCold(rounds: number): Promise<void> {
	const ours = ourSystem();
	const server = await startModelServer();
	const [plain, packaged] = [homeFor(server), homeFor(server, ours.cold)];
	const cold = async <T>(sample: (options: { env: Record<string, string> }) => Promise<T>): Promise<T> => {
		const cache = mkdtempSync(join(tmpdir(), "pi-bench-cache-"));
		try {
			return await sample({ env: { NODE_COMPILE_CACHE: cache } });
		} finally {
			rmSync(cache, { recursive: true, force: true });
		}
	};
	const bare: number[] = [];
	const child: number[] = [];
	try {
		for (let round = 0; round < rounds; round++) {
			bare.push(await cold((options) => sampleStart(plain, server, options)));
			const sample = await cold((options) => sampleSystem(packaged, server, ours.cold, WORK, options));
			if (sample) child.push(sample.first);
		}
		printTable("Empty compile cache, until the first request (medians, interleaved; no head start)", [
			["bare pi", ms(median(bare))],
			["from the complete call", ms(median(child)), times(median(child) / median(bare))],
		]);
	} finally {
		await server.close();
		for (const home of [plain, packaged]) home.dispose();
		ours.dispose();
	}
}
