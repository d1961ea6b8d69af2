import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Question } from "../../src/domain/question.ts";
import type { RunState } from "../../src/domain/state.ts";
import { doingOf } from "../../src/present/doing.ts";
import { taskStateOf } from "../../src/present/task-state.ts";
import { releaseRun } from "../../src/run/act-on-run.ts";
import { type ControlClient, connectControl } from "../../src/run/control-client.ts";
import type { PreparedRun } from "../../src/run/execute.ts";
import { createSetup, endOf, type Setup, startRun } from "../rig/fake-run.ts";
import type { FakeStep } from "../rig/fake-steps.ts";
import { until } from "../rig/until.ts";

const confirm = (id: string, message = "rm -rf build"): Question => ({
	...{ id, kind: "confirm", title: "Allow bash?", message },
});
const isAsking = ({ questions }: RunState) => questions.length > 0;
const transcriptOf = (directory: string) => readFileSync(join(directory, "transcript.log"), "utf8");

/** A connection to the run's supervisor that says what it likes, and all that it was told. */
async function clientOf({ spec, token }: PreparedRun) {
	let control: ControlClient | undefined;
	await until(async () => {
		const connected = await connectControl(spec.socket);
		if (connected.ok) control = connected.value;
		return connected.ok;
	}, "its supervisor");
	const client = control as ControlClient;
	const told: Record<string, unknown>[] = [];
	client.listen((answer) => void (answer && told.push({ ...answer })));
	const heard = (type: string) => told.filter((each) => each.type === type);
	return {
		told,
		heard,
		attend: (by = token) => client.send({ type: "attend", token: by }),
		answer: (id: string, reply: boolean | string | null, by = token) =>
			client.send({ type: "answer", id, reply, token: by }),
		hears: (type: string, count = 1) => until(() => heard(type).length >= count, `${count} times "${type}"`),
		close: () => client.close(),
	};
}

describe("questions of a running child", { concurrency: 4 }, () => {
	let setup: Setup;
	before(() => {
		setup = createSetup();
	});
	after(() => setup.dispose());

	/** A run that waits for its person before it does the steps, and the person. */
	async function attended(steps: readonly FakeStep[], changes: Parameters<Setup["prepare"]>[1] = {}) {
		const prepared = setup.prepare([{ person: true }, ...steps], changes);
		const run = startRun(prepared);
		const person = await clientOf(prepared);
		person.attend();
		return { prepared, run, person };
	}

	test("A question reaches the person who attends, and the answer the child; all views say that it asks", async () => {
		const { run, person } = await attended([{ ask: [confirm("q1")] }]);
		await person.hears("question");
		assert.deepEqual(person.heard("question"), [{ type: "question", question: confirm("q1") }]);
		const asking = await run.until(isAsking);
		assert.equal(taskStateOf(asking), "asks");
		assert.deepEqual(doingOf(asking, { width: 80, cwd: "", home: "" }), {
			...{ word: "asks", text: "Allow bash? rm -rf build", keep: "start", since: 0 },
		});
		person.answer("q1", true);
		const state = await run.done;
		assert.equal(endOf(state).text, "[true]");
		assert.deepEqual(state.questions, []);
		assert.match(transcriptOf(run.directory), /^\[asks\]: Allow bash\?\nrm -rf build\n\[answered by you\]: yes$/m);
	});

	test("Every kind of question gets the answer that was meant for it, in whatever order the answers come", async () => {
		const questions: Question[] = [
			confirm("a"),
			{ id: "b", kind: "select", title: "Which?", options: ["left", "right"] },
			{ id: "c", kind: "input", title: "Name?", placeholder: "" },
			{ id: "d", kind: "editor", title: "Text?", prefill: "one\ntwo" },
			confirm("e"),
		];
		const { run, person } = await attended([{ ask: questions }]);
		await person.hears("question", 5);
		person.answer("e", true);
		person.answer("d", "three\nfour");
		person.answer("b", "middle"); // no such option
		person.answer("c", "hunter2");
		person.answer("b", "right");
		person.answer("a", null);
		assert.equal(endOf(await run.done).text, JSON.stringify([null, "right", "hunter2", "three\nfour", true]));
		assert.match(transcriptOf(run.directory), /\[answered by you\]: right/);
		assert.doesNotMatch(transcriptOf(run.directory).replace(/^\[".*$/m, ""), /\[answered by you\]: hunter2/);
		assert.deepEqual(person.heard("refused"), [
			{ type: "refused", request: "answer", why: "this is no answer to the question" },
		]);
	});

	test("Without the token of its parent nobody attends or answers (S29)", async () => {
		const { run, person, prepared } = await attended([{ ask: [confirm("q1")] }]);
		await person.hears("question");
		const stranger = await clientOf(prepared);
		for (const token of ["", "guessed", prepared.token.slice(1)]) {
			stranger.attend(token);
			stranger.answer("q1", true, token);
		}
		await stranger.hears("refused", 6);
		assert.deepEqual(stranger.heard("question"), []);
		person.answer("q1", false);
		assert.equal(endOf(await run.done).text, "[false]");
	});

	test("The first answer counts; the second is refused, and other attendants hear that the question is closed", async () => {
		const { run, person, prepared } = await attended([{ ask: [confirm("q1")] }, { ask: [confirm("q2")] }]);
		await person.hears("question");
		const second = await clientOf(prepared);
		second.attend();
		await second.hears("question"); // open ones are told again
		person.answer("q1", false);
		await second.hears("withdrawn");
		second.answer("q1", true);
		await second.hears("refused");
		person.answer("q2", true);
		assert.deepEqual(JSON.parse(endOf(await run.done).text), [true]);
		assert.match(transcriptOf(run.directory), /\[answered by you\]: no[\s\S]*\[answered by you\]: yes/);
	});

	test("A question is denied when its person leaves, and nobody is asked after that", async () => {
		const { run, person } = await attended([{ ask: [confirm("q1")] }, { person: false }, { ask: [confirm("q2")] }]);
		await person.hears("question");
		person.close();
		assert.equal(endOf(await run.done).text, "[null]");
		assert.match(transcriptOf(run.directory), /\[denied: nobody is there\]/);
		assert.equal(transcriptOf(run.directory).match(/\[asks\]/g)?.length, 1);
	});

	test("An unanswered question is denied after its time, and the run is unattended until its person attends anew", async () => {
		const unattended: FakeStep[] = [{ person: false }, { ask: [confirm("q2")] }, { tool: "read", args: {} }];
		const { run, person } = await attended(
			[{ ask: [confirm("q1")] }, ...unattended, { person: true }, { ask: [confirm("q3")] }],
			{ limits: { timeoutMs: 60_000, idleGraceMs: 0, repeatedCalls: 5, questionMs: 2_000 } },
		);
		await run.until(({ toolCalls }) => toolCalls === 1); // the second one was denied at once
		assert.deepEqual(person.heard("question").length, 1);
		assert.deepEqual(person.heard("withdrawn"), [{ type: "withdrawn", id: "q1", timedOut: true }]);
		person.attend();
		await person.hears("question", 2);
		person.answer("q3", true);
		assert.equal(endOf(await run.done).text, "[true]");
		assert.match(transcriptOf(run.directory), /\[denied: nobody answered in time\]/);
	});

	test("The clock of a run stands while a question of its is open", async () => {
		const { run, person } = await attended([{ ask: [confirm("q1")] }], {
			limits: { timeoutMs: 1_500, idleGraceMs: 0, repeatedCalls: 5 },
		});
		await person.hears("question");
		await new Promise((resolve) => setTimeout(resolve, 2_500));
		person.answer("q1", true);
		const state = await run.done;
		assert.equal(endOf(state).outcome.kind, "completed");
		assert.ok(state.stood.ms >= 2_400, `${state.stood.ms} ms`);
	});

	test("A question that the child takes back, or that its end leaves open, is closed for the person", async () => {
		const { run, person } = await attended([
			{ tellSupervisor: { ask: confirm("q1") } },
			{ tellSupervisor: { withdraw: "q1" } },
			{ tellSupervisor: { ask: confirm("q2") } },
			{ say: "done" },
		]);
		const state = await run.done;
		await until(() => person.heard("withdrawn").length === 2, "both to be closed");
		assert.deepEqual(state.questions, []);
		assert.equal(endOf(state).text, "done");
	});

	test("Nonsense on the lifeline is no question", async () => {
		const { run, person } = await attended([
			{ tellSupervisor: { ask: { id: "x", kind: "select", title: "?", options: [1] } } },
			{ tellSupervisor: { ask: null } },
			{ say: "still here" },
		]);
		assert.equal(endOf(await run.done).text, "still here");
		assert.deepEqual(person.heard("question"), []);
	});

	test("A run that moves to the background keeps its open question and its person", async () => {
		const prepared = setup.prepare([{ person: true }, { ask: [confirm("q1")] }]);
		const run = startRun(prepared);
		const owner = await clientOf(prepared);
		owner.attend();
		await owner.hears("question");
		const released = await releaseRun(
			{ runId: prepared.spec.runId, directory: prepared.directory, socket: prepared.spec.socket },
			prepared.token,
		);
		assert.ok(released.ok);
		owner.close(); // before the new connection has attended
		const heard = Promise.withResolvers<unknown>();
		released.value.listen((answer) => answer?.type === "question" && heard.resolve(answer.question));
		released.value.send({ type: "attend", token: prepared.token });
		assert.deepEqual(await heard.promise, confirm("q1"));
		released.value.send({ type: "answer", id: "q1", reply: true, token: prepared.token });
		assert.equal(endOf(await run.done).text, "[true]");
		released.value.close();
	});

	test("What an extension notifies its person of is in the transcript", async () => {
		const run = setup.start([{ tellSupervisor: { notice: "the cache is cold" } }, { sleep: 100 }, { say: "done" }]);
		const state = await run.done;
		assert.match(transcriptOf(run.directory), /^\[notice\]: the cache is cold$/m);
		assert.ok(state.entries.some((entry) => entry.kind === "stray" && entry.stream === "notice"));
	});
});
