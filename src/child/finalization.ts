import { setImmediate as nextTurn } from "node:timers/promises";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { OutputSchema } from "../domain/definition.ts";
import { FINALIZE_TOOL, type Finalized, parseFinalized } from "../domain/finalized.ts";
import type { Contract } from "../domain/spec.ts";
import { REMINDER } from "./corrections.ts";
import { asResult, createOutputCheck } from "./output-check.ts";
import type { Talk } from "./talk.ts";
import type { WrapUpControl } from "./wrap-up.ts";

/** As JSON Schema: the child loads nothing that it does not need. */
const ANSWER = {
	result: { type: "string", description: "Your whole answer; with ERROR, what you found nevertheless" },
	error: { type: "string", description: "With ERROR: what went wrong" },
};
const QUESTION = {
	question: { type: "string", description: "With QUESTION: what you must know to go on; the answer is your next task" },
};
const schemaOf = (statuses: readonly string[], properties: object) => ({
	type: "object",
	required: ["status"],
	properties: { status: { type: "string", enum: statuses }, ...properties },
});

function parametersOf(asking: "may ask" | "must answer", output: OutputSchema | undefined): object {
	const { result, beside } = output ? asResult(output) : { result: ANSWER.result, beside: {} };
	const answer = { ...ANSWER, result };
	return {
		...(asking === "may ask"
			? schemaOf(["SUCCESS", "ERROR", "QUESTION"], { ...answer, ...QUESTION })
			: schemaOf(["SUCCESS", "ERROR"], answer)),
		...beside,
	};
}

const DESCRIPTION =
	"Hand over your answer and end. Must be your last action: nothing else that you write reaches the caller.";

/** A script's call would end nothing: pi drops what it gives back. pi 0.87 has no scripts, and its types no such field. */
const FOR_THE_MODEL: object = { exposure: "model-only" };

/** Another extension may look at the reminder first, or keep it to itself. */
const MAX_QUEUE_MS = 2_000;

/**
 * The contract of an agent call: the child ends with one valid finalize call, and is corrected so many times in all, but
 * at most once after its budget is used up.
 */
export function requireFinalization(
	pi: ExtensionAPI,
	{ attempts, mayAsk, output }: Extract<Contract, { kind: "finalize" }>,
	wrapUp: WrapUpControl,
	talk: Talk,
): void {
	const asking = mayAsk === false ? "must answer" : "may ask";
	const fits = output && createOutputCheck(output);
	const parse = (input: unknown) => parseFinalized(input, asking, fits);
	/** It has finalized, or has been corrected in vain. */
	let over = false;
	let corrections = 0;
	let lastAttempt: number | undefined;
	const mayCorrect = () => {
		if (wrapUp.isDue()) lastAttempt ??= corrections + 1;
		return corrections < Math.min(attempts, lastAttempt ?? attempts);
	};
	/** The call of the current message that ends the run, and how many results of the message let it end. */
	let ending: { readonly callId: string; willing: number } | undefined;

	pi.registerTool({
		name: FINALIZE_TOOL,
		label: "Finalize",
		description: DESCRIPTION,
		parameters: parametersOf(asking, output) as never,
		...FOR_THE_MODEL,
		// What is valid is said in one place, and nothing is left for pi to refuse: a refusal of pi's ends no run.
		prepareArguments(input) {
			const answer = parse(input);
			return (typeof answer === "string" ? { status: "ERROR", problem: answer } : prepared(answer)) as never;
		},
		async execute(callId, input) {
			const { problem, answer } = input as { problem?: string; answer?: Finalized };
			if (typeof problem === "string" && callId !== ending?.callId) throw new Error(problem);
			over = true;
			talk.close();
			if (ending) ending.willing++;
			if (typeof problem === "string") return { content: textOf(problem), details: {}, terminate: true };
			return { content: textOf("Done."), details: answer ?? {}, terminate: true };
		},
	});
	pi.on("message_end", ({ message }) => {
		if (message.role !== "assistant") return;
		const calls = message.content.flatMap((part) =>
			part.type === "toolCall" && part.name === FINALIZE_TOOL ? [part] : [],
		);
		// What the output limit has cut is refused by pi, however whole it looks.
		const whole = message.stopReason === "length" ? [] : calls;
		const valid = whole.find((call) => typeof parse(call.arguments) === "object");
		const last = valid ?? (mayCorrect() ? undefined : calls[0]);
		ending = last && { callId: last.id, willing: 0 };
	});
	// pi ends only if every result of a message lets it: calls beside the one that ends are not made, and say so.
	pi.on("tool_call", ({ toolCallId }) => {
		if (!ending || toolCallId === ending.callId) return undefined;
		ending.willing++;
		return { block: true, terminate: true, reason: `Not done: ${FINALIZE_TOOL} was called, and it is the last action` };
	});
	pi.on("turn_end", ({ toolResults }, context) => {
		const refused = !over && toolResults.some(({ toolName, isError }) => toolName === FINALIZE_TOOL && isError);
		if (refused && !mayCorrect()) over = true;
		else if (refused) corrections++;
		// A call that pi refuses by itself (no such tool, cut off) would have it ask the model again.
		if (over && ending && toolResults.length > ending.willing) context.abort();
	});
	// Not at `agent_end`: a retry or a compaction may follow, and then the answer.
	pi.on("agent_before_settle", async ({ outcome }, context) => {
		if (over || outcome !== "completed" || talk.isGoingOn() || wrapUp.hasStopped() || !mayCorrect()) return;
		corrections++;
		pi.sendUserMessage(REMINDER, { deliverAs: "followUp" });
		const deadline = performance.now() + MAX_QUEUE_MS;
		while (!context.hasPendingMessages() && performance.now() < deadline) await nextTurn();
	});
}

/** Under a name that the schema does not have: pi checks and converts what it knows, and this has been checked. */
const prepared = (answer: Finalized) => ({ status: answer.status, answer });

const textOf = (text: string) => [{ type: "text" as const, text }];
