import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createFileLocks } from "../../src/child/file-locks.ts";
import { createLockRequests, locksOf } from "../../src/child/lock-request.ts";
import type { LockRequest } from "../../src/child/protocol.ts";
import { takeTicket } from "../../src/child/slot-tickets.ts";
import { identityOf } from "../../src/files/process-identity.ts";

let ledger: string;
before(() => {
	ledger = mkdtempSync(join(tmpdir(), "pi-locks-"));
});
after(() => rmSync(ledger, { recursive: true, force: true }));

const [A, B, C] = ["a", "b", "c"].map((letter) => letter.repeat(40)) as [string, string, string];
const ticketsOf = (key: string) => readdirSync(join(locksOf(ledger), key));
const holdElsewhere = (key: string) =>
	takeTicket(join(locksOf(ledger), key), 1, new AbortController().signal, () => {});

/** A child and its supervisor, and what the child has asked. */
function createRun() {
	const asked: LockRequest[] = [];
	const files = createFileLocks(locksOf(ledger), () => process.pid);
	const locks = createLockRequests({ ledger, holder: identityOf(process.pid) ?? "" }, (request) => {
		asked.push(request);
		files.request(request, (got) => void ("id" in request && locks.answered({ id: request.id, got })));
	});
	return { locks, asked };
}

describe("the files that a run is changing", () => {
	test("Calls of one run share a lock, and the last of them gives it back", async () => {
		const { locks, asked } = createRun();
		assert.deepEqual(await Promise.all([locks.take(A, undefined), locks.take(A, undefined)]), [true, true]);
		locks.release(A);
		assert.equal(ticketsOf(A).length, 1);
		locks.release(A);
		assert.deepEqual(ticketsOf(A), []);
		assert.deepEqual(asked, [], "a free file needs no supervisor");
	});

	test("Calls that come at once never wait for one file while their run holds another", async () => {
		const { locks, asked } = createRun();
		const other = await holdElsewhere(B);
		assert.deepEqual(await Promise.all([locks.take(A, undefined), locks.take(B, undefined)]), [true, false]);
		assert.deepEqual(asked[0], { lock: B, id: 1, wait: false });
		locks.release(A);
		const waiting = locks.take(B, undefined);
		await nextTurn();
		assert.deepEqual(asked.at(-1), { lock: B, id: 2, wait: true });
		other.release();
		assert.equal(await waiting, true);
		locks.release(B);
		assert.deepEqual([...ticketsOf(A), ...ticketsOf(B)], []);
	});

	test("A call that is given up while it waits leaves no ticket", async () => {
		const { locks } = createRun();
		const other = await holdElsewhere(C);
		const abort = new AbortController();
		const waiting = locks.take(C, abort.signal);
		await nextTurn();
		assert.equal(ticketsOf(C).length, 2);
		abort.abort();
		assert.equal(await waiting, false);
		other.release();
		await nextTurn();
		assert.deepEqual(ticketsOf(C), []);
		assert.equal(await locks.take(C, undefined), true, "and keeps nobody out");
		locks.release(C);
	});
});
