import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import pLimit from "p-limit";
import { COMPLETION_MESSAGE, RUN_ENTRY, UPDATE_ENTRY } from "../../src/records/session-entries.ts";
import { createSetup, resultIn, type Setup } from "../rig/fake-run.ts";
import { waitNoneWithEnv } from "../rig/processes.ts";
import { until } from "../rig/until.ts";
import { countIn, launchOf, parent } from "./mortal-parents.ts";

const DIE_AT_STEP = fileURLToPath(new URL("./fixtures/die-at-step.ts", import.meta.url));
const MARKER = "PI_SUBAGENTS_RUN_ID";

describe("kill -9 of the supervisor at every step of a background run", () => {
	let setup: Setup;
	let histories = 0;
	before(() => {
		setup = createSetup();
	});
	after(() => setup.dispose());

	/** What became of a run whose supervisor died before this step, in the words of its session. */
	async function history(step: number) {
		const session = join(setup.temporary, `session-${histories++}.jsonl`);
		const stepsFile = `${session}.steps`;
		const launch = launchOf(setup, [{ say: "found it" }]);
		const env = {
			...{ DIE_AT_STEP: String(step), STEPS_FILE: stepsFile },
			NODE_OPTIONS: `--disable-warning=ExperimentalWarning --import=${DIE_AT_STEP}`,
		};
		const orders = { session, dieAt: 0, messages: "at once" as const, launch };
		const refusal = await parent(setup, orders, env).then(
			() => undefined,
			(error: Error) => error.message,
		);
		await waitNoneWithEnv(MARKER, launch.run.runId);
		// A supervisor that was not killed writes its steps when it exits, which may be a moment after its run has ended.
		if (step === 0)
			await until(() => existsSync(stepsFile) && readFileSync(stepsFile, "utf8") !== "", "the supervisor's steps");
		return {
			refusal,
			steps: existsSync(stepsFile) ? Number(readFileSync(stepsFile, "utf8")) : undefined,
			counts: [RUN_ENTRY, UPDATE_ENTRY, COMPLETION_MESSAGE].map((type) => countIn(session, type)).join(),
			outcome: existsSync(join(launch.run.directory, "result.json"))
				? resultIn(launch.run.directory).outcome
				: undefined,
		};
	}

	test("Whenever it dies, the run is told once and truly, or was refused; no process is left (F04, B47, B61)", async () => {
		const whole = await history(0);
		assert.deepEqual(whole.outcome, { kind: "completed", text: "found it", end: "natural" });
		const steps = whole.steps ?? 0;
		assert.ok(steps >= 20, `${steps} steps`);
		const points = Array.from({ length: steps }, (_, at) => at + 1);
		const ends = await pLimit(3).map(points, async (step) => ({ step, ...(await history(step)) }));
		for (const { step, refusal, counts, outcome } of ends) {
			const where = `step ${step} of ${steps}: ${counts}, ${JSON.stringify(outcome)}, ${refusal}`;
			if (refusal !== undefined) {
				assert.match(refusal, /Failed to spawn sub-agent process/, where);
				assert.equal(counts, "0,0,0", where);
			} else assert.equal(counts, "1,1,1", where);
			if (outcome?.kind === "completed") assert.equal(outcome.text, "found it", where);
			else if (refusal === undefined) assert.deepEqual(outcome, { kind: "failed", failure: { kind: "lost" } }, where);
		}
		const of = (matches: (end: (typeof ends)[number]) => boolean) => ends.filter(matches).length;
		assert.ok(of(({ refusal }) => refusal !== undefined) > 0, "some are refused");
		assert.ok(of(({ outcome }) => outcome?.kind === "failed" && outcome.failure.kind === "lost") > 0, "some are lost");
		assert.ok(of(({ outcome }) => outcome?.kind === "completed") > 0, "some have told their result before");
	});
});
