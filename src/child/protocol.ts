import { mkdirSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { basename, dirname, join } from "node:path";
import type { Allowance, Amounts, UsedUp } from "../domain/budget.ts";
import type { StopCause } from "../domain/event.ts";
import type { FailedModel } from "../domain/provider-failure.ts";
import type { Question, Reply } from "../domain/question.ts";
import type { RunResult } from "../domain/run-result.ts";
import type { ModelRef, Packet, RunSpec } from "../domain/spec.ts";
import type { Receipt, Sender, Steer } from "../domain/steer.ts";
import type { BudgetWrapUp } from "../domain/wrap-up.ts";
import { isPrivate } from "../files/private.ts";

/** In the environment of every child and of all that it starts: how the processes of a run are found again. */
export const RUN_MARKER = "PI_SUBAGENTS_RUN_ID";
export const CHILD_MARKERS = { PI_SUBAGENTS_CHILD: "1", PI_SUBAGENT_CHILD: "1" } as const;

/** What stdin carries: pi trims and expands stdin, so the child extension puts the real prompt in its place. */
export const PLACEHOLDER = "Begin";

/** How long a supervisor waits for its packet, and a child for its own. */
export const PACKET_TIMEOUT_MS = 5_000;

/** How long pi may take to end after SIGTERM before all that is left of its run is killed. */
export const GRACE_MS = 5_000;
/** The same when whoever waited for the run is gone. */
export const ORPHAN_GRACE_MS = 3_000;

/** Of the messages below; 1 knew only `hold`, `start` and `stop`, and hung up on anything else; 2 knew no questions. */
export const PROTOCOL = 3;

/** What a child may be told on fd 3 before its packet: to get ready for its first request. */
export interface WarmUp {
	/** In which dialect of its provider it will ask. */
	readonly warmUp: string;
}

/** The packet as the supervisor hands it to the child. */
export interface ChildPacket extends Packet {
	readonly allowance: Allowance;
	/** Models to go on with when the provider fails, in order. */
	readonly fallback: readonly ModelRef[];
	readonly maxInFlight: RunSpec["maxInFlight"];
	/** Whether it tells what it uses, because the session has a budget. */
	readonly sharesBudget: boolean;
	/** How its changes to files are kept apart from those of its siblings; undefined where they are not. */
	readonly writeGuard: WriteGuard | undefined;
	/** Where it notes the times of its calls; a command waits until its supervisor has looked at the directory. */
	readonly callTimes: { readonly file: string; readonly looked: boolean } | undefined;
	/** Whether somebody is there to answer questions. */
	readonly person: boolean;
}

/** Who a run is to its siblings. */
export interface WriteGuard {
	/** Where the sub-agents of the session note what they change. */
	readonly ledger: string;
	readonly name: string;
	readonly session: string;
	/** The run's pi, as processes outside of a pid namespace see it: its locks count while it lives. */
	readonly holder: string;
	/** When the run began; changes before that are nothing new to it. */
	readonly since: number;
}

/** What a child may be told on fd 3 at any time after its packet; it passes over what it does not know. */
export type ToChild =
	| { readonly steer: Steer }
	/** The slots of the request with this id have been taken. */
	| { readonly granted: number }
	| { readonly spending: SpendingAnswer }
	| { readonly locked: LockAnswer }
	/** What the directory was like before is known: commands may run. */
	| { readonly looked: true }
	/** From here on somebody is there to answer questions, or nobody. */
	| { readonly person: boolean }
	| { readonly answer: QuestionAnswer };

/** The answer to the question with this id. */
export interface QuestionAnswer {
	readonly id: string;
	readonly reply: Reply;
}

/** What the run has used so far; the answer says whether the session's budget is used up. */
export interface SpendingRequest {
	readonly id: number;
	readonly used: Amounts;
}
export interface SpendingAnswer {
	readonly id: number;
	readonly usedUp: UsedUp | null;
}

/** What a child needs before it asks its model: a slot of each of these keys, instead of those that it has. */
export interface SlotRequest {
	readonly id: number;
	readonly keys: readonly string[];
}

/** A file that a child is about to change, or has changed. `wait`: it may take its time, because the run holds no other. */
export type LockRequest =
	| { readonly lock: string; readonly id: number; readonly wait: boolean }
	| { readonly unlock: string };
export interface LockAnswer {
	readonly id: number;
	readonly got: boolean;
}

/** What a child tells its supervisor on fd 3. */
export type FromChild =
	/** A key that it uses, so that the supervisor can keep it out of all it writes. */
	| { readonly key: string }
	| { readonly wrapUp: BudgetWrapUp }
	| { readonly failed: FailedModel }
	| { readonly slots: SlotRequest }
	| { readonly spent: SpendingRequest }
	| LockRequest
	/** An extension asks the person, and waits. */
	| { readonly ask: Question }
	/** It does not wait any more for the answer to the question with this id. */
	| { readonly withdraw: string }
	/** What an extension tells the person. */
	| { readonly notice: string }
	/** Its last word: its shutdown is complete and it would exit with this code. Then it kills itself, which is faster. */
	| { readonly exit: number };

/** Lines of JSON from the parent to the supervisor. */
export type ToSupervisor =
	/** The task may take its time. Until then the run ends, without a trace, with whoever said this. It is answered. */
	| { readonly type: "hold"; readonly dialect: string | undefined }
	/** Only the parent that started the run knows the token. The child never receives it. */
	| { readonly type: "start"; readonly packet: Packet; readonly token: string }
	/** A text for the child. `as` counts only with the run's token: without it the sender is a process of the same user. */
	| { readonly type: "steer"; readonly steer: Steer; readonly as: Sender; readonly token: string | undefined }
	/** From here on the run does not end with its parent. */
	| { readonly type: "release"; readonly token: string }
	/** This connection answers the run's questions for as long as it is open; those that are open are told. */
	| { readonly type: "attend"; readonly token: string }
	/** The first answer to a question counts. */
	| { readonly type: "answer"; readonly id: string; readonly reply: Reply; readonly token: string }
	| { readonly type: "stop"; readonly cause: StopCause };

/** Lines of JSON from the supervisor to every parent that is connected. */
export type FromSupervisor =
	/** There is more in events.jsonl. */
	| { readonly type: "grown" }
	| { readonly type: "ended"; readonly result: RunResult }
	| { readonly type: "steered"; readonly id: string; readonly receipt: Receipt }
	| { readonly type: "released" }
	/** To those who attend: an extension in the child asks the person. */
	| { readonly type: "question"; readonly question: Question }
	/** To those who attend: this question is closed. After a time-out the run counts as unattended until `attend` comes again. */
	| { readonly type: "withdrawn"; readonly id: string; readonly timedOut: boolean }
	/** To the sender alone: it has no right to what it asked for. */
	| { readonly type: "refused"; readonly request: string; readonly why: string }
	/** To the sender alone: a message of a later version. */
	| { readonly type: "unknown"; readonly request: string };

/** The connection that starts a run owns it: when that connection ends, a foreground run is stopped. */
export const OWNER_MESSAGES: readonly ToSupervisor["type"][] = ["hold", "start"];
export const KNOWN_MESSAGES: readonly ToSupervisor["type"][] = [
	...OWNER_MESSAGES,
	...(["stop", "steer", "release", "attend", "answer"] as const),
];

/** Longer paths are cut silently by the system (104 bytes on macOS, 108 on Linux). */
const MAX_SOCKET_PATH_BYTES = 100;

/** Where the control socket of a run is. The directory is ours alone: whoever can connect can stop the run. */
export function socketPathOf(runId: string, temporary: string = tmpdir()): string {
	if (process.platform === "win32") return `\\\\.\\pipe\\pi-subagents-${runId}`;
	const name = `pi-subagents-${userInfo().uid}`;
	const inTmpdir = join(temporary, name, runId);
	return Buffer.byteLength(inTmpdir) <= MAX_SOCKET_PATH_BYTES ? inTmpdir : join("/tmp", name, runId);
}

/** For files that the runs of this user share: in the same directory, which every supervisor has made sure of. */
export const sharedDirectory = (): string =>
	process.platform === "win32" ? join(tmpdir(), "pi-subagents") : dirname(socketPathOf("any"));

/** Whether a path that somebody wrote down is where the control socket of this run can be, and nobody else's. */
export function isSocketOf(runId: string, path: string): boolean {
	if (process.platform === "win32") return path === socketPathOf(runId);
	const directory = dirname(path);
	return basename(path) === runId && basename(directory) === `pi-subagents-${userInfo().uid}` && isPrivate(directory);
}

/** Makes the socket's directory, or refuses one that somebody else could have prepared. Throws with the reason. */
export function ensureSocketDirectory(directory: string): void {
	if (process.platform === "win32") return;
	mkdirSync(directory, { recursive: true, mode: 0o700 });
	if (!isPrivate(directory)) {
		throw new Error(`${directory} must be a directory of this user with mode 0700`);
	}
}
