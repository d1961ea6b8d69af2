import { mkdirSync, readdirSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { identityOf } from "../files/process-identity.ts";

/** A place in the queue for a slot. */
export interface Ticket {
	release(): void;
}

const POLL_MS = 20;
/** Two processes may put down tickets for one holder. */
let tickets = Math.floor(Math.random() * 2 ** 40);

/**
 * A counting semaphore for all processes of a user on this machine: a directory of numbered tickets. The first `limit`
 * tickets of living processes have a slot, the others wait in the order of their numbers.
 *
 * No lock is needed. A process that has put down a ticket looks again, and withdraws if a higher one is there by then: so a
 * lower one never appears before one that has been served. A ticket counts while its `holder` lives, so a
 * kill frees its slot. No name is used twice: removing the ticket of a dead process never removes a living one with the
 * same number.
 */
export async function takeTicket(
	directory: string,
	limit: number,
	signal: AbortSignal,
	onWait: (before: number) => void,
	holder = process.pid,
): Promise<Ticket> {
	mkdirSync(directory, { recursive: true, mode: 0o700 });
	const { own, isAlone } = putDown(directory, identityOf(holder) ?? String(holder));
	const ticket: Ticket = { release: () => remove(directory, own) };
	if (isAlone && !signal.aborted) return ticket;
	let told: number | undefined;
	try {
		for (;;) {
			signal.throwIfAborted();
			const before = livingBefore(directory, own);
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

/**
 * A ticket of the first slot where nobody else has one or waits, else undefined. It asks for the life of no process, so it
 * also works where pids are others: `holder` is an identity from outside.
 */
export function takeFreeTicket(directory: string, holder: string): Ticket | undefined {
	try {
		mkdirSync(directory, { recursive: true, mode: 0o700 });
		const { own, isAlone } = putDown(directory, holder);
		if (isAlone) return { release: () => remove(directory, own) };
		remove(directory, own);
	} catch {
		// The caller then waits for a ticket, and reports the error if there is one.
	}
	return undefined;
}

/** `<number>.<pid>.<start of that process>.<count>`: an empty file, whole as soon as it is there. */
interface Name {
	readonly text: string;
	readonly number: number;
	readonly pid: number;
	readonly start: string;
}

const NAME = /^(\d+)\.(\d+)\.(\d*)\.\d+$/;

function namesIn(directory: string): Name[] {
	const names = readdirSync(directory).flatMap((text): Name[] => {
		const [, number, pid, start] = NAME.exec(text) ?? [];
		return start === undefined ? [] : [{ text, number: Number(number), pid: Number(pid), start }];
	});
	return names.sort((a, b) => a.number - b.number || (a.text < b.text ? -1 : 1));
}

function putDown(directory: string, holder: string): { readonly own: string; readonly isAlone: boolean } {
	const [pid, start = ""] = holder.split(":");
	for (;;) {
		const number = (namesIn(directory).at(-1)?.number ?? 0) + 1;
		const own = `${number}.${pid}.${start}.${++tickets}`;
		writeFileSync(join(directory, own), "", { mode: 0o600, flag: "wx" });
		const names = namesIn(directory);
		if (names.at(-1)?.text === own) return { own, isAlone: names.length === 1 };
		remove(directory, own);
	}
}

function livingBefore(directory: string, own: string): number {
	const names = namesIn(directory);
	const before = names.slice(
		0,
		names.findIndex(({ text }) => text === own),
	);
	return before.filter((name) => isLiving(directory, name)).length;
}

/** Removes the ticket of a process that has exited. */
function isLiving(directory: string, { text, pid, start }: Name): boolean {
	const [now, since] = identityOf(pid)?.split(":") ?? [];
	if (now !== undefined && (since === undefined || since === start)) return true;
	remove(directory, text);
	return false;
}

function remove(directory: string, name: string): void {
	try {
		unlinkSync(join(directory, name));
	} catch {
		// somebody else has removed it
	}
}
