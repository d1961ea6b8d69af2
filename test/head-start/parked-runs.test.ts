import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createQueue } from "../../src/call/queue.ts";
import type { Row } from "../../src/call/row.ts";
import type { RunSpec } from "../../src/domain/spec.ts";
import { initialState } from "../../src/domain/state.ts";
import { fit, type Parked } from "../../src/head-start/head-start.ts";
import { launchKey, type ParkedRun } from "../../src/head-start/parked-run.ts";
import type { Parent, PlannedRun } from "../../src/plan/parent.ts";
import type { RunRequest } from "../../src/plan/run.ts";
import { createSetup, type Setup, specFor } from "../rig/fake-run.ts";

const REQUEST = { naming: "free", sharedSession: undefined } as RunRequest;

describe("children that are started ahead of their task", () => {
	let setup: Setup;
	before(() => {
		setup = createSetup();
	});
	after(() => setup.dispose());
	const planned = (changes: Partial<RunSpec> = {}): PlannedRun => {
		const spec = { ...specFor(setup.project), ...changes };
		const packet = {
			prompt: "",
			apiKey: undefined,
			tools: { kind: "has", names: [] },
			contract: spec.contract,
		} as const;
		return { spec, files: [], shortfall: undefined, packet };
	};
	const parentWith = (settings: Partial<Parent["settings"]>) =>
		({
			cwd: setup.project,
			runPlaces: { cwd: setup.project, agentDirectory: setup.temporary, runsIn: "project" },
			dialect: undefined,
			settings: { headStart: true, ...settings },
		}) as Parent;

	test("Fit a run only in the environment that it would start in", (t) => {
		const plan = planned();
		const before = launchKey(REQUEST, plan);
		assert.equal(launchKey(REQUEST, planned()), before, "ids make no difference");
		process.env.SPARES_TEST = "another environment";
		t.after(() => delete process.env.SPARES_TEST);
		assert.notEqual(launchKey(REQUEST, plan), before);
	});

	test("Are ended when they are too old, and replaced", async () => {
		const dropped: string[] = [];
		const parked = (key: string, ageMs: number): Parked => ({
			key,
			run: {
				parkedAt: performance.now() - ageMs,
				isAlive: () => true,
				drop: async () => void dropped.push(key),
			} as unknown as ParkedRun,
		});
		const young = parked("young", 40_000);
		const kept = fit(
			[young, parked("old", 51_000)],
			[
				{ key: "young", plan: planned() },
				{ key: "old", plan: planned() },
			],
			parentWith({}),
		);
		const [first, second] = kept;
		assert.equal(first, young);
		assert.deepEqual(dropped, ["old"]);
		assert.equal(second?.key, "old");
		assert.equal(second?.run.isAlive(), true);
		await second?.run.drop();
	});

	for (const [name, maxConcurrency, expected] of [
		["are not started where tasks run one after the other", 1, [false, false, false]],
		["are started for the next task in the queue when an earlier one is at work", 2, [false, true, false]],
	] as const) {
		test(name, async () => {
			const rows = [1, 2, 3].map((): Row => {
				const plan = { ok: true, value: planned() } as const;
				return { request: REQUEST, plan, parked: undefined, directory: undefined, moved: false, state: initialState };
			});
			const [first] = rows;
			assert.ok(first);
			const queue = createQueue(rows, parentWith({ maxConcurrency }));
			queue.begun(first);
			queue.atWork(first);
			queue.atWork(first);
			assert.deepEqual(
				rows.map(({ parked }) => parked !== undefined),
				expected,
			);
			await Promise.all(rows.map(({ parked }) => parked?.drop()));
		});
	}
});
