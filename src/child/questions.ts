import type { RunEvent } from "../domain/event.ts";
import {
	isReplyTo,
	type Question,
	type QuestionEnd,
	questionEndText,
	questionText,
	type Reply,
	saidOf,
} from "../domain/question.ts";
import type { Limits } from "../domain/spec.ts";
import type { RunState } from "../domain/state.ts";
import type { Artifacts } from "../run-directory/artifacts.ts";
import type { FromSupervisor, ToChild } from "./protocol.ts";

/** A connection whose person answers questions. */
export interface Attendant {
	send(message: FromSupervisor): void;
}

interface AskingRun {
	readonly artifacts: Artifacts;
	state(): RunState;
	/** Takes an event of ours into the trail and the state. */
	record(event: RunEvent): void;
	/** To the pi that the run has at the moment, if any. */
	tell(message: ToChild): void;
}

/** No person answers more at a time. */
const MAX_OPEN = 50;
const DEFAULT_QUESTION_MS = 600_000;

/** The questions of one run, and who answers them. Each is closed once, by whatever comes first. */
export function createQuestions(
	{ artifacts, state, record, tell }: AskingRun,
	{ questionMs: timeoutMs = DEFAULT_QUESTION_MS }: Limits,
) {
	const attendants = new Set<Attendant>();
	const timers = new Map<string, NodeJS.Timeout>();
	/** A question was not answered in time: nobody is asked again until somebody attends anew. */
	let lapsed = false;
	const isAttended = () => attendants.size > 0 && !lapsed;
	const broadcast = (message: FromSupervisor) => {
		for (const attendant of attendants) attendant.send(message);
	};
	const open = () => state().questions;
	const close = (question: Question, end: QuestionEnd, reply: Reply) => {
		clearTimeout(timers.get(question.id));
		timers.delete(question.id);
		record({ type: "question-closed", at: Date.now(), id: question.id, end });
		artifacts.transcript(`${questionEndText(end)}\n`);
		broadcast({ type: "withdrawn", id: question.id, timedOut: end.kind === "denied" && end.why === "timeout" });
		if (end.kind !== "withdrawn") tell({ answer: { id: question.id, reply } });
	};
	const denyAll = (why: "left" | "timeout") => {
		tell({ person: false });
		for (const question of open()) close(question, { kind: "denied", why }, null);
	};
	return {
		isAttended,
		/** For a pi that has just been given its packet. */
		unheard: (): readonly ToChild[] => [{ person: isAttended() }],
		ask(question: Question): void {
			if (open().some(({ id }) => id === question.id)) return;
			if (!isAttended() || open().length >= MAX_OPEN) return void tell({ answer: { id: question.id, reply: null } });
			record({ type: "asked", at: Date.now(), question });
			artifacts.transcript(`${questionText(question)}\n`);
			timers.set(
				question.id,
				setTimeout(() => {
					lapsed = true;
					denyAll("timeout");
				}, timeoutMs),
			);
			broadcast({ type: "question", question });
		},
		withdraw(id: string): void {
			const question = open().find((each) => each.id === id);
			if (question) close(question, { kind: "withdrawn" }, null);
		},
		/** Also when it attends already: then its person has pressed a key. */
		attend(attendant: Attendant): void {
			attendants.add(attendant);
			lapsed = false;
			tell({ person: true });
			for (const question of open()) attendant.send({ type: "question", question });
		},
		/** The connection has ended. */
		leave(attendant: Attendant): void {
			if (attendants.delete(attendant) && attendants.size === 0) denyAll("left");
		},
		/** Undefined, or why this is no answer. */
		answer(id: string, reply: unknown): string | undefined {
			const question = open().find((each) => each.id === id);
			if (!question) return "the question is not open";
			if (!isReplyTo(question, reply)) return "this is no answer to the question";
			close(question, { kind: "answered", said: saidOf(question, reply) }, reply);
			return undefined;
		},
		/** The pi that asked has exited. */
		end(): void {
			for (const question of open()) close(question, { kind: "withdrawn" }, null);
		},
	};
}

export type RunQuestions = ReturnType<typeof createQuestions>;
