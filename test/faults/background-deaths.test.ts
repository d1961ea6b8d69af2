import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import pLimit from "p-limit";
import { COMPLETION_MESSAGE, RUN_ENTRY, UPDATE_ENTRY } from "../../src/records/session-entries.ts";
import { createSetup, type Setup } from "../rig/fake-run.ts";
import { waitNoneWithEnv } from "../rig/processes.ts";
import { until } from "../rig/until.ts";
import { countIn, launchOf, type ParentOrders, parent } from "./mortal-parents.ts";

describe("kill -9 of the parent at every step of a background run", () => {
	let setup: Setup;
	let sessions = 0;
	before(() => {
		setup = createSetup();
	});
	after(() => setup.dispose());
	const newSession = () => join(setup.temporary, `session-${sessions++}.jsonl`);
	const live = (session: string): ParentOrders => ({ session, dieAt: 0, messages: "at once", launch: undefined });

	/** Dies at the step, and is started again, twice: what the session knows then. */
	async function history(dieAt: number, messages: ParentOrders["messages"]): Promise<string> {
		const session = newSession();
		const launch = launchOf(setup, [{ sleep: 100 }, { say: "found it" }]);
		const first = await parent(setup, { session, dieAt, messages, launch });
		assert.equal(first, "died", `there is no step ${dieAt}`);
		// Whether the parent came to tell it what to do or not, the run comes to its end without it.
		await until(
			() => existsSync(join(launch.run.directory, "result.json")) || !hasBegun(launch.run.directory),
			"its end",
		);
		for (let starts = 0; starts < 2; starts++) await parent(setup, live(session));
		await waitNoneWithEnv("PI_SUBAGENTS_RUN_ID", launch.run.runId);
		const counts = [RUN_ENTRY, UPDATE_ENTRY, COMPLETION_MESSAGE].map((type) => countIn(session, type));
		if (counts[0] === 0) assert.equal(hasPi(launch.run.directory), false, `step ${dieAt}: a run that nobody knows of`);
		return counts.join();
	}
	const hasPi = (directory: string) =>
		hasBegun(directory) && readFileSync(join(directory, "events.jsonl"), "utf8").includes('"type":"started"');
	const hasBegun = (directory: string) => existsSync(join(directory, "events.jsonl"));

	test("Whenever it dies, a run that the session knows is told once, and no other goes on (B61, F03)", async () => {
		const whole = newSession();
		const steps = await parent(setup, {
			...live(whole),
			launch: launchOf(setup, [{ sleep: 100 }, { say: "found it" }]),
		});
		assert.ok(typeof steps === "number" && steps > 10, String(steps));
		assert.deepEqual(
			[RUN_ENTRY, UPDATE_ENTRY, COMPLETION_MESSAGE].map((type) => countIn(whole, type)),
			[1, 1, 1],
		);
		// The first two come before there is anything to lose.
		const points = Array.from({ length: steps - 2 }, (_, at) => ({ dieAt: at + 3, messages: "at once" as const }));
		const heldBack = [steps - 1, steps].map((dieAt) => ({ dieAt, messages: "held back" as const }));
		const outcomes = await pLimit(3).map([...points, ...heldBack], async ({ dieAt, messages }) => ({
			...{ dieAt, messages, counts: await history(dieAt, messages) },
		}));
		for (const { dieAt, messages, counts } of outcomes) {
			assert.match(counts, /^(0,0,0|1,1,1)$/, `step ${dieAt} of ${steps}, messages ${messages}`);
		}
		assert.ok(outcomes.some(({ counts }) => counts === "0,0,0"));
		assert.ok(outcomes.filter(({ counts }) => counts === "1,1,1").length >= steps - 4);
	});

	test("Two parents with the same session, both watching: one tells (F52)", async () => {
		const session = newSession();
		const launch = launchOf(setup, [{ sleep: 1_500 }, { say: "found it" }]);
		const first = parent(setup, { ...live(session), launch });
		await until(() => countIn(session, RUN_ENTRY) === 1, "the entry");
		const others = [1, 2].map(() => parent(setup, live(session)));
		await Promise.all([first, ...others]);
		assert.deepEqual(
			[UPDATE_ENTRY, COMPLETION_MESSAGE].map((type) => countIn(session, type)),
			[1, 1],
		);
		assert.match(readFileSync(session, "utf8"), /"text":"found it"/);
	});
});
