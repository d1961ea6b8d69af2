import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { BackgroundRun } from "../../src/domain/kept-run.ts";
import type { Background } from "../../src/session/background.ts";
import { createEndNews } from "../../src/session/end-news.ts";
import { giveTurnsForEnds, TURN_MESSAGE } from "../../src/session/turns-for-ends.ts";

const ended = (runId: string) => ({ runId }) as BackgroundRun;

/** A session whose agent is idle or busy, and the turns that it is given. */
function session(t: TestContext, { announce = "turn", mode = "tui" } = {}) {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const handlers = new Map<string, (event: unknown, context: unknown) => unknown>();
	const turns: unknown[] = [];
	let idle = true;
	const news = createEndNews();
	const context = { mode, isIdle: () => idle } as unknown as ExtensionContext;
	giveTurnsForEnds({
		pi: {
			on: (name: string, handler: (event: unknown, context: unknown) => unknown) => void handlers.set(name, handler),
			sendMessage: (message: { customType: string }, options: unknown) =>
				void turns.push([message.customType, options]),
		} as unknown as ExtensionAPI,
		background: { news, isOwn: () => true } as unknown as Background,
		context: () => context,
		settings: () => ({ announce: announce as "turn", waitInPrintMode: true, printModeTimeout: 3_600 }),
		sessionSignal: () => new AbortController().signal,
		running: () => [],
	});
	return {
		news,
		turns,
		pass: (ms: number) => t.mock.timers.tick(ms),
		work: () => {
			idle = false;
		},
		settle: () => {
			idle = true;
			void handlers.get("agent_settled")?.({}, context);
		},
	};
}

const ONE_TURN = [[TURN_MESSAGE, { triggerTurn: true }]];

describe("turns for the ends of background runs", () => {
	test("Ends that come together give exactly one turn", (t) => {
		const { news, turns, pass } = session(t);
		for (const run of ["one", "two", "three"]) {
			news.ended(ended(run));
			pass(50);
		}
		pass(1_000);
		assert.deepEqual(turns, ONE_TURN);
	});

	test("Ends that come while the agent works give one turn when it has settled", (t) => {
		const { news, turns, pass, work, settle } = session(t);
		work();
		news.ended(ended("one"));
		pass(1_000);
		news.ended(ended("two"));
		pass(1_000);
		assert.deepEqual(turns, []);
		settle();
		settle();
		pass(1_000);
		assert.deepEqual(turns, ONE_TURN);
	});

	for (const options of [{ announce: "quiet" }, { mode: "print" }, { mode: "json" }]) {
		test(`No turn is given with ${JSON.stringify(options)}`, (t) => {
			const { news, turns, pass, settle } = session(t, options);
			news.ended(ended("one"));
			pass(1_000);
			settle();
			assert.deepEqual(turns, []);
		});
	}
});
