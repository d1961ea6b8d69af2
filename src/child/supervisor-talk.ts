import { timingSafeEqual } from "node:crypto";
import type { Sender, Steer } from "../domain/steer.ts";
import type { Client } from "./control-server.ts";
import type { FromSupervisor, ToSupervisor } from "./protocol.ts";
import type { RunQuestions } from "./questions.ts";
import type { OnReceipt } from "./steering.ts";

type Said = Extract<ToSupervisor, { type: "steer" | "release" | "attend" | "answer" }>;

export const isTalk = (message: ToSupervisor): message is Said =>
	message.type === "steer" || message.type === "release" || message.type === "attend" || message.type === "answer";

interface TalkedTo {
	steer(steer: Steer, from: Sender): void;
	onReceipt(listener: OnReceipt): void;
}

type Attended = Pick<RunQuestions, "attend" | "leave" | "answer" | "isAttended">;

/** What the control socket asks of a run beside starting and stopping it. */
export interface SupervisorTalk {
	take(message: Said, client: Client): void;
	/** The parent starts its run, and proves later by this that it is the parent. */
	begin(token: string): void;
	/** What was sent to the run before is handed over. */
	attach(run: TalkedTo, questions: Attended): void;
	/** The run goes on without its parent. */
	isReleased(): boolean;
}

interface AttachedRun {
	readonly steering: TalkedTo;
	readonly questions: Attended;
}

export function createSupervisorTalk(send: (message: FromSupervisor) => void): SupervisorTalk {
	let secret: string | undefined;
	let released = false;
	/** What came before the run could hear it, in its order. A parent attends before it hands over the task. */
	let early: readonly [Exclude<Said, { type: "release" }>, Client][] = [];
	let run: AttachedRun | undefined;
	const isParent = (token: unknown) => secret !== undefined && typeof token === "string" && isSame(secret, token);
	const attending = new WeakSet<Client>();
	const attend = (client: Client, { questions }: AttachedRun) => {
		questions.attend(client);
		if (attending.has(client)) return;
		attending.add(client);
		client.onGone(() => questions.leave(client));
	};
	const release = (client: Client) => {
		released = true;
		client.send({ type: "released" });
		// The connection that attended so far is about to close.
		if (run?.questions.isAttended()) attend(client, run);
	};
	const pass = (message: Exclude<Said, { type: "release" }>, client: Client, to: AttachedRun) => {
		if (message.type === "steer") {
			const { steer, as, token } = message;
			to.steering.steer(steer, isParent(token) && (as === "session" || as === "model") ? as : "process");
		} else if (!isParent(message.token)) client.send(refusal(message.type, NOT_PARENT));
		else if (message.type === "attend") attend(client, to);
		else {
			const problem = to.questions.answer(message.id, message.reply);
			if (problem !== undefined) client.send(refusal("answer", problem));
		}
	};
	return {
		take(message, client) {
			if (message.type === "release")
				return isParent(message.token) ? release(client) : client.send(refusal("release", NOT_PARENT));
			if (message.type === "steer" && !isSteer(message.steer))
				return client.send(refusal("steer", "it is not a message"));
			if (run) pass(message, client, run);
			else early = [...early, [message, client]];
		},
		begin(token) {
			secret ??= typeof token === "string" && token !== "" ? token : undefined;
		},
		attach(steering, questions) {
			run = { steering, questions };
			steering.onReceipt((id, receipt) => send({ type: "steered", id, receipt }));
			for (const [message, client] of early) pass(message, client, run);
			early = [];
		},
		isReleased: () => released,
	};
}

const NOT_PARENT = "only the session that started the run can do this";
const refusal = (request: string, why: string): FromSupervisor => ({ type: "refused", request, why });

function isSame(one: string, other: string): boolean {
	const [a, b] = [Buffer.from(one), Buffer.from(other)];
	return a.length === b.length && timingSafeEqual(a, b);
}

const WHENS: readonly unknown[] = ["turn-end", "now", "while-working"] satisfies readonly Steer["when"][];

/** Any process of the user can write to the socket. */
function isSteer(value: unknown): value is Steer {
	const { id, text, when } = (value ?? {}) as Partial<Record<keyof Steer, unknown>>;
	return typeof id === "string" && typeof text === "string" && text !== "" && WHENS.includes(when);
}
