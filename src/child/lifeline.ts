import type { Readable } from "node:stream";
import type { RunEvent } from "../domain/event.ts";
import { createLineSplitter } from "../domain/lines.ts";
import { parseQuestion, type Question } from "../domain/question.ts";
import type { FromChild, LockRequest, SlotRequest, SpendingRequest } from "./protocol.ts";

/** What a child tells its supervisor on fd 3, beside what pi prints. */
export interface LifelineListener {
	onKey(key: string): void;
	onSlots(request: SlotRequest): void;
	onSpent(request: SpendingRequest): void;
	onLock(request: LockRequest): void;
	onEvent(event: RunEvent): void;
	onAsk(question: Question): void;
	onWithdraw(id: string): void;
	onNotice(text: string): void;
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

/** Throws where a message is not what it should be. */
function dispatch(message: FromChild, listener: LifelineListener): void {
	if ("key" in message) listener.onKey(String(message.key));
	else if ("slots" in message) listener.onSlots({ id: message.slots.id, keys: [...message.slots.keys] });
	else if ("spent" in message) listener.onSpent({ id: message.spent.id, used: { ...message.spent.used } });
	else if ("lock" in message)
		listener.onLock({ lock: nameOf(message.lock), id: message.id, wait: message.wait === true });
	else if ("unlock" in message) listener.onLock({ unlock: nameOf(message.unlock) });
	else if ("ask" in message) {
		const question = parseQuestion(message.ask);
		if (question) listener.onAsk(question);
	} else if ("withdraw" in message) listener.onWithdraw(String(message.withdraw));
	else if ("notice" in message) listener.onNotice(String(message.notice));
	else if ("exit" in message) listener.onExit(Number(message.exit));
	else if ("wrapUp" in message) listener.onEvent({ type: "wrap-up", ...message.wrapUp });
	else listener.onEvent({ type: "model-failed", ...message.failed });
}

/** It becomes the name of a directory. */
function nameOf(key: string): string {
	if (!/^[0-9a-f]{40}$/.test(key)) throw new Error("not the name of a lock");
	return key;
}
