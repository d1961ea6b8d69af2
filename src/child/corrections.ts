import type { ChatMessage, RunEvent } from "../domain/event.ts";
import { FINALIZE_TOOL } from "../domain/finalized.ts";
import { textOf } from "../domain/messages.ts";
import type { Outcome } from "../domain/run-result.ts";
import type { Contract, Packet } from "../domain/spec.ts";

/** What a child is told that wants to end without having handed over an answer. */
export const REMINDER = `You have not finished: nothing you write reaches the caller except through the tool ${FINALIZE_TOOL}. Call it now as your last action, with status "SUCCESS" and your whole answer as result, or with status "ERROR" and the reason as error.`;

/** How often a run has been corrected, over all of its processes, and whether it may be once more. */
export interface Corrections {
	observe(event: RunEvent): void;
	/** The contract with the corrections that were made. */
	made(): Contract;
	/** The outcome as it is: a child that ends itself after the last correction was in vain looks like one that was stopped. */
	judge(outcome: Outcome): Outcome;
	/** What the next process is told when one has ended with this; undefined where there is none. */
	next(packet: Packet, outcome: Outcome): Packet | undefined;
}

/** `isUsedUp` says whether the run's budget is: from then on one correction is made at most. */
export function createCorrections(contract: Contract, isUsedUp: () => boolean): Corrections {
	if (contract.kind !== "finalize") {
		return { observe() {}, made: () => contract, judge: (outcome) => outcome, next: () => undefined };
	}
	let seen = 0;
	let processes = 0;
	let refused = false;
	/** Corrections after the budget was used up. */
	let late = 0;
	// Another extension may have reworded a reminder: what was sent from here counts in any case.
	const count = () => Math.min(contract.attempts, Math.max(seen, processes));
	return {
		observe(event) {
			if (event.type !== "message") return;
			const { message } = event;
			if (message.role === "assistant") refused = false;
			const refuses = isRefusal(message) && !refused; // a message with several calls is answered once
			refused ||= refuses;
			if (!refuses && !isReminder(message)) return;
			seen++;
			if (isUsedUp()) late++;
		},
		made: () => ({ ...contract, attempts: count() }),
		judge(outcome) {
			const stopped = outcome.kind === "failed" && outcome.failure.kind === "model";
			if (!stopped || seen <= contract.attempts) return outcome;
			return { kind: "failed", failure: { kind: "unfinalized", attempts: contract.attempts } };
		},
		next(packet, outcome) {
			const left = isUsedUp() ? Math.min(1 - late, contract.attempts - count()) : contract.attempts - count();
			if (left <= 0 || outcome.kind !== "failed" || outcome.failure.kind !== "unfinalized") return undefined;
			processes = count() + 1;
			return { ...packet, prompt: REMINDER, contract: { ...contract, attempts: left - 1 } };
		},
	};
}

const isReminder = (message: ChatMessage) => message.role === "user" && textOf(message) === REMINDER;

const isRefusal = (message: ChatMessage) =>
	message.role === "toolResult" && message.toolName === FINALIZE_TOOL && message.isError;
