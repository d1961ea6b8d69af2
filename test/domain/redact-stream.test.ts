import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createStreamRedactor } from "../../src/domain/redact.ts";

const SECRET = "sk-test-abcdef123456";

test("X28: a secret that comes in pieces is never told, however it is cut, and all else is", () => {
	fc.assert(
		fc.property(fc.string(), fc.string(), fc.array(fc.nat(30), { maxLength: 60 }), (before, after, cuts) => {
			fc.pre(!before.includes("[redacted]") && !after.includes("[redacted]"));
			const whole = `${before}${SECRET}${after}`;
			const redactor = createStreamRedactor([SECRET]);
			let told = "";
			let from = 0;
			for (const length of [...cuts, whole.length]) {
				told += redactor.push(whole.slice(from, from + length));
				from += length;
			}
			told += redactor.end();
			assert.equal(told, `${before}[redacted]${after}`);
		}),
	);
});
