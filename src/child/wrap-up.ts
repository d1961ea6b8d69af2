import type { AssistantMessage, ToolResultMessage } from "@earendil-works/pi-ai";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { type Amounts, createMeter, describeUse, type UsedUp } from "../domain/budget.ts";
import { FINALIZE_TOOL } from "../domain/finalized.ts";
import type { Contract } from "../domain/spec.ts";
import type { BudgetReason, BudgetWrapUp } from "../domain/wrap-up.ts";
import type { ChildPacket } from "./protocol.ts";

/** Has a run finish with what it has. */
export interface WrapUpControl {
	/** To be called after others that refuse tools for reasons of their own. */
	listen(pi: ExtensionAPI): void;
	/** Its budget is used up. A message that calls no tools is an answer all the same. */
	isDue(): boolean;
	/** It was told, called tools again, and is ending. */
	hasStopped(): boolean;
}

/**
 * Counts what the child uses, and has `spend` tell whether the session's budget is used up. Once either is, every tool call is refused with the request to answer. The next
 * message is the answer: one that calls tools again ends the run without another request. The tools stay declared, because
 * some providers refuse a conversation that has tool calls and no tools, and because the prompt cache would be lost.
 */
export function createWrapUp(
	{ allowance, contract }: Pick<ChildPacket, "allowance" | "contract">,
	tell: (wrapUp: BudgetWrapUp) => void,
	spend: (used: Amounts) => Promise<UsedUp | undefined>,
): WrapUpControl {
	const meter = createMeter(allowance);
	let reason = reasonOf(meter.usedUp());
	let stage: BudgetWrapUp["stage"] | undefined;
	/** Of the current message: whether it hands over an answer, and which of its calls were asked about or let it end. */
	let finalizes = false;
	let asked = new Set<string>();
	let ending = new Set<string>();

	const enter = (next: BudgetWrapUp["stage"], why: BudgetReason) => {
		if (stage === next) return;
		stage = next;
		tell({ reason: why, stage });
	};
	const refuse = (why: BudgetReason): string => {
		if (stage === undefined) enter("told", why);
		return refusalFor(why, contract);
	};

	const observe = (message: AssistantMessage) => {
		const calls = message.content.flatMap((part) => (part.type === "toolCall" ? [part.name] : []));
		finalizes = calls.includes(FINALIZE_TOOL);
		asked = new Set();
		ending = new Set();
		if (reason && stage === "told" && calls.length > 0 && !finalizes) enter("stopped", reason);
	};
	/** pi itself refuses a call that was cut off or names no tool. The model has to read why it must answer now. */
	const explain = (message: ToolResultMessage) => {
		const refusedByPi = message.isError && !asked.has(message.toolCallId) && message.toolName !== FINALIZE_TOOL;
		if (!reason || !refusedByPi || finalizes) return undefined;
		return { message: { ...message, content: [{ type: "text" as const, text: refuse(reason) }] } };
	};
	return {
		isDue: () => reason !== undefined,
		hasStopped: () => stage === "stopped",
		listen(pi) {
			pi.on("message_end", async ({ message }) => {
				if (message.role !== "assistant" && message.role !== "toolResult") return undefined;
				meter.observe({ type: "message", message });
				reason ??= reasonOf(meter.usedUp());
				// The tools of this message run only when the whole session's sum is known.
				if (message.role === "assistant") reason ??= reasonOf(await spend(meter.allowance().before));
				return message.role === "assistant" ? observe(message) : explain(message);
			});
			pi.on("session_compact", ({ compactionEntry }) => {
				meter.observe({ type: "spent", usage: compactionEntry.usage });
				reason ??= reasonOf(meter.usedUp());
			});
			pi.on("tool_call", ({ toolName, toolCallId }) => {
				asked.add(toolCallId);
				if (!reason || toolName === FINALIZE_TOOL) return undefined;
				const text = refuse(reason);
				if (stage !== "stopped") return { block: true, reason: text };
				ending.add(toolCallId);
				return { block: true, terminate: true, reason: text };
			});
			// pi asks the model again unless every result of a message lets it end.
			pi.on("turn_end", ({ toolResults }, context) => {
				if (stage === "stopped" && toolResults.some(({ toolCallId }) => !ending.has(toolCallId))) context.abort();
			});
		},
	};
}

const reasonOf = (usedUp: UsedUp | undefined): BudgetReason | undefined => usedUp && { kind: "budget", ...usedUp };

const refusalFor = (reason: BudgetReason, { kind }: Contract): string =>
	`Not done: ${reason.of === "session" ? "the session's" : "your"} budget is used up (${describeUse(reason)}). Answer now with what you have${kind === "finalize" ? `, by calling ${FINALIZE_TOOL}` : ""}: what is done, what is not.`;
