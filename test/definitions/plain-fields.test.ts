import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseFrontmatter } from "@earendil-works/pi-coding-agent";
import fc from "fast-check";
import { readPlainFields } from "../../src/definitions/plain-fields.ts";

const yaml = (text: string) => parseFrontmatter(`---\n${text}\n---\nbody`).frontmatter;

describe("frontmatter of plain lines", () => {
	test("What most definitions have is read without a YAML parser", () => {
		const text = 'name: code-reviewer\ndescription: "Reviews, well"\n\ntools: Read, Grep (all)\nmodel: sonnet  ';
		assert.deepEqual(readPlainFields(text), {
			name: "code-reviewer",
			description: "Reviews, well",
			tools: "Read, Grep (all)",
			model: "sonnet",
		});
	});

	test("What means something else to YAML is left to it", () => {
		for (const line of [
			"a: b: c",
			"a: b #c",
			"a: b:",
			"a: true",
			"a: Null",
			"a: 1",
			"a: .5",
			"a: [b]",
			"a: {b}",
			"a: 'b'",
			'a: "b\\n"',
			'a: "b" c',
			"a: |",
			"a: >-",
			"a: &b c",
			"a: *b",
			"a: !b",
			"a: @b",
			"a:",
			"a:b",
			" a: b",
			"- a",
			"a: b\n  c",
			"a: b\na: c",
			"# a",
			"a: b\tc",
			"__proto__: b",
			"constructor: b",
		]) {
			assert.equal(readPlainFields(line), undefined, line);
		}
	});

	test("Whatever is read has the values that YAML gives it", () => {
		const piece = fc.constantFrom(
			...[
				"a",
				"Z",
				"9",
				"-",
				"_",
				":",
				": ",
				" ",
				"#",
				" #",
				'"',
				"'",
				"\\",
				"[",
				"]",
				"{",
				"}",
				",",
				"&",
				"*",
				"!",
				"|",
			],
			...[
				">",
				"%",
				"@",
				"`",
				"~",
				"true",
				"null",
				"yes",
				".inf",
				"0x1",
				"é",
				"漢",
				"\u00a0",
				"\u2028",
				"\u0085",
				"\t",
				"\u0007",
				"😀",
			],
		);
		const value = fc.oneof(
			fc.array(piece, { maxLength: 8 }).map((parts) => parts.join("")),
			fc.string({ maxLength: 12 }),
		);
		const line = fc.tuple(fc.constantFrom("a", "name", "b-c", "d_e", "no", "y", "null", "true"), value);
		let read = 0;
		fc.assert(
			fc.property(fc.array(line, { minLength: 1, maxLength: 4 }), (lines) => {
				const text = lines.map(([key, each]) => `${key}: ${each.replaceAll(/[\n\r]/g, "")}`).join("\n");
				const plain = readPlainFields(text);
				if (plain === undefined) return;
				read++;
				assert.deepEqual({ ...plain }, yaml(text), text);
			}),
			{ numRuns: 20_000 },
		);
		assert.ok(read > 500, `only ${read} were read`);
	});
});
