import type { TestContext } from "node:test";
import fc from "fast-check";
import { createHome } from "../rig/home.ts";
import { startModelServer } from "../rig/model-server.ts";
import { History, type Kind, type ProjectStep, type Step } from "./history.ts";

/** As many as wanted, and others each time: `HISTORIES=1000 HISTORY_SEED=random npm test`. */
export const HISTORIES = Number(process.env.HISTORIES ?? 50);
const asked = process.env.HISTORY_SEED ?? "3";
export const SEED = asked === "random" ? Date.now() % 1_000_000 : Number(asked);
const LANES = 2;

const kind = fc.constantFrom<Kind>("fine", "fine", "refused", "crash", "slow", "slow");
const background: fc.Arbitrary<Step> = fc.record({
	do: fc.constant("background" as const),
	kind: fc.constantFrom("fine", "late", "refused"),
});
const step: fc.Arbitrary<Step> = fc.oneof(
	{
		weight: 5,
		arbitrary: fc.record({
			do: fc.constant("delegate" as const),
			kinds: fc.array(kind, { minLength: 1, maxLength: 2 }),
		}),
	},
	{
		weight: 2,
		arbitrary: background,
	},
	{ weight: 2, arbitrary: fc.record({ do: fc.constant("resume" as const), which: fc.nat(5), kind }) },
	{
		weight: 5,
		arbitrary: fc
			.constantFrom("abort", "kill-parent", "kill-supervisor", "kill-child", "restart", "reload", "block", "unblock")
			.map((word) => ({ do: word }) as Step),
	},
);
/** In a session of the same project that has another parent. */
const elsewhere: fc.Arbitrary<ProjectStep> = fc
	.oneof(
		{ weight: 4, arbitrary: background },
		{
			weight: 1,
			arbitrary: fc.constantFrom("kill-parent", "restart", "reload").map((word) => ({ do: word }) as Step),
		},
	)
	.map((other) => ({ do: "other", step: other }));
const history = fc.array(fc.oneof({ weight: 4, arbitrary: step }, { weight: 1, arbitrary: elsewhere }), {
	minLength: 2,
	maxLength: 7,
});

/** Files that share the histories: none of them is to take more than two minutes. */
const PARTS = 3;
/** On a busy machine. */
export const MAX_HISTORIES_MS = 60_000 + (HISTORIES / PARTS) * 20_000;

/** Plays every third history, from the given one on. */
export async function playHistories(part: 0 | 1 | 2, t: TestContext): Promise<void> {
	const histories = fc.sample(history, { numRuns: HISTORIES, seed: SEED });
	const own = [...histories.entries()].filter(([index]) => index % PARTS === part);
	await Promise.all(
		Array.from({ length: LANES }, async (_, lane) => {
			for (const [at, [index, steps]] of own.entries()) if (at % LANES === lane) await play(steps, index, t);
		}),
	);
}

async function play(steps: readonly ProjectStep[], index: number, t: TestContext): Promise<void> {
	const server = await startModelServer();
	const home = createHome(server);
	try {
		await new History(home, server).run(steps);
	} catch (error) {
		t.diagnostic(`history ${index} of seed ${SEED}: ${JSON.stringify(steps)}`);
		throw error;
	} finally {
		await server.close();
		home.dispose();
	}
}
