import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { RunEvent } from "../domain/event.ts";
import type { SlotRequest } from "./protocol.ts";
import { type Ticket, takeTicket } from "./slot-tickets.ts";

const RETRY_MS = 250;

/** The slots that one run holds. The supervisor has them, because a pid in a namespace of its own means nothing outside. */
export interface Slots {
	/** Gives back what is held. Then waits for a slot of each of these keys, and calls `grant`. */
	request(request: SlotRequest, grant: () => void): void;
	/** Gives everything back and stops waiting. */
	release(): void;
}

/** `limits` has how many requests may be in flight, by provider or provider/model; `directory` is the user's own. */
export function createSlots(
	limits: Readonly<Record<string, number>>,
	directory: string,
	tell: (event: RunEvent) => void,
): Slots {
	let waiting = new AbortController();
	let held: Ticket[] = [];
	const release = () => {
		waiting.abort();
		waiting = new AbortController();
		for (const ticket of held) ticket.release();
		held = [];
	};
	const take = async (key: string, signal: AbortSignal) => {
		let waited = false;
		const ticket = await takeTicket(join(directory, encodeURIComponent(key)), limits[key] ?? 1, signal, (before) => {
			waited = true;
			tell({ type: "waiting", for: key, before });
		});
		held.push(ticket);
		if (waited) tell({ type: "admitted" });
	};
	/** A directory that cannot be written is tried again: no request goes out without its slot. */
	const takeAll = async (keys: readonly string[], signal: AbortSignal): Promise<void> => {
		for (const key of keys) {
			while (!signal.aborted) {
				try {
					await take(key, signal);
					break;
				} catch {
					await delay(RETRY_MS, undefined, { signal }).catch(() => {});
				}
			}
		}
	};
	return {
		request({ keys }, grant) {
			release();
			if (keys.length === 0) return;
			const { signal } = waiting;
			void takeAll(keys, signal).then(() => (signal.aborted ? undefined : grant()));
		},
		release,
	};
}
