import type { Readable } from "node:stream";
import type { RunEvent } from "../domain/event.ts";
import { createLineSplitter } from "../domain/lines.ts";
import type { FromChild, SlotRequest } from "./protocol.ts";

/** What a child tells its supervisor on fd 3, beside what pi prints. */
export interface LifelineListener {
	onKey(key: string): void;
	onSlots(request: SlotRequest): void;
	onEvent(event: RunEvent): void;
	/** Its last word: how it would exit. */
	onExit(code: number): void;
}

/** Whatever else is told there is not ours. */
export function readLifeline(lifeline: Readable, listener: LifelineListener): void {
	const lines = createLineSplitter((line) => {
		try {
			dispatch(JSON.parse(line.toString("utf8")) as FromChild, listener);
		} catch {
			// nothing that a child of ours says
		}
	});
	lifeline.on("data", (chunk: Buffer) => lines.write(chunk));
}

function dispatch(message: FromChild, { onKey, onSlots, onEvent, onExit }: LifelineListener): void {
	if ("key" in message) {
		if (typeof message.key === "string") onKey(message.key);
	} else if ("slots" in message) {
		if (Array.isArray(message.slots.keys)) onSlots(message.slots);
	} else if ("exit" in message) {
		if (Number.isInteger(message.exit)) onExit(message.exit);
	} else if ("wrapUp" in message) {
		if (typeof message.wrapUp.reason === "object") onEvent({ type: "wrap-up", ...message.wrapUp });
	} else if (typeof message.failed.message === "string") onEvent({ type: "model-failed", ...message.failed });
}
