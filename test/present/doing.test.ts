import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunEvent } from "../../src/domain/event.ts";
import type { Question } from "../../src/domain/question.ts";
import { initialState, reduce } from "../../src/domain/state.ts";
import { doingNow, doingOf } from "../../src/present/doing.ts";
import { taskStateOf } from "../../src/present/task-state.ts";

const PLACE = { width: 80, cwd: "", home: "" };
const question = (id: string): Question => ({ id, kind: "confirm", title: "Allow?", message: "rm" });
const asked = (id: string, at: number): RunEvent => ({ type: "asked", at, question: question(id) });
const closed = (id: string, at: number): RunEvent => ({
	...{ type: "question-closed", at, id, end: { kind: "answered", said: "yes" } },
});
const at = (...events: RunEvent[]) =>
	[{ type: "started", at: 1_000, supervisorPid: 1, pid: 2 } as RunEvent, ...events].reduce(reduce, initialState);
const saidAt = (state: ReturnType<typeof at>, now: number) =>
	doingNow({ startedAt: 1_000, timeout: 10, grace: 30, doing: doingOf(state, PLACE) }, now).word;

test("A run that asks says so however long that takes, and the time is not counted against its limit", () => {
	const asking = at(asked("a", 5_000), asked("b", 6_000));
	assert.equal(taskStateOf(asking), "asks");
	assert.equal(saidAt(asking, 900_000), "asks");
	assert.match(doingOf(asking, PLACE).text, /^Allow\? rm \(\+1 more\)$/);
	const half = at(asked("a", 5_000), asked("b", 6_000), closed("a", 8_000));
	assert.equal(taskStateOf(half), "asks");
	const answered = at(asked("a", 5_000), asked("b", 6_000), closed("a", 8_000), closed("b", 105_000));
	assert.equal(taskStateOf(answered), "running");
	assert.equal(saidAt(answered, 105_000), "starting");
	assert.equal(saidAt(answered, 110_900), "starting"); // 9.9 s of its own
	assert.equal(saidAt(answered, 111_100), "over");
	const again = at(asked("a", 5_000), closed("a", 15_000), asked("b", 16_000), closed("b", 26_000));
	assert.equal(again.stood.ms, 20_000);
});
