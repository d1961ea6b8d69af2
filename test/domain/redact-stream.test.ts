import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createStreamRedactor } from "../../src/domain/redact.ts";

const SECRETS = ["sk-test-abcdef123456", 'with "quotes" and \\ slashes', "ünïcödé kéy ☃ 123", '"""""""\\\\\\'];
const nested = (secret: string, levels: number): string =>
	levels === 0 ? secret : JSON.stringify(nested(secret, levels - 1)).slice(1, -1);
const FORMS: readonly ((secret: string) => string)[] = [
	...[0, 1, 2, 3, 4].map((levels) => (secret: string) => nested(secret, levels)),
	encodeURIComponent,
];

/** What is told of a text that comes in pieces of these lengths. */
function tell(whole: string, secrets: readonly string[], cuts: readonly number[]): string {
	const redactor = createStreamRedactor(secrets);
	let told = "";
	let from = 0;
	for (const length of [...cuts, whole.length]) {
		told += redactor.push(whole.slice(from, from + length));
		from += length;
	}
	return told + redactor.end();
}

test("A secret that arrives in pieces is never told, in whichever form and however it is cut; all else is [X28]", () => {
	const surroundings = fc.string().filter((text) => !/[\\"[]/.test(text));
	fc.assert(
		fc.property(
			...([surroundings, surroundings, fc.constantFrom(...SECRETS), fc.constantFrom(...FORMS)] as const),
			fc.array(fc.nat(30), { maxLength: 60 }),
			(before, after, secret, form, cuts) => {
				const whole = `${before}${form(secret)}${after}`;
				assert.equal(tell(whole, [secret], cuts), `${before}[redacted]${after}`);
			},
		),
		{ numRuns: 1_000 },
	);
});

test("The longest form of a secret is held back whole, character by character [X28]", () => {
	for (const secret of SECRETS) {
		for (const form of FORMS) {
			const whole = form(secret);
			assert.equal(
				tell(
					`${whole}.`,
					[secret],
					Array.from(whole, () => 1),
				),
				"[redacted].",
				whole,
			);
		}
	}
});

test("Of two secrets that begin alike the longer one is not told in part [X28]", () => {
	for (let cut = 0; cut < 12; cut++) assert.equal(tell("abcdefghi!", ["abcdef", "abcdefghi"], [cut]), "[redacted]!");
});

test("Text that cannot be the beginning of a secret is not held back, and without a secret none is", () => {
	assert.equal(createStreamRedactor([]).push("at once"), "at once");
	assert.equal(createStreamRedactor(["abc"]).push("too short to be a key: abc"), "too short to be a key: abc");
	const redactor = createStreamRedactor(["0123456789"]);
	assert.equal(redactor.push("x".repeat(100)).length, 88, "its base64 has 13 characters");
});
