/** What an extension in a sub-agent asks the person, in the kinds of pi's own dialogs. */
export type Asked =
	| { readonly kind: "confirm"; readonly title: string; readonly message: string }
	| { readonly kind: "select"; readonly title: string; readonly options: readonly string[] }
	| { readonly kind: "input"; readonly title: string; readonly placeholder: string }
	| { readonly kind: "editor"; readonly title: string; readonly prefill: string };

/** An open question of a run. The id is unique among all questions of that run. */
export type Question = Asked & { readonly id: string };

/** What the person said; null: they said no, or nobody said anything. */
export type Reply = boolean | string | null;

/** How a question ended. `said` is the answer where it is no text of the person's own, which may be a secret. */
export type QuestionEnd =
	| { readonly kind: "answered"; readonly said: string | undefined }
	/** Whoever could have answered has left, or nobody answered in time. */
	| { readonly kind: "denied"; readonly why: "left" | "timeout" }
	/** The one who asked does not want to know any more. */
	| { readonly kind: "withdrawn" };

/** A person has to read all of it before saying yes: what is longer is denied. */
export const MAX_QUESTION_CHARS = 100_000;

/** Any process of the user can write to a socket, and a child can say anything on its lifeline. */
export function parseQuestion(value: unknown): Question | undefined {
	const { id, kind, title, message, options, placeholder, prefill } = (value ?? {}) as Record<string, unknown>;
	if (typeof id !== "string" || id === "" || typeof title !== "string") return undefined;
	if (kind === "confirm" && typeof message === "string") return { id, kind, title, message };
	if (kind === "input" && typeof placeholder === "string") return { id, kind, title, placeholder };
	if (kind === "editor" && typeof prefill === "string") return { id, kind, title, prefill };
	if (kind !== "select" || !Array.isArray(options)) return undefined;
	return options.every((option) => typeof option === "string") ? { id, kind, title, options } : undefined;
}

/** Whether this can be an answer to the question. */
export function isReplyTo(question: Question, reply: unknown): reply is Reply {
	if (reply === null) return true;
	if (question.kind === "confirm") return typeof reply === "boolean";
	if (typeof reply !== "string") return false;
	return question.kind !== "select" || question.options.includes(reply);
}

export const isTooLong = (asked: Asked): boolean => Object.values(asked).flat().join("").length > MAX_QUESTION_CHARS;

/** The question on its own, for transcripts: `[asks]: Allow bash? rm -rf build`. */
export function questionText(question: Asked): string {
	const more =
		question.kind === "confirm" ? question.message : question.kind === "select" ? question.options.join(" | ") : "";
	return `[asks]: ${[question.title, more].filter((part) => part !== "").join("\n")}`;
}

/** `[answered by you]: yes` */
export function questionEndText(end: QuestionEnd): string {
	if (end.kind === "withdrawn") return "[question withdrawn]";
	if (end.kind === "denied") return `[denied: ${end.why === "left" ? "nobody is there" : "nobody answered in time"}]`;
	return end.said === undefined ? "[answered by you]" : `[answered by you]: ${end.said}`;
}

/** How an answer is written down. */
export function saidOf(question: Asked, reply: Reply): string | undefined {
	if (reply === null || reply === false) return "no";
	if (question.kind === "confirm") return "yes";
	return question.kind === "select" && typeof reply === "string" ? reply : undefined;
}
