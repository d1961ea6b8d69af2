import { randomUUID } from "node:crypto";
import type { RunEvent } from "../domain/event.ts";
import type { RunSpec } from "../domain/spec.ts";
import type { RunState } from "../domain/state.ts";
import { type Receipt, type Sender, type Steer, steerText } from "../domain/steer.ts";
import { timeText } from "../domain/wrap-up.ts";
import type { Artifacts } from "../run-directory/artifacts.ts";
import type { ToChild } from "./protocol.ts";

export type OnReceipt = (id: string, receipt: Receipt) => void;

interface SteeredRun {
	readonly artifacts: Artifacts;
	state(): RunState;
	/** Takes an event of ours into the trail and the state. */
	record(event: RunEvent): void;
	/** To the pi that the run has at the moment, if any. */
	tell(message: ToChild): void;
}

/** The steers of one run. What its pi has not received when it exits is handed to the next one, if there is one. */
export function createSteering({ artifacts, state, record, tell }: SteeredRun) {
	let onReceipt: OnReceipt = () => {};
	let over = false;
	const queued = () => state().steers.filter(({ receipt }) => receipt.kind === "queued");
	const steer = (steer: Steer, from: Sender): void => {
		const { stopCause, finalized, steers } = state();
		if (steers.some(({ id }) => id === steer.id)) return;
		if (over || stopCause || finalized) return void onReceipt(steer.id, { kind: "undelivered" });
		record({ type: "steer-queued", at: Date.now(), steer, from });
		onReceipt(steer.id, { kind: "queued" });
		tell({ steer });
	};
	return {
		onReceipt(listener: OnReceipt) {
			onReceipt = listener;
		},
		steer,
		/** Its time is almost up: its model is told, unless it is giving its last answer anyway. */
		remind({ limits, contract }: Pick<RunSpec, "limits" | "contract">): void {
			const text = timeText(Math.round((limits.wrapUpMs ?? 0) / 1_000), contract);
			steer({ id: randomUUID(), text, when: "while-working" }, "limit");
		},
		/** For a pi that has just been given its packet. */
		unheard: (): readonly ToChild[] => queued().map(({ id, text, when }) => ({ steer: { id, text, when } })),
		/** To be called after the event has been folded. */
		observe(event: RunEvent): void {
			if (event.type !== "steer-received") return;
			for (const steer of state().steers) {
				if (!event.ids.includes(steer.id) || steer.receipt.kind !== "delivered") continue;
				artifacts.transcript(`${steerText(steer)}\n`);
				onReceipt(steer.id, steer.receipt);
			}
		},
		/** The run has ended, and its output has been read: nothing reaches its model any more. */
		end(): void {
			over = true;
			for (const { id } of queued()) onReceipt(id, { kind: "undelivered" });
		},
	};
}
