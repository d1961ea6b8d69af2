import { linkSync, mkdirSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { identityOf } from "../files/process-identity.ts";

/** A place in the queue for a slot. */
export interface Ticket {
	release(): void;
}

const POLL_MS = 20;
let drafts = 0;

/**
 * A counting semaphore for all processes of a user on this machine: a directory of numbered tickets. The first `limit`
 * tickets of living processes have a slot, the others wait in the order of their numbers.
 *
 * No lock is needed. A process that has put down number n looks again, and withdraws if a higher number is there by then:
 * so a lower number never appears before one that has been served. A ticket counts while the process that wrote it lives,
 * so a kill frees its slot.
 */
export async function takeTicket(
	directory: string,
	limit: number,
	signal: AbortSignal,
	onWait: (before: number) => void,
): Promise<Ticket> {
	mkdirSync(directory, { recursive: true, mode: 0o700 });
	const number = putDown(directory);
	const ticket: Ticket = { release: () => remove(join(directory, String(number))) };
	let told: number | undefined;
	try {
		for (;;) {
			signal.throwIfAborted();
			const before = livingBefore(directory, number);
			if (before < limit) return ticket;
			if (before !== told) onWait(before);
			told = before;
			await delay(POLL_MS, undefined, { signal });
		}
	} catch (error) {
		ticket.release();
		throw error;
	}
}

/** A ticket appears whole, by a link: nobody reads one that is half written. */
function putDown(directory: string): number {
	const draft = join(directory, `.${process.pid}-${++drafts}`);
	writeFileSync(draft, identityOf(process.pid) ?? "", { mode: 0o600 });
	try {
		for (;;) {
			const number = (numbersIn(directory).at(-1) ?? 0) + 1;
			if (!link(draft, join(directory, String(number)))) continue;
			if (numbersIn(directory).at(-1) === number) return number;
			remove(join(directory, String(number)));
		}
	} finally {
		remove(draft);
	}
}

function link(from: string, to: string): boolean {
	try {
		linkSync(from, to);
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
		throw error;
	}
}

const numbersIn = (directory: string): number[] =>
	readdirSync(directory)
		.filter((name) => /^\d+$/.test(name))
		.map(Number)
		.sort((a, b) => a - b);

function livingBefore(directory: string, number: number): number {
	return numbersIn(directory).filter((each) => each < number && isLiving(join(directory, String(each)))).length;
}

/** The ticket of a process that is gone is removed by whoever finds it. */
function isLiving(path: string): boolean {
	let holder: string;
	try {
		holder = readFileSync(path, "utf8");
	} catch {
		return false; // it was given back meanwhile
	}
	if (holder !== "" && holder === identityOf(Number.parseInt(holder, 10))) return true;
	remove(path);
	return false;
}

function remove(path: string): void {
	try {
		unlinkSync(path);
	} catch {
		// somebody else has removed it
	}
}
