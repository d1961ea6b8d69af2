import { describeUse, type UsedUp } from "./budget.ts";
import { FINALIZE_TOOL } from "./finalized.ts";
import type { Contract } from "./spec.ts";

/** Why a run has to finish with what it has. */
export type WrapUpReason = BudgetReason | { readonly kind: "time" };
export type BudgetReason = { readonly kind: "budget" } & UsedUp;

/** How far it got: its model was told, or called tools again and was stopped. */
export interface BudgetWrapUp {
	readonly reason: BudgetReason;
	readonly stage: "told" | "stopped";
}

/** When its time is almost up its model is told so, and no more. */
export type WrapUp = BudgetWrapUp | { readonly reason: { readonly kind: "time" }; readonly stage: "told" };

/** What a child is told shortly before its time limit. */
export const timeText = (secondsLeft: number, { kind }: Contract): string =>
	`Your time is almost up: about ${secondsLeft} s are left. Finish now with what you have${kind === "finalize" ? `, by calling ${FINALIZE_TOOL}` : ""}: what is done, what is not.`;

/** `cut short by its budget (3,020 of 2,500 tokens)` */
export const describeWrapUp = (reason: WrapUpReason): string =>
	reason.kind === "time"
		? "its time was up"
		: `cut short by ${reason.of === "session" ? "the session's" : "its"} budget (${describeUse(reason)})`;
