import type { Message, Usage } from "@earendil-works/pi-ai";
import type { UsedUp } from "./budget.ts";
import type { FailedModel } from "./provider-failure.ts";
import type { Question, QuestionEnd } from "./question.ts";
import type { RunResult } from "./run-result.ts";
import type { Sender, Steer } from "./steer.ts";
import type { BudgetWrapUp } from "./wrap-up.ts";

/** What a sub-agent's conversation consists of. pi's own system messages are not part of it. */
export type ChatMessage = Exclude<Message, { role: "system" }>;

/** A call's result, as far as it is looked at. */
export interface CallResult {
	readonly isError: boolean;
	readonly text: string;
	readonly details: unknown;
}

/** The only thing that changes a run. Times are in milliseconds since the epoch. */
export type RunEvent =
	| {
			readonly type: "started";
			readonly at: number;
			readonly supervisorPid: number;
			readonly pid: number;
			/** Which messages the supervisor understands; missing in runs of versions that can only be watched and stopped. */
			readonly protocol?: number;
	  }
	| { readonly type: "message"; readonly message: ChatMessage }
	/** A piece of the assistant text that is being written. */
	| { readonly type: "delta"; readonly text: string }
	/** A piece of what the model thinks, where its provider shows that. */
	| { readonly type: "thinking"; readonly text: string }
	/** So many characters of a tool call's arguments; the tool is named when the call begins. */
	| { readonly type: "calling"; readonly tool: string | undefined; readonly chars: number }
	/** `nested`: a script that the model wrote made the call, not the model itself. */
	| {
			readonly type: "tool-started";
			readonly callId: string;
			readonly name: string;
			readonly args: unknown;
			readonly nested: boolean;
	  }
	/** The message that follows has the result; a script's call has no message. */
	| { readonly type: "tool-ended"; readonly callId: string; readonly result?: CallResult }
	/** A request failed, and pi sends it again after a pause. */
	| {
			readonly type: "retrying";
			readonly reason: string;
			readonly counted: { readonly attempt: number; readonly of: number };
			readonly delayMs: number;
	  }
	| { readonly type: "compacting" }
	/** When the next event came: pi's own records carry no time. */
	| { readonly type: "clock"; readonly at: number }
	/** Tokens spent outside of messages: a compaction. */
	| { readonly type: "spent"; readonly usage: Usage }
	/** Output that is not an event, or what an extension tells the person. */
	| { readonly type: "stray"; readonly stream: "stdout" | "stderr" | "notice"; readonly text: string }
	/** Its provider failed, and it goes on with another model. */
	| ({ readonly type: "model-failed" } & FailedModel)
	/** It waits for its turn to ask its model, with so many requests of others before its own; then it has it. */
	| { readonly type: "waiting"; readonly for: string; readonly before: number }
	| { readonly type: "admitted" }
	/** The run has to finish with what it has. */
	| ({ readonly type: "wrap-up" } & BudgetWrapUp)
	| { readonly type: "stopping"; readonly at: number; readonly cause: StopCause }
	/** Somebody has sent it a text, which waits for its next turn. */
	| { readonly type: "steer-queued"; readonly at: number; readonly steer: Steer; readonly from: Sender }
	/** The child's model is about to receive these. */
	| { readonly type: "steer-received"; readonly ids: readonly string[] }
	/** An extension of its own asks the person, and waits; then it does not wait any more. */
	| { readonly type: "asked"; readonly at: number; readonly question: Question }
	| { readonly type: "question-closed"; readonly at: number; readonly id: string; readonly end: QuestionEnd }
	/** It has begun to work; also again, where an extension of its own has it go on after it had settled. */
	| { readonly type: "working" }
	| { readonly type: "settled" }
	| { readonly type: "ended"; readonly result: RunResult };

/** Why we ended a run that had not finished. */
export type StopCause =
	| { readonly kind: "timeout"; readonly afterMs: number }
	| { readonly kind: "loop"; readonly tool: string }
	/** It had to finish with what it had, and gave no answer. */
	| ({ readonly kind: "budget" } & UsedUp)
	/** A bug of ours: whoever watched over the run could not go on. */
	| { readonly kind: "broken"; readonly message: string }
	| { readonly kind: "aborted"; readonly by: "caller" | "person" | "parent-death" | "signal" };

export type Exit =
	| { readonly kind: "code"; readonly code: number }
	| { readonly kind: "signal"; readonly signal: NodeJS.Signals }
	| { readonly kind: "spawn-failed"; readonly message: string }
	/** It was never started, for a reason that has nothing to do with starting. */
	| { readonly kind: "refused"; readonly message: string }
	/** Nobody saw how it ended. */
	| { readonly kind: "unknown" };
