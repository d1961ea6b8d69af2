export type Redact = (text: string) => string;

const MASK = "[redacted]";
/** Shorter values would blank out ordinary words; no provider's key is that short. */
const MIN_SECRET_CHARS = 6;

/** Replaces the exact secret, and the forms in which JSON, URLs and base64 write it. */
export function createRedactor(secrets: readonly string[]): Redact {
	const forms = new Set(
		secrets
			.filter((secret) => secret.length >= MIN_SECRET_CHARS)
			.flatMap((secret) => [
				secret,
				JSON.stringify(secret).slice(1, -1),
				encodeURIComponent(secret),
				Buffer.from(secret).toString("base64").replace(/=+$/, ""),
			]),
	);
	if (forms.size === 0) return (text) => text;
	const ordered = [...forms].sort((a, b) => b.length - a.length);
	return (text) => ordered.reduce((clean, form) => clean.replaceAll(form, MASK), text);
}
