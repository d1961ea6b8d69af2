import { readFileSync } from "node:fs";
import { join } from "node:path";
import { delegate } from "../../test/rig/delegation.ts";
import { createHome } from "../../test/rig/home.ts";
import { startModelServer, text } from "../../test/rig/model-server.ts";
import { packPackage } from "../../test/rig/package.ts";
import { atMost, type Verdict } from "./verdict.ts";

const CHILDREN = 4;
const DELTAS = 3_000;

/** How long the parent's event loop keeps others waiting while its children stream. */
export async function soakEventLoop(): Promise<Verdict[]> {
	const packed = packPackage();
	const server = await startModelServer();
	const home = createHome(server);
	const file = join(home.root, "loop-delay.json");
	try {
		const tasks = Array.from({ length: CHILDREN }, (_, index) => ({ name: `t${index}`, prompt: "talk" }));
		const { result } = await delegate(home, server, {
			extension: packed.extension,
			args: { tasks },
			child: () => text("word after word, ".repeat(DELTAS), { chunkChars: 17, chunkDelayMs: 1 }),
			pi: {
				args: ["-e", join(import.meta.dirname, "fixtures", "loop-delay.ts")],
				env: { LOOP_DELAY: file },
				timeoutMs: 300_000,
			},
		});
		const completed = result.text.split("\n").filter((line) => line.startsWith("✓")).length;
		const { p99, max } = JSON.parse(readFileSync(file, "utf8")) as { p99: number; max: number };
		const what = `${CHILDREN} children that stream ${DELTAS} deltas each`;
		return [
			{ promise: `${what}: all complete`, measured: `${completed}`, kept: completed === CHILDREN },
			atMost(`${what}: parent's event loop delay, p99`, p99, 20, "ms"),
			atMost(`${what}: parent's event loop delay, most`, max, 100, "ms"),
		];
	} finally {
		await server.close();
		home.dispose();
		packed.dispose();
	}
}
