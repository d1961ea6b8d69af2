import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createRunStore } from "../../src/records/run-store.ts";
import { createFleet, type FleetHost } from "../../src/session/fleet.ts";
import { createLiveRuns } from "../../src/session/live-runs.ts";
import { createSetup, type Setup, startRun } from "../rig/fake-run.ts";
import { until } from "../rig/until.ts";

describe("runs of other sessions in the fleet", () => {
	let setup: Setup;
	before(() => {
		setup = createSetup();
	});
	after(() => setup.dispose());
	const fleetOf = () =>
		createFleet({
			...{ store: createRunStore(), live: createLiveRuns(), background: undefined, contextWindow: () => 1_000 },
			places: () => ({ cwd: setup.project, agentDirectory: join(setup.temporary, "agent") }),
		} as unknown as FleetHost);
	const limits = { timeoutMs: 60_000, idleGraceMs: 30_000, repeatedCalls: 0 };

	test("One with 600 messages is watched as a whole, while it runs and after its end, with its task and its limits", async () => {
		const steps = [{ repeat: 300, steps: [{ tool: "read", args: { path: "a.ts" }, result: "text" }] }, { receive: 1 }];
		const prepared = setup.prepare(steps, { limits, task: "the whole task" });
		const run = startRun(prepared);
		const fleet = fleetOf();
		await run.until(({ toolCalls }) => toolCalls === 300);
		const find = () => {
			const found = fleet.runs("project").find(({ runId }) => runId === run.runId);
			assert.ok(found);
			return found;
		};
		await fleet.look("project");
		assert.deepEqual([find().shown, find().origin, find().limits], ["running", "project", limits]);
		const calls = () => fleet.watch(find()).filter((step) => step.kind === "call" && step.result);
		await until(() => calls().length === 300, "all its calls");
		const [first] = calls();
		assert.ok(first?.kind === "call" && first.since > 0 && (first.result?.ms ?? -1) >= 0);
		const sent = await fleet.message(find(), "end", "turn-end");
		assert.ok(sent.ok, sent.ok ? "" : sent.error);
		await run.done;
		await until(() => find().shown === "done", "its end");
		assert.ok(fleet.watch(find()).some((step) => step.kind === "steer" && step.steer.from === "process"));
		const late = await fleet.message(find(), "hello?", "turn-end");
		assert.match(late.ok ? "" : late.error, /has ended$/);
		fleet.close();
		const later = fleetOf();
		await later.look("project");
		const ended = () => later.watch(later.runs("project").find(({ runId }) => runId === run.runId));
		await until(() => ended().filter((step) => step.kind === "call" && step.result).length === 300, "all of it again");
		later.close();
	});
});
