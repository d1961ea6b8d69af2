import { timingSafeEqual } from "node:crypto";
import type { Sender, Steer } from "../domain/steer.ts";
import type { FromSupervisor, ToSupervisor } from "./protocol.ts";
import type { OnReceipt } from "./steering.ts";

type Said = Extract<ToSupervisor, { type: "steer" | "release" }>;

interface TalkedTo {
	steer(steer: Steer, from: Sender): void;
	onReceipt(listener: OnReceipt): void;
}

/** What the control socket asks of a run beside starting and stopping it. */
export interface SupervisorTalk {
	take(message: Said, reply: (message: FromSupervisor) => void): void;
	/** The parent starts its run, and proves later by this that it is the parent. */
	begin(token: string): void;
	/** What was sent to the run before is handed over. */
	attach(run: TalkedTo): void;
	/** The run goes on without its parent. */
	isReleased(): boolean;
}

export function createSupervisorTalk(send: (message: FromSupervisor) => void): SupervisorTalk {
	let secret: string | undefined;
	let released = false;
	let early: readonly Parameters<TalkedTo["steer"]>[] = [];
	let run: TalkedTo | undefined;
	const isParent = (token: unknown) => secret !== undefined && typeof token === "string" && isSame(secret, token);
	return {
		take(message, reply) {
			if (message.type === "release") {
				if (!isParent(message.token)) {
					return reply({
						type: "refused",
						request: "release",
						why: "only the session that started the run can do this",
					});
				}
				released = true;
				return reply({ type: "released" });
			}
			const { steer, as, token } = message;
			if (!isSteer(steer)) return reply({ type: "refused", request: "steer", why: "it is not a message" });
			const from = isParent(token) && (as === "session" || as === "model") ? as : "process";
			if (run) run.steer(steer, from);
			else early = [...early, [steer, from]];
		},
		begin(token) {
			secret ??= typeof token === "string" && token !== "" ? token : undefined;
		},
		attach(target) {
			run = target;
			run.onReceipt((id, receipt) => send({ type: "steered", id, receipt }));
			for (const [steer, from] of early) run.steer(steer, from);
		},
		isReleased: () => released,
	};
}

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
