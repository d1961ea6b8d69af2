import { setImmediate as nextTurn } from "node:timers/promises";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { STEER_MESSAGE, type Steer } from "../domain/steer.ts";

/** Brings texts that somebody sends to the running child before its model. */
export interface Talk {
	receive(steer: Steer): void;
	/** The answer has been handed over: nothing may follow it. */
	close(): void;
	/** A text makes pi go on: there is nothing to correct yet. */
	isGoingOn(): boolean;
}

type Delivery = Parameters<ExtensionAPI["sendMessage"]>[1];

/**
 * Texts wait here and not in pi's own queue: what is queued there cannot be taken back when the answer is handed over, and pi
 * spends one turn on each. They are custom messages, because pi leaves those as they are: no template is expanded, no `input`
 * handler of another extension sees them, and they are not taken for the prompt.
 */
export function createTalk(pi: ExtensionAPI): Talk {
	let waiting: readonly Steer[] = [];
	let closed = false;
	let goingOn = false;
	/** What pi is doing: its context while it works; `interrupted` once it was asked to stop for a text. */
	let work:
		| { readonly kind: "none" | "interrupted" }
		| { readonly kind: "working"; readonly context: ExtensionContext } = { kind: "none" };
	let completed = false;
	const take = (fits: (steer: Steer) => boolean = () => true) => {
		const taken = closed ? [] : waiting.filter(fits);
		if (taken.length === 0) return undefined;
		waiting = waiting.filter((steer) => !taken.includes(steer));
		return {
			customType: STEER_MESSAGE,
			content: taken.map(({ text }) => ({ type: "text" as const, text })),
			display: true,
			details: { ids: taken.map(({ id }) => id) },
		};
	};
	const deliver = (delivery: Delivery, fits?: (steer: Steer) => boolean) => {
		const message = take(fits);
		if (message) pi.sendMessage(message, delivery);
		return message !== undefined;
	};

	// What came before the first turn goes with the task.
	pi.on("before_agent_start", () => {
		const message = take();
		return message && { message };
	});
	pi.on("agent_start", (_event, context) => {
		work = { kind: "working", context };
		goingOn = false;
	});
	// pi looks into its queue right after this. A failed turn may be retried, and the text would become part of that.
	pi.on("turn_end", async ({ message, toolResults }) => {
		await allThatWasSent();
		const failed = message.role === "assistant" && (message.stopReason === "error" || message.stopReason === "aborted");
		const fits = toolResults.length > 0 ? undefined : makesItGoOn;
		if (!failed && work.kind !== "interrupted") deliver({ deliverAs: "steer" }, fits);
	});
	pi.on("agent_before_settle", async ({ outcome }) => {
		await allThatWasSent();
		completed = outcome === "completed";
		goingOn = completed && deliver({ deliverAs: "followUp" }, makesItGoOn);
	});
	pi.on("agent_settled", () => {
		const wasInterrupted = work.kind === "interrupted";
		work = { kind: "none" };
		if (wasInterrupted || completed) deliver({ triggerTurn: true }, makesItGoOn);
		completed = false;
	});
	return {
		receive(steer) {
			waiting = [...waiting, steer];
			if (closed || steer.when !== "now" || work.kind !== "working") return;
			const { context } = work;
			work = { kind: "interrupted" };
			context.abort();
		},
		close() {
			closed = true;
		},
		isGoingOn: () => goingOn,
	};
}

const makesItGoOn = ({ when }: Steer) => when !== "while-working";

/** Whoever was told that a text is queued expects it to count: what has arrived meanwhile is read first. */
async function allThatWasSent(): Promise<void> {
	await nextTurn(); // ends the current round of the event loop
	await nextTurn(); // and this one a round that has read everything
}
