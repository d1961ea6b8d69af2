import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Question, Reply } from "../../src/domain/question.ts";
import type { Answer, ControlClient } from "../../src/run/control-client.ts";
import { createQuestions, type OpenQuestion } from "../../src/session/questions.ts";

const confirm = (id: string): Question => ({ id, kind: "confirm", title: `${id}?`, message: "" });
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A supervisor's connection, and what it was sent. */
function connection() {
	const sent: Record<string, unknown>[] = [];
	const listeners = new Set<(answer: Answer | undefined) => void>();
	const control = {
		send: (message: object) => void sent.push({ ...message }),
		listen(listener: (answer: Answer | undefined) => void) {
			listeners.add(listener);
			return () => void listeners.delete(listener);
		},
	} as unknown as ControlClient;
	const say = (answer: Answer | undefined) => {
		for (const listener of [...listeners]) listener(answer);
	};
	return { control, sent, say, ask: (id: string) => say({ type: "question", question: confirm(id) }) };
}

/** A person who is shown one question at a time. */
function person() {
	const shown: { readonly open: OpenQuestion; readonly signal: AbortSignal; answer(reply: Reply): void }[] = [];
	let aways = 0;
	const questions = createQuestions({
		show: (open, _others, signal) =>
			new Promise((resolve) => {
				signal.addEventListener("abort", () => resolve(null), { once: true });
				shown.push({ open, signal, answer: resolve });
			}),
		onAway: () => void aways++,
	});
	const attend = (runId: string) => {
		const made = connection();
		questions.attend({ runId, label: runId, token: `token of ${runId}` }, made.control);
		return made;
	};
	const names = () => shown.map(({ open }) => `${open.run.runId} ${open.question.id}`);
	return { questions, attend, shown, names, aways: () => aways };
}

describe("the questions of a session", () => {
	test("One is shown at a time, over all runs, and each answer goes to the run that asked, with its token", async () => {
		const { attend, shown, names, questions } = person();
		const [one, two] = [attend("one"), attend("two")];
		assert.deepEqual(one.sent, [{ type: "attend", token: "token of one" }]);
		one.ask("q");
		two.ask("q"); // each run names its own questions
		one.ask("r");
		assert.deepEqual(names(), ["one q"]);
		assert.equal(questions.open.length, 3);
		shown[0]?.answer(true);
		await settled();
		shown[1]?.answer(false);
		await settled();
		assert.deepEqual(names(), ["one q", "two q", "one r"]);
		assert.deepEqual(one.sent.slice(1), [{ type: "answer", id: "q", reply: true, token: "token of one" }]);
		assert.deepEqual(two.sent.slice(1), [{ type: "answer", id: "q", reply: false, token: "token of two" }]);
	});

	test("One that is closed disappears without an answer, also when its run's supervisor is gone", async () => {
		const { attend, shown, names } = person();
		const [one, two] = [attend("one"), attend("two")];
		one.ask("q");
		one.ask("r");
		two.ask("s");
		one.say({ type: "withdrawn", id: "q", timedOut: false });
		await settled();
		assert.equal(shown[0]?.signal.aborted, true);
		one.say(undefined);
		await settled();
		assert.deepEqual(names(), ["one q", "one r", "two s"]);
		assert.equal(one.sent.length, 1);
	});

	test("While the fleet view is open nothing is shown, and questions are answered there", async () => {
		const { attend, shown, names, questions } = person();
		const one = attend("one");
		one.ask("q");
		const giveBack = questions.takeOver();
		assert.equal(shown[0]?.signal.aborted, true);
		await settled();
		one.ask("r");
		const [first] = questions.open;
		assert.ok(first);
		questions.answer(first, true);
		questions.answer(first, false); // it is closed
		assert.deepEqual(one.sent.slice(1), [{ type: "answer", id: "q", reply: true, token: "token of one" }]);
		giveBack();
		assert.deepEqual(names(), ["one q", "one r"]);
	});

	test("After a question that ran out of time the run is attended again with the next key", () => {
		const { attend, questions, aways } = person();
		const [one, two] = [attend("one"), attend("two")];
		one.ask("q");
		one.say({ type: "withdrawn", id: "q", timedOut: true });
		assert.equal(aways(), 1);
		questions.keyPressed();
		questions.keyPressed();
		assert.deepEqual(one.sent.slice(1), [{ type: "attend", token: "token of one" }]);
		assert.equal(two.sent.length, 1);
	});

	test("A run that is attended over a new connection keeps its question when the old one closes", async () => {
		const { attend, shown, questions } = person();
		const old = attend("one");
		old.ask("q");
		const renewed = connection();
		questions.attend({ runId: "one", label: "one", token: "token of one" }, renewed.control);
		renewed.ask("q");
		old.say(undefined);
		assert.equal(shown[0]?.signal.aborted, false);
		shown[0]?.answer(true);
		await settled();
		assert.equal(shown.length, 1);
		assert.deepEqual(renewed.sent.at(-1), { type: "answer", id: "q", reply: true, token: "token of one" });
	});
});
