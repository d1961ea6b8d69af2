import { describeUse, type UsedUp } from "./budget.ts";

/** Why a run has to finish with what it has. */
export type WrapUpReason = { readonly kind: "budget" } & UsedUp;

/** How far it got: its model was told, or called tools again and was stopped. */
export interface WrapUp {
	readonly reason: WrapUpReason;
	readonly stage: "told" | "stopped";
}

/** `cut short by its budget (3,020 of 2,500 tokens)` */
export const describeWrapUp = (reason: WrapUpReason): string =>
	`cut short by ${reason.of === "session" ? "the session's" : "its"} budget (${describeUse(reason)})`;
