import type { AssistantMessage } from "@earendil-works/pi-ai";
import type { Exit } from "./event.ts";
import { type Finalized, textOfSuccess } from "./finalized.ts";
import { lastAssistant, textOf } from "./messages.ts";
import { describeFailedModels } from "./provider-failure.ts";
import type { Failure, Outcome, RunResult } from "./run-result.ts";
import type { Contract } from "./spec.ts";
import { lastTextOf, messagesOf, type RunState } from "./state.ts";
import type { BudgetReason } from "./wrap-up.ts";

/**
 * What a run that has ended amounts to, decided from its events. First cause wins: what we did to a child explains its
 * exit, never the reverse; and pi exits with 0 after provider errors, so an exit code proves nothing by itself.
 */
export function conclude(state: RunState, exit: Exit, contract: Contract, stderr: string): Outcome {
	// What was handed over is the answer, whatever became of the process afterwards.
	if (contract.kind === "finalize" && state.finalized) return answered(state.finalized);
	if (state.stopCause && !isOver(state, contract)) return failed({ kind: "stopped", cause: state.stopCause });
	if (exit.kind === "refused") return failed({ kind: "rejected", message: exit.message });
	if (exit.kind === "spawn-failed") return failed({ kind: "spawn", message: exit.message });
	const last = lastAnswer(state);
	if (!state.settled && !(contract.kind === "finalize" && left(exit, last)))
		return failed({ kind: "exit", exit, stderr });
	if (!last) return failed({ kind: "silent", stderr });
	return state.wrapUp?.stage === "stopped"
		? stoppedShort(state.wrapUp.reason, last, contract)
		: ofLastMessage(state, last, contract);
}

/** The words of the provider; of each provider where it went on with other models. */
function errorOf(
	{ failedModels }: RunState,
	{ errorMessage, stopReason, provider, model: id }: AssistantMessage,
): string {
	const message = errorMessage ?? `The model's answer ended with "${stopReason}"`;
	return failedModels.length === 0 ? message : describeFailedModels([...failedModels, { provider, id, message }]);
}

function ofLastMessage(state: RunState, last: AssistantMessage, contract: Contract): Outcome {
	if (last.stopReason !== "stop" && last.stopReason !== "length" && last.stopReason !== "toolUse") {
		return failed({ kind: "model", message: errorOf(state, last) });
	}
	if (contract.kind === "finalize") return failed({ kind: "unfinalized", attempts: contract.attempts });
	return {
		kind: "completed",
		text: lastTextOf(state), // it may have said it all before a last message without words
		end: last.stopReason === "length" ? "output-limit" : "natural",
	};
}

/** The last message of the model; of a run that was stopped because it called tools again, the one with these calls. */
function lastAnswer(state: RunState): AssistantMessage | undefined {
	const messages = messagesOf(state);
	if (state.wrapUp?.stage !== "stopped") return lastAssistant(messages);
	return messages.findLast(
		(each) => each.role === "assistant" && each.content.some(({ type }) => type === "toolCall"),
	) as AssistantMessage | undefined;
}

/** It went on calling tools: what it wrote beside the calls is its answer, unless it has to hand one over. */
function stoppedShort(reason: BudgetReason, last: AssistantMessage, contract: Contract): Outcome {
	const text = textOf(last);
	if (contract.kind === "finalize" || text.trim() === "") return failed({ kind: "stopped", cause: reason });
	return { kind: "completed", text, end: last.stopReason === "length" ? "output-limit" : "natural" };
}

/** A run that has settled is not stopped: it only has to go. One that still owes its answer would have been corrected. */
const isOver = ({ settled }: RunState, contract: Contract) => settled && contract.kind === "last-text";

/** It went of its own accord when there was nothing more to do, only before pi could say so. */
const left = (exit: Exit, last: AssistantMessage | undefined) =>
	exit.kind === "code" && exit.code === 0 && last?.stopReason === "stop";

function answered(finalized: Finalized): Outcome {
	if (finalized.status === "SUCCESS") return { kind: "completed", text: textOfSuccess(finalized), end: "natural" };
	if (finalized.status === "QUESTION") return { kind: "completed", text: finalized.question, end: "natural" };
	const text = [finalized.error, ...(finalized.result === undefined ? [] : [finalized.result])].join("\n\n");
	return { kind: "completed", text, end: "natural" };
}

const failed = (failure: Failure): Outcome => ({ kind: "failed", failure });

/** The result of a run that only its state can tell about: it was refused, or whoever watched over it is gone. */
export function resultWithout(
	runId: string,
	state: RunState,
	failure: Failure,
	endedAt: number,
	exit: Exit = { kind: "unknown" },
): RunResult {
	// What was handed over is the answer here too.
	const outcome = state.finalized ? answered(state.finalized) : failed(failure);
	return resultOf(runId, state, { outcome, exit, endedAt, leftovers: [], artifactErrors: [] });
}

/** Whose model answered last. */
export const lastProvider = (state: RunState): string | undefined => lastAssistant(messagesOf(state))?.provider;

export function resultOf(
	runId: string,
	state: RunState,
	end: Pick<RunResult, "outcome" | "exit" | "endedAt" | "leftovers" | "artifactErrors" | "receipt">,
): RunResult {
	const last = lastAssistant(messagesOf(state));
	const startedAt = state.phase.kind === "running" ? state.phase.since : end.endedAt;
	return {
		runId,
		outcome: end.outcome,
		exit: end.exit,
		startedAt,
		endedAt: Math.max(startedAt, end.endedAt), // a clock may be set back meanwhile
		text: lastTextOf(state),
		model: last && { provider: last.provider, id: last.model },
		stopReason: last?.stopReason,
		usage: state.usage,
		toolCalls: state.toolCalls,
		messageCount: state.messageCount,
		finalized: state.finalized,
		cutShort: state.wrapUp?.reason,
		failedModels: state.failedModels,
		leftovers: end.leftovers,
		changes: undefined,
		artifactErrors: end.artifactErrors,
		...(end.receipt && { receipt: end.receipt }),
	};
}
