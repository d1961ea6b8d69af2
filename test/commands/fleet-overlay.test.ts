import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { visibleWidth } from "@earendil-works/pi-tui";
import { createOverlay, type Request } from "../../src/commands/fleet-overlay.ts";
import { findRun, wordsOf } from "../../src/commands/steer.ts";
import { resultOf } from "../../src/domain/conclude.ts";
import type { RunEvent } from "../../src/domain/event.ts";
import type { Question } from "../../src/domain/question.ts";
import type { RunReceipt } from "../../src/domain/receipt.ts";
import { err, ok } from "../../src/domain/result.ts";
import { initialState, type RunState, reduce } from "../../src/domain/state.ts";
import type { Receipt } from "../../src/domain/steer.ts";
import { noUsage } from "../../src/domain/usage.ts";
import { createRunStore } from "../../src/records/run-store.ts";
import type { Answer, ControlClient } from "../../src/run/control-client.ts";
import type { FleetHost, FleetRun } from "../../src/session/fleet.ts";
import { createLiveRuns, type LiveRun } from "../../src/session/live-runs.ts";
import { createQuestions, type OpenQuestion } from "../../src/session/questions.ts";
import { plain, theme } from "../present/windows.ts";

const started: RunEvent = { type: "started", at: Date.now(), supervisorPid: 1, pid: 2 };
const tool: RunEvent = {
	type: "tool-started",
	callId: "1",
	name: "bash",
	args: { command: "npm test" },
	nested: false,
};
const fold = (...events: RunEvent[]) => events.reduce(reduce, initialState);

interface Sent {
	readonly text: string;
	readonly when: string;
	settle(receipt: Receipt): void;
}

/** A task of a call whose messages and stops are written down. */
function liveRun(label: string, state: RunState, changes: Partial<LiveRun> = {}) {
	const sent: Sent[] = [];
	let stops = 0;
	const run = {
		...{ runId: `20261118-01001${label.length}-36c6f4d5`, sessionId: `session-${label}`, family: "delegate" },
		...{ label, task: `look at ${label}\nall of it`, state, limits: undefined, model: undefined },
		started: { runId: "x", directory: "/nowhere/x", socket: "/nowhere/x" },
		async message(text: string, when: string) {
			const { promise, resolve } = Promise.withResolvers<Receipt>();
			sent.push({ text, when, settle: resolve });
			return ok({ id: "1", settled: promise });
		},
		stop: () => void stops++,
		release: async () => err("A queued task cannot be moved"),
		...changes,
	} as LiveRun;
	return { run, sent, stops: () => stops };
}

function openOverlay(runs: readonly LiveRun[], watch?: string) {
	const live = createLiveRuns();
	for (const run of runs) live.add(run);
	const closed: Request[] = [];
	const asked: OpenQuestion[] = [];
	const questions = createQuestions({
		show: (open, _others, signal) =>
			new Promise((resolve) => {
				asked.push(open);
				signal.addEventListener("abort", () => resolve(null), { once: true });
			}),
		onAway() {},
	});
	const host = {
		...{ store: createRunStore(), live, background: undefined, contextWindow: () => 128_000, questions },
		places: () => ({ cwd: "/nowhere", agentDirectory: "/nowhere" }),
	} as unknown as FleetHost;
	const view = createOverlay(
		host,
		theme,
		() => {},
		(request) => void closed.push(request),
		watch,
		() => 22,
	);
	const screen = (width = 90) => plain(view.render(width));
	const type = (...keys: string[]) => {
		for (const key of keys) view.handleInput(key);
		return screen().join("\n");
	};
	return { view, screen, type, closed, live, questions, asked };
}

const [ESC, ENTER, DOWN, CTRL_N] = ["\u001b", "\r", "\u001b[B", "\u000e"];

describe("the fleet view", () => {
	test("A run that has ended shows its receipt, in the list and below its transcript (R6)", (t) => {
		const state = fold(started);
		const end = { endedAt: Date.now(), exit: { kind: "code", code: 0 }, leftovers: [], artifactErrors: [] } as const;
		const outcome = { kind: "completed", text: "I wrote x.md", end: "natural" } as const;
		const receipt: RunReceipt = {
			files: [{ path: "a.txt", change: "changed", added: 3, removed: 1, how: "tool" }],
			scan: { kind: "complete" },
			...{ commands: [], tests: [], models: [], usage: noUsage, unseen: ["x.md"] },
		};
		const done = reduce(state, { type: "ended", result: resultOf("r", state, { outcome, ...end, receipt }) });
		const { view, screen, type } = openOverlay([liveRun("auth", done).run]);
		t.after(() => view.dispose());
		for (const shown of [screen().join("\n"), type(ENTER)]) {
			assert.match(shown, /changed a\.txt \(\+3 −1\)/);
			assert.match(shown, /! it says that it wrote x\.md: nothing shows that/);
		}
	});

	test("Questions are answered in it while it is open: a opens them, and letters of a message do not", (t) => {
		let now = 0;
		t.mock.method(performance, "now", () => now);
		const question: Question = { id: "q", kind: "confirm", title: "Allow bash?", message: "rm -rf build" };
		const cli = liveRun("cli", fold(started, tool, { type: "asked", at: Date.now(), question }));
		const { view, screen, type, questions, asked } = openOverlay([cli.run]);
		const sent: unknown[] = [];
		let say: (answer: Answer) => void = () => {};
		const control = {
			send: (message: { type: string }) => void (message.type === "answer" && sent.push(message)),
			listen: (listener: typeof say) => {
				say = listener;
				return () => {};
			},
		} as unknown as ControlClient;
		questions.attend({ runId: cli.run.runId, label: "cli", token: "secret" }, control);
		say({ type: "question", question });
		assert.equal(asked.length, 0, "no other dialog is shown");
		assert.match(screen().join("\n"), /▸ \? asks +cli +Allow bash\? rm -rf build[\s\S]*a answer · enter watch/);
		type("m", "a", ESC, ESC);
		assert.match(screen().join("\n"), /╭─ Agents · 1 asking/);
		assert.match(type("a"), /╭─ Sub-agent "cli" asks[\s\S]*rm -rf build/);
		now += 500;
		assert.doesNotMatch(type("y"), /Sub-agent/);
		assert.deepEqual(sent, [{ type: "answer", id: "q", reply: true, token: "secret" }]);
		say({ type: "question", question: { ...question, id: "r" } });
		view.dispose();
		assert.deepEqual(
			asked.map((open) => open.question.id),
			["r"],
			"what is open then is asked as usual",
		);
	});

	test("Lists what runs and what is queued, with the last steps of the selected one, in a frame of fixed size", (t) => {
		const auth = liveRun("auth", fold(started, { type: "delta", text: "I begin." }, tool));
		const { view, screen, type } = openOverlay([auth.run, liveRun("storage", initialState).run]);
		t.after(() => view.dispose());
		for (const width of [40, 60, 90, 140]) {
			const rows = screen(width);
			assert.equal(rows.length, 20);
			for (const row of rows) assert.equal(visibleWidth(row), width, row);
		}
		const narrow = screen(60).join("\n");
		assert.match(narrow, /^╭─ Agents .* \[session\]: tab ─╮/);
		assert.match(narrow, /╰─ enter watch .* esc ─+╯$/, "how to leave is never cut");
		const text = screen().join("\n");
		assert.match(text, /^╭─ Agents · 1 running · 1 queued · \$0\.00 ─+ \[session\] {2}project {2}all: tab ─╮/);
		assert.match(text, /│ ▸ ● bash +auth +npm test/);
		assert.match(text, /│ {3}○ queued +storage +look at storage all of it/);
		assert.match(text, /├─ auth · 20261118.*\n│ Task {2}look at auth all of it +│\n│ I begin\./);
		assert.match(type(DOWN), /│ ▸ ○ queued[\s\S]*├─ storage/);
		assert.match(type("\t"), /session {2}\[project\] {2}all/);
	});

	test("X twice stops one task, once does not, and Esc closes only the view", (t) => {
		const auth = liveRun("auth", fold(started));
		const { view, type, closed } = openOverlay([auth.run, liveRun("storage", fold(started)).run]);
		t.after(() => view.dispose());
		assert.match(type("x"), /x again stops auth/);
		assert.equal(auth.stops(), 0);
		type(DOWN, "x");
		assert.equal(auth.stops(), 0, "a second press on another run is the first one for it");
		type("\u001b[A", "x", ENTER, ESC, "x");
		assert.equal(auth.stops(), 0, "nor is it one after other keys");
		type(ENTER, ESC, "x", "x");
		assert.equal(auth.stops(), 1);
		type(ESC);
		assert.deepEqual(closed, [{ kind: "nothing" }]);
		assert.equal(auth.stops(), 1);
	});

	test("A message is sent as typed, letters are no keys meanwhile, and the view says what became of it", async (t) => {
		const auth = liveRun("auth", fold(started));
		const { view, type } = openOverlay([auth.run]);
		t.after(() => view.dispose());
		assert.match(type("m"), /├─ message to auth \(delivered after this answer\)/);
		type(..."xx only src", ENTER);
		await new Promise((resolve) => setImmediate(resolve));
		assert.equal(auth.stops(), 0);
		assert.deepEqual([auth.sent[0]?.text, auth.sent[0]?.when], ["xx only src", "turn-end"]);
		assert.match(type(), /Message queued/);
		auth.sent[0]?.settle({ kind: "delivered", turn: 4 });
		await new Promise((resolve) => setImmediate(resolve));
		assert.match(type(), /Message delivered in turn 4/);
		type("m", ..."stop that", CTRL_N);
		assert.equal(auth.sent[1]?.when, "now");
		assert.match(type("m", "a"), /├─ message to auth/);
		assert.doesNotMatch(type(ESC), /├─ message to auth|^╭─ Agents/, "Esc closes the input only");
		assert.equal(auth.sent.length, 2);
		assert.match(type("m"), /│ > a/, "what was written and not sent is still there");
	});

	test("A message that could not be sent says why, and can be sent again", async (t) => {
		const auth = liveRun("auth", fold(started), { message: async () => err("Run x does not answer") });
		const { view, type } = openOverlay([auth.run]);
		t.after(() => view.dispose());
		type("m", ..."only src", ENTER);
		await new Promise((resolve) => setImmediate(resolve));
		assert.match(type(), /Not delivered: Run x does not answer/);
		assert.match(type("m"), /│ > only src/);
	});

	test("Watching shows the whole transcript, follows its end, and scrolls", (t) => {
		const answer = (text: string, index: number): RunEvent => ({
			type: "message",
			message: {
				...{ role: "assistant", api: "openai-completions", provider: "p", model: "m1", usage: noUsage, timestamp: 0 },
				...{ stopReason: "toolUse" },
				content: [
					{ type: "text", text },
					{ type: "toolCall", id: `${index}`, name: "read", arguments: { path: `src/${index}.ts` } },
				],
			},
		});
		const result = (index: number, isError: boolean): RunEvent => ({
			type: "message",
			message: {
				...{ role: "toolResult", toolCallId: `${index}`, toolName: "read", isError, timestamp: 0 },
				content: [{ type: "text", text: isError ? "ENOENT" : `text of ${index}` }],
			},
		});
		const events = Array.from({ length: 30 }, (_, index) => [
			answer(`step ${index}`, index),
			result(index, index === 29),
		]);
		const auth = liveRun("auth", fold(started, ...events.flat(), { type: "delta", text: "and so" }));
		const { view, type } = openOverlay([auth.run]);
		t.after(() => view.dispose());
		const end = type(ENTER);
		assert.match(end, /^╭─ auth · running \ds · turn 31 · 0 tools/);
		assert.match(end, /✗ read {2}src\/29\.ts +│\n│ {3}│ ENOENT +│\n│ {3}and so/);
		assert.doesNotMatch(end, /step 3 /);
		const top = type("\u001b[H");
		assert.match(top, /│ Task +│\n│ {3}look at auth +│\n│ {3}all of it/);
		assert.match(top, /✓ read {2}src\/0\.ts +│\n│ {3}│ text of 0/);
		assert.match(type("\u001b[F"), /and so/);
		assert.match(type(ESC), /^╭─ Agents/);
	});

	test("What is read stays where it is while the run goes on, until the end is followed again", (t) => {
		const lines = (count: number) => Array.from({ length: count }, (_, line) => `line ${line}.`).join("\n\n");
		const auth = { ...liveRun("auth", fold(started, { type: "delta", text: lines(60) })).run };
		const { view, type } = openOverlay([auth]);
		t.after(() => view.dispose());
		type(ENTER);
		const before = type("\u001b[5~");
		assert.match(before, /more below ─╮/);
		const [, top = ""] = before.split("\n");
		Object.assign(auth, { state: fold(started, { type: "delta", text: lines(90) }) });
		assert.equal(type().split("\n")[1], top);
		assert.match(type("\u001b[F"), /line 89\./);
	});

	test("A run that is over its limit says so in the list and where it is watched, and why it is retried", (t) => {
		const since = { ...started, at: Date.now() - 700_000 } as RunEvent;
		const limits = { timeoutMs: 600_000, idleGraceMs: 30_000, repeatedCalls: 5 };
		const late = liveRun("late", fold(since, tool), { limits });
		const counted = { attempt: 2, of: 3 };
		const retry = fold(started, { type: "retrying", reason: "529 Overloaded", counted, delayMs: 60_000 });
		const { view, type, screen } = openOverlay([late.run, liveRun("again", retry).run]);
		t.after(() => view.dispose());
		assert.match(screen(100).join("\n"), /● over +late +its 10m limit: ends after 30s without/);
		assert.match(screen(100).join("\n"), /● retrying +again +529 Overloaded \(2\/3, in (?:1m|59s|60s)/);
		assert.match(type(ENTER), /▸ over its 10m limit: ends after 30s without a tool call/);
		type(ESC);
		assert.match(type(DOWN, ENTER), /▸ retrying {2}529 Overloaded \(attempt 2 of 3, next in (?:1m|59s|60s)/);
	});

	test("The title of a watched run says how much of its model's context it uses, where that is known", (t) => {
		const usage = { ...noUsage, totalTokens: 14_000 };
		const message = {
			...{ role: "assistant", api: "openai-completions", provider: "mock", model: "m1", usage, timestamp: 0 },
			...{ stopReason: "toolUse", content: [{ type: "text", text: "hm" }] },
		} as Extract<RunEvent, { type: "message" }>["message"];
		const run = liveRun("auth", fold(started, { type: "message", message }));
		const { view, type } = openOverlay([run.run]);
		t.after(() => view.dispose());
		assert.match(
			type(ENTER),
			/^╭─ auth · running \ds · turn 2 · 0 tools · 14k \(11% of context\) · \$0\.00 · mock\/m1 ─/,
		);
	});

	test("F shows the whole directory, however narrow the screen is", (t) => {
		const directory = `/home/somebody/.pi/agent/subagents/runs/project-0123abcd/20261118-010014-36c6f4d5`;
		const auth = liveRun("auth", fold(started), { started: { runId: "x", directory, socket: "/nowhere" } });
		const { view, type, screen } = openOverlay([auth.run]);
		t.after(() => view.dispose());
		type("f");
		const shown = () =>
			screen(60)
				.map((row) => row.replace(/^│ (.*?) *│$/, "$1"))
				.join("");
		assert.ok(shown().includes(directory));
		type(ENTER, "f");
		assert.ok(shown().includes(directory));
	});

	test("R puts a request to resume into the editor; of one that runs it does nothing", (t) => {
		const state = fold(started);
		const end = { endedAt: Date.now(), exit: { kind: "code", code: 0 }, leftovers: [], artifactErrors: [] } as const;
		const outcome = { kind: "completed", text: "fine", end: "natural" } as const;
		const done = reduce(state, { type: "ended", result: resultOf("r", state, { outcome, ...end }) });
		const { view, type, closed } = openOverlay([liveRun("auth", state).run, liveRun("storage", done).run]);
		t.after(() => view.dispose());
		assert.match(type("r"), /It is still running/);
		type(DOWN, "r");
		assert.deepEqual(closed, [
			{ kind: "editor", text: 'Resume the sub-agent "storage" (delegate_to_subagents, resume: "session-storage"): ' },
		]);
	});

	test("B asks for the background and says why that cannot be", async (t) => {
		const { view, type } = openOverlay([liveRun("auth", initialState).run]);
		t.after(() => view.dispose());
		type("b");
		await new Promise((resolve) => setImmediate(resolve));
		assert.match(type(), /A queued task cannot be moved/);
	});

	test("Whatever a run is called and says is drawn harmlessly", (t) => {
		const evil = "a\u001b]0;owned\u0007\u001b[2J\nb";
		const { view, screen, type } = openOverlay([liveRun(evil, fold(started, { type: "delta", text: evil })).run]);
		t.after(() => view.dispose());
		for (const rows of [screen(), type(ENTER).split("\n")]) {
			assert.equal(rows.length, 20);
			assert.doesNotMatch(rows.join(""), /owned|\p{Cc}/u);
		}
	});
});

describe("/subagents in words", () => {
	test("A verb, an id that may be in quotes, and the rest exactly as typed", () => {
		assert.deepEqual(wordsOf(""), { verb: undefined, id: undefined, text: undefined });
		assert.deepEqual(wordsOf(" list "), { verb: "list", id: undefined, text: undefined });
		assert.deepEqual(wordsOf('message "agent 1"  two  blanks "x"'), {
			...{ verb: "message", id: "agent 1", text: ' two  blanks "x"' },
		});
	});

	test("A run is found by its id, its session or a name that only one has", () => {
		const run = (runId: string, label: string, endedAt?: number) =>
			({ runId, sessionId: `s-${runId}`, label, startedAt: 1, shown: endedAt ? "done" : "running" }) as FleetRun;
		const runs = [run("1", "a"), run("2", "b", 9), run("3", "b"), run("4", "c", 9), run("5", "c", 9)];
		const found = (id: string) => {
			const result = findRun(id, runs);
			return result.ok ? result.value.runId : result.error;
		};
		assert.equal(found("2"), "2");
		assert.equal(found("s-4"), "4");
		assert.equal(found("a"), "1");
		assert.equal(found("b"), "3", "the one that runs is meant");
		assert.equal(found("c"), '"c" is the name of 2 runs: 4, 5');
		assert.equal(found("d"), 'Unknown run: "d". Known runs: a (1), b (2), b (3), c (4), c (5)');
	});
});
