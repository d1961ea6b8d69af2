export type Redact = (text: string) => string;

const MASK = "[redacted]";
/** Shorter values would blank out ordinary words; no provider's key is that short. */
const MIN_SECRET_CHARS = 6;
/** A tool's JSON inside a message's JSON inside a line: each level escapes the quotes and backslashes of the one below. */
const JSON_LEVELS = 4;

/** Replaces the exact secret, and the forms in which JSON, URLs and base64 write it. */
export function createRedactor(secrets: readonly string[]): Redact {
	const forms = allForms(secrets);
	return (text) => forms.reduce((clean, form) => clean.replaceAll(form, MASK), text);
}

/** The same for lines as they come: one without a secret is only looked through. */
export function createLineRedactor(secrets: readonly string[]): (line: Buffer) => Buffer {
	const forms = allForms(secrets).map((form) => Buffer.from(form));
	const redact = createRedactor(secrets);
	return (line) => (forms.some((form) => line.includes(form)) ? Buffer.from(redact(line.toString("utf8"))) : line);
}

function allForms(secrets: readonly string[]): string[] {
	const forms = new Set(secrets.filter((secret) => secret.length >= MIN_SECRET_CHARS).flatMap(formsOf));
	return [...forms].sort((a, b) => b.length - a.length);
}

function formsOf(secret: string): string[] {
	const forms = [secret];
	for (let level = 0; level < JSON_LEVELS; level++) forms.push(JSON.stringify(forms.at(-1)).slice(1, -1));
	return [...forms, encodeURIComponent(secret.toWellFormed()), base64Of(secret)];
}

/** Without the last digit, where that depends on what follows the secret: `echo $KEY | base64` has a line end in it. */
function base64Of(secret: string): string {
	const bytes = Buffer.from(secret);
	return bytes.toString("base64").slice(0, Math.floor((bytes.length * 8) / 6));
}

/** Redacts a text that comes in pieces. */
export interface StreamRedactor {
	/** What of the text so far can be told: all but an end that may be the beginning of a secret. */
	push(piece: string): string;
	/** The text is over: what was held back. */
	end(): string;
}

export function createStreamRedactor(secrets: readonly string[]): StreamRedactor {
	const forms = allForms(secrets);
	const longest = forms[0]?.length ?? 0;
	// At each place the longest form that fits: of two secrets that begin alike, the end of the longer one must not remain.
	const anyForm = forms.length === 0 ? undefined : new RegExp(forms.map(escapePattern).join("|"), "g");
	let rest = "";
	/** Tells the text before `end`, where each place is followed by enough text to see a secret that begins there. */
	const tellUpTo = (end: number): string => {
		let told = "";
		let from = 0;
		for (const { 0: form, index } of anyForm ? rest.matchAll(anyForm) : []) {
			if (index >= end) break;
			told += rest.slice(from, index) + MASK;
			from = index + form.length;
		}
		const to = Math.max(from, end);
		told += rest.slice(from, to);
		rest = rest.slice(to);
		return told;
	};
	return {
		push(piece) {
			rest += piece;
			return tellUpTo(Math.max(0, rest.length - Math.max(0, longest - 1)));
		},
		end: () => tellUpTo(rest.length),
	};
}

const escapePattern = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
