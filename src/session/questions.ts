import { parseQuestion, type Question, type Reply } from "../domain/question.ts";
import type { Answer, ControlClient } from "../run/control-client.ts";

/** A run whose extensions may ask. By the token its supervisor knows this session. */
export interface AskingRun {
	readonly runId: string;
	readonly label: string;
	readonly token: string;
}

/** A question that waits for the person. */
export interface OpenQuestion {
	readonly run: Pick<AskingRun, "runId" | "label">;
	readonly question: Question;
}

/** What extensions of sub-agents ask the person of this session: one question at a time, over all runs. */
export interface Questions {
	/** Those that are open, the oldest first. */
	readonly open: readonly OpenQuestion[];
	/** Answers the run's questions over this connection for as long as it is open. To be called before the run has its task. */
	attend(run: AskingRun, control: ControlClient): void;
	/** The first answer counts. */
	answer(question: OpenQuestion, reply: Reply): void;
	/** Calls the listener whenever a question comes or goes. Returns how to leave. */
	subscribe(listener: () => void): () => void;
	/** The fleet view is open: questions are answered there. Returns how to give them back. */
	takeOver(): () => void;
	/** The person has pressed a key. */
	keyPressed(): void;
	/** The session ends: those who asked are denied when the connections to their runs close. */
	clear(): void;
}

export interface QuestionPort {
	/** Has the person answer. The signal is aborted when that is not wanted any more. */
	show(question: OpenQuestion, others: () => number, signal: AbortSignal): Promise<Reply>;
	/** A question was not answered in time: `keyPressed` is to be called when somebody is there again. */
	onAway(): void;
}

interface Waiting extends OpenQuestion {
	/** Over which the answer goes: a run that moves to the background is attended over another connection. */
	via: ControlClient;
	readonly token: string;
	/** Aborted when the question is closed. */
	readonly closed: AbortController;
}

export function createQuestions(port: QuestionPort): Questions {
	let waiting: readonly Waiting[] = [];
	/** What attends anew when a key is pressed. */
	const away = new Set<() => void>();
	const listeners = new Set<() => void>();
	const changed = () => {
		screen.showNext();
		for (const listener of [...listeners]) listener();
	};
	const remove = (closes: (each: Waiting) => boolean) => {
		const closed = waiting.filter(closes);
		if (closed.length === 0) return;
		waiting = waiting.filter((each) => !closed.includes(each));
		for (const each of closed) each.closed.abort();
		changed();
	};
	const answer = (asked: OpenQuestion, reply: Reply) => {
		const found = waiting.find((each) => isSame(each, asked));
		found?.via.send({ type: "answer", id: found.question.id, reply, token: found.token });
		remove((each) => each === found);
	};
	const screen = createScreen(port, () => waiting, answer);
	const take = (run: AskingRun, question: Question, via: ControlClient) => {
		const known = waiting.find((each) => isSame(each, { run, question }));
		if (known) known.via = via;
		else {
			waiting = [...waiting, { run, question, token: run.token, via, closed: new AbortController() }];
			changed();
		}
	};
	return {
		get open() {
			return waiting;
		},
		attend(run, control) {
			const again = () => control.send({ type: "attend", token: run.token });
			const onWithdrawn = (withdrawn: Extract<Answer, { type: "withdrawn" }>) => {
				remove((each) => isSame(each, { run, question: withdrawn }));
				if (!withdrawn.timedOut) return;
				away.add(again);
				port.onAway();
			};
			const onGone = () => {
				leave();
				away.delete(again);
				remove(({ via }) => via === control);
			};
			const leave = control.listen((said) => {
				if (!said) return onGone();
				if (said.type === "withdrawn") return onWithdrawn(said);
				const question = said.type === "question" ? parseQuestion(said.question) : undefined;
				if (question) take(run, question, control);
			});
			again();
		},
		answer,
		subscribe(listener) {
			listeners.add(listener);
			return () => void listeners.delete(listener);
		},
		takeOver: screen.takeOver,
		keyPressed() {
			for (const attendAgain of away) attendAgain();
			away.clear();
		},
		clear() {
			away.clear();
			remove(() => true);
		},
	};
}

/** Shows the oldest question, and no other before that is answered or closed. */
function createScreen(
	{ show }: QuestionPort,
	waiting: () => readonly Waiting[],
	answer: (question: OpenQuestion, reply: Reply) => void,
) {
	/** Aborted when the question that is shown is to disappear. */
	let shown: AbortController | undefined;
	let takenOver = 0;
	const showNext = () => {
		const [question] = waiting();
		if (shown || takenOver > 0 || !question) return;
		const hide = new AbortController();
		shown = hide;
		const signal = AbortSignal.any([hide.signal, question.closed.signal]);
		const settle = (reply: Reply) => {
			shown = undefined;
			if (signal.aborted) showNext();
			else answer(question, reply);
		};
		show(question, () => waiting().length - 1, signal).then(settle, () => settle(null));
	};
	return {
		showNext,
		takeOver() {
			takenOver++;
			shown?.abort();
			return () => {
				takenOver--;
				showNext();
			};
		},
	};
}

/** Each run names its own questions. */
const isSame = (one: Named, other: Named): boolean =>
	one.run.runId === other.run.runId && one.question.id === other.question.id;

interface Named {
	readonly run: { readonly runId: string };
	readonly question: { readonly id: string };
}
