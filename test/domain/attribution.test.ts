import assert from "node:assert/strict";
import { test } from "node:test";
import { candidatesFor, namesOf, type RunTimes, type Sighting } from "../../src/domain/attribution.ts";

const run = (label: string, ...calls: readonly (readonly [from: number, to: number, path?: string])[]): RunTimes => ({
	runId: `id-${label}`,
	label,
	calls: calls.map(([from, to, path]) => ({ from, to, path })),
});
const at = (time: number, path = "/f"): Sighting => ({ path, change: "changed", when: { kind: "at", time } });
const until = (time: number): Sighting => ({ path: "/f", change: "removed", when: { kind: "until", time } });
const by = (sighting: Sighting, own: RunTimes, ...others: readonly RunTimes[]) =>
	namesOf(candidatesFor(sighting, own, others, 1_000));

test("A file belongs to the run whose command ran when its inode changed, and to no other (R3)", () => {
	const [a, b] = [run("a", [1_000, 1_100]), run("b", [2_000, 2_100])];
	assert.deepEqual(by(at(1_050), a, b), ["a"]);
	assert.deepEqual(by(at(1_050), b, a), []);
	assert.deepEqual(by(at(1_500), a, b), [], "between the commands it was somebody else");
	assert.deepEqual(by(at(1_990), b, a), ["b"], "the kernel's clock may be a little late");
	assert.deepEqual(by(at(1_100.9), a, b), ["a"], "calls are timed in whole milliseconds, files more finely");
	assert.deepEqual(by(at(1_101), a, b), []);
});

test("Commands that ran at the same time are all candidates; the one that has not ended, too (R3)", () => {
	const [a, b] = [run("a", [1_000, 1_100]), run("b", [1_050, Number.POSITIVE_INFINITY])];
	assert.deepEqual(by(at(1_080), a, b), ["a", "b"]);
	assert.deepEqual(by(at(1_080), b, a), ["b", "a"]);
	assert.deepEqual(by(at(9_000), b, a), ["b"]);
});

test("A write call of another run that names the file at that time explains it (R3)", () => {
	const [a, b] = [run("a", [1_000, 2_000]), run("b", [1_500, 1_510, "/f"])];
	assert.deepEqual(by(at(1_505), a, b), []);
	assert.deepEqual(by(at(1_505, "/g"), a, b), ["a"], "another file");
	assert.deepEqual(by(at(1_900), a, b), ["a"], "another time");
});

test("A file that is gone can have been removed by any command since the run began until its directory changed last (R3)", () => {
	const [a, b, c] = [run("a", [1_000, 1_100]), run("b", [1_200, 1_300]), run("c", [5_000, 5_100])];
	assert.deepEqual(by(until(1_250), a, b, c), ["a", "b"]);
	assert.deepEqual(by(until(1_250), c, a, b), []);
	assert.deepEqual(by(until(1_150), a, b), ["a"]);
	assert.deepEqual(by(until(1_050), a, run("old", [10, 20])), ["a"], "a command that ended before the run began");
});

test("Runs that share a name are told apart by their ids (R3)", () => {
	const one = { ...run("t", [1_000, 1_100]), runId: "r1" };
	assert.deepEqual(by(at(1_050), one, { ...one, runId: "r2" }), ["t (r1)", "t (r2)"]);
});
