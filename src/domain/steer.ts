/** The type of the custom message by which the child's model receives a steer; its details name the ids. */
export const STEER_MESSAGE = "pi-subagents.steer";

/** No person writes more, and every viewer keeps it in memory. */
export const MAX_STEER_CHARS = 1_000_000;

/** A text that somebody sends to a running sub-agent. */
export interface Steer {
	readonly id: string;
	/** Reaches the model exactly as it is. */
	readonly text: string;
	/** `now` interrupts what the sub-agent is doing; `while-working` never makes it go on after its last answer. */
	readonly when: "turn-end" | "now" | "while-working";
}

/**
 * What is proven of a steer's sender. `session` and `model` know the secret of the parent that started the run: its person, and
 * its model. All that is known of `process` is that it belongs to the same user. `limit` is the run's own supervisor.
 */
export type Sender = "session" | "model" | "process" | "limit";

/** What became of a steer. */
export type Receipt =
	| { readonly kind: "queued" }
	/** In which turn of the sub-agent its model received it. */
	| { readonly kind: "delivered"; readonly turn: number }
	/** The run ended first. */
	| { readonly kind: "undelivered" };

/** A steer as the run's state has it. */
export interface SentSteer extends Steer {
	readonly from: Sender;
	readonly receipt: Receipt;
}

const MAX_STEERS = 200;

export const withSteer = (steers: readonly SentSteer[], steer: SentSteer): readonly SentSteer[] =>
	[...steers, steer].slice(-MAX_STEERS);

/** Marks these as delivered. One that was delivered before keeps its turn. */
export const delivered = (
	steers: readonly SentSteer[],
	ids: readonly string[],
	turn: number,
): { readonly steers: readonly SentSteer[]; readonly now: readonly SentSteer[] } => {
	const isNow = ({ id, receipt }: SentSteer) => ids.includes(id) && receipt.kind === "queued";
	const received = (steer: SentSteer): SentSteer => ({ ...steer, receipt: { kind: "delivered", turn } });
	return {
		now: steers.filter(isNow).map(received),
		steers: steers.map((steer) => (isNow(steer) ? received(steer) : steer)),
	};
};

/** When a run ends, what its model has not received never will be. */
export const undelivered = (steers: readonly SentSteer[]): readonly SentSteer[] =>
	steers.map((steer) => (steer.receipt.kind === "queued" ? { ...steer, receipt: { kind: "undelivered" } } : steer));

export const SENDER_WORDS: Readonly<Record<Sender, string>> = {
	session: "your session",
	model: "the parent's model",
	process: "another process of yours",
	limit: "its time limit",
};

/** How a transcript names a steer: the model receives the bare text. */
export const steerText = ({ from, text }: Pick<SentSteer, "from" | "text">): string =>
	`[message from ${SENDER_WORDS[from]}]: ${text}`;
