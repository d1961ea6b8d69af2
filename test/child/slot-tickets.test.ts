import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { takeTicket } from "../../src/child/slot-tickets.ts";
import { until } from "../rig/until.ts";

const HOLDER = fileURLToPath(new URL("fixtures/slot-holder.ts", import.meta.url));
const NEVER = new AbortController().signal;

interface Note {
	readonly pid: number;
	readonly event: "got" | "gave";
	readonly asked?: number;
	readonly at: number;
}

interface Holder {
	readonly process: ChildProcess;
	readonly notes: Note[];
	readonly done: Promise<unknown>;
}

function place(t: TestContext): string {
	const directory = mkdtempSync(join(tmpdir(), "pi-slots-"));
	t.after(() => rmSync(directory, { recursive: true, force: true }));
	return join(directory, "llama");
}

function hold(t: TestContext, directory: string, limit: number, times: number, holdMs: number): Holder {
	const args = [
		"--disable-warning=ExperimentalWarning",
		HOLDER,
		directory,
		String(limit),
		String(times),
		String(holdMs),
	];
	const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
	t.after(() => child.kill("SIGKILL"));
	const notes: Note[] = [];
	let rest = "";
	child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
		const lines = (rest + chunk).split("\n");
		rest = lines.pop() ?? "";
		for (const line of lines) notes.push(JSON.parse(line) as Note);
	});
	return { process: child, notes, done: once(child, "close") };
}

/** The most that held a slot at once; a holder that was killed held it until then. */
function mostAtOnce(notes: readonly Note[]): number {
	let count = 0;
	const steps = notes.toSorted((a, b) => a.at - b.at || (a.event === "gave" ? -1 : 1));
	return Math.max(...steps.map(({ event }) => (count += event === "got" ? 1 : -1)));
}

test("Slots over eight processes are never more than the limit, nobody starves, and nothing is left behind (R8)", async (t) => {
	const directory = place(t);
	const holders = Array.from({ length: 8 }, () => hold(t, directory, 3, 15, 4));
	await Promise.all(holders.map(({ done }) => done));
	const notes = holders.flatMap((holder) => holder.notes);
	assert.equal(notes.length, 8 * 15 * 2);
	assert.ok(mostAtOnce(notes) <= 3, `${mostAtOnce(notes)} at once`);
	assert.deepEqual(readdirSync(directory), []);
});

/** A process of a busy machine may stand still for so long between asking and being in the queue. Five turns take as long. */
const BUSY_MS = 500;

test("Slots are given in the order in which they were asked for", async (t) => {
	const directory = place(t);
	const holders = Array.from({ length: 6 }, () => hold(t, directory, 1, 5, 100));
	await Promise.all(holders.map(({ done }) => done));
	const got = holders
		.flatMap(({ notes }) => notes)
		.filter(({ event }) => event === "got")
		.sort((a, b) => a.at - b.at);
	assert.equal(mostAtOnce(holders.flatMap(({ notes }) => notes)), 1);
	for (const [index, { asked = 0 }] of got.entries()) {
		const earlier = got.slice(index + 1).filter((later) => (later.asked ?? 0) < asked - BUSY_MS);
		assert.deepEqual(earlier, [], "somebody who asked long before was served later");
	}
});

test("A killed holder frees its slot within a second, also one that nobody has waited for as a process", async (t) => {
	const directory = place(t);
	const holder = hold(t, directory, 1, 1, 60_000);
	await until(() => holder.notes.length === 1, "the slot to be taken");
	const before: number[] = [];
	const waiting = takeTicket(directory, 1, NEVER, (count) => before.push(count));
	await until(() => before.length === 1, "the wait to be told");
	const at = performance.now();
	holder.process.kill("SIGKILL");
	const ticket = await waiting;
	assert.ok(performance.now() - at < 1_000, `${performance.now() - at} ms`);
	assert.deepEqual(before, [1]);
	ticket.release();
	assert.deepEqual(readdirSync(directory), []);
});

test("Waiting ends at once when it is given up, and leaves the queue", async (t) => {
	const directory = place(t);
	const first = await takeTicket(directory, 1, NEVER, () => {});
	const stop = new AbortController();
	const second = takeTicket(directory, 1, stop.signal, () => {});
	const third = takeTicket(directory, 1, NEVER, () => {});
	stop.abort();
	await assert.rejects(second, { name: "AbortError" });
	assert.equal(readdirSync(directory).length, 2);
	first.release();
	(await third).release();
	assert.deepEqual(readdirSync(directory), []);
});

test("Tickets of processes that are gone, and files that are no tickets, stop nobody", async (t) => {
	const directory = place(t);
	mkdirSync(directory, { recursive: true });
	for (const name of ["1.999999999.1.1", `2.${process.pid}.1.1`, "README"]) writeFileSync(join(directory, name), "");
	const ticket = await takeTicket(directory, 1, NEVER, () => assert.fail("it must not wait"));
	ticket.release();
	assert.deepEqual(readdirSync(directory), ["README"]);
});

test("Whoever clears away the ticket of a dead process never takes that of a living one with the same number", async (t) => {
	const directory = place(t);
	const holders = Array.from({ length: 6 }, () => hold(t, directory, 1, 40, 1));
	const over = Promise.all(holders.map(({ done }) => done)).then(() => "over" as const);
	// Others died with the highest number, again and again.
	for (let count = 1; (await Promise.race([over, soon()])) !== "over"; count++) {
		const numbers = existsSync(directory) ? readdirSync(directory).map((name) => Number.parseInt(name, 10)) : [];
		if (numbers.length > 0) writeFileSync(join(directory, `${Math.max(...numbers)}.999999999.1.${count}`), "");
	}
	const notes = holders.flatMap((holder) => holder.notes);
	assert.equal(notes.length, 6 * 40 * 2);
	assert.equal(mostAtOnce(notes), 1);
});

const soon = async (): Promise<"soon"> => {
	await setImmediate();
	return "soon";
};
