import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { findDefinition } from "../../src/definitions/lookup.ts";
import { createLibrarySetup, type LibrarySetup } from "./library-setup.ts";

let setup: LibrarySetup;
beforeEach(() => {
	setup = createLibrarySetup();
});
afterEach(() => setup.dispose());

const fileWith = (output: string) => `---\nname: x\ndescription: d\noutput: ${output}\n---\n`;

/** The schema of the definition with this `output`, or why it cannot be used. */
function outputOf(output: string, place = "agent/prompts"): unknown {
	setup.write(`${place}/x.md`, fileWith(output));
	setup.wait(10_000);
	const found = findDefinition(setup.load({ flag: "approve" }), "agent", "x");
	return found.ok ? found.value.output : found.error.message.replaceAll(setup.root, "~");
}

describe("the schema of an agent's answers", () => {
	test("It stands in the definition, in YAML of any style, or in a file beside it", () => {
		const schema = { type: "object", required: ["n"], properties: { n: { type: "integer" } } };
		const block = "\n  type: object\n  required: [n]\n  properties:\n    n:\n      type: integer";
		assert.deepEqual(outputOf(block), schema);
		assert.deepEqual(outputOf(JSON.stringify(schema)), schema);
		setup.write("agent/schemas/x.json", JSON.stringify({ $schema: "http://x", $id: "http://y", ...schema }));
		assert.deepEqual(outputOf("../schemas/x.json"), schema, "without what names the schema itself");
		assert.deepEqual(outputOf("../schemas/x.json", "agent/subagents"), schema, "in any of our own directories");
		assert.equal(outputOf(""), undefined);
	});

	test("A file that changes is read again, and one that breaks makes its definition unusable", () => {
		setup.write("agent/prompts/x.json", '{"type":"string"}');
		assert.deepEqual(outputOf("x.json"), { type: "string" });
		setup.write("agent/prompts/x.json", '{"type":"null"}');
		assert.deepEqual(outputOf("x.json"), { type: "null" });
		setup.write("agent/prompts/x.json", '{"type":');
		assert.match(String(outputOf("x.json")), /:4: output names x\.json, which is not JSON$/);
	});

	test("References within a schema are followed, all others refused", () => {
		const tree = {
			$defs: { node: { properties: { next: { $ref: "#/$defs/node" }, up: { $ref: "#" } } } },
			$ref: "#/$defs/node",
		};
		assert.deepEqual(outputOf(JSON.stringify(tree)), tree);
		for (const ref of ["#/$defs/nobody", "http://127.0.0.1/x.json", "other.json", "#anchor", "#/$defs"]) {
			const schema = { $defs: {}, items: { $ref: ref } };
			const told = outputOf(JSON.stringify(ref === "#/$defs" ? { items: { $ref: "#/$defs/x/y" } } : schema));
			assert.match(String(told), /output must be a JSON Schema: nothing in it is called "/, ref);
		}
		assert.deepEqual(
			outputOf('{"const": {"$ref": "nobody"}}'),
			{ const: { $ref: "nobody" } },
			"a value is no reference",
		);
	});

	test("What is no schema, or too large, makes the definition unusable and says why", () => {
		for (const [output, reason] of [
			["5", "must be a JSON Schema: an object"],
			["[string]", "must be a JSON Schema: an object"],
			["{type: strin}", "must be a JSON Schema: type must"],
			["{type: object, properties: [a]}", "must be a JSON Schema: properties must be object"],
			["{properties: {a: {type: text}}}", "must be a JSON Schema: properties/a/type must"],
			["{required: a}", "must be a JSON Schema: required must be array"],
			["{items: {enum: []}}", "must be a JSON Schema: items"],
			["{minLength: -1}", "must be a JSON Schema: minLength must"],
			["{properties: {a: {pattern: '('}}}", "must be a JSON Schema: Invalid regular expression"],
			["&a {not: *a}", "must be a JSON Schema"],
			["nobody.json", "names nobody.json, which leads nowhere"],
			["..", "names .., which is not a file"],
		] as const) {
			const told = String(outputOf(output));
			assert.ok(told.includes(`The agent "x" cannot be used: ~/agent/prompts/x.md`), told);
			assert.ok(told.includes(`output ${reason}`), `${output}: ${told}`);
		}
		const large = (length: number) => JSON.stringify({ description: "x".repeat(length - 18) });
		setup.write("agent/prompts/x.json", large(32 * 1024));
		assert.equal(typeof outputOf("x.json"), "object");
		setup.write("agent/prompts/x.json", large(32 * 1024 + 1));
		assert.match(String(outputOf("x.json")), /output names x\.json, which is larger than 32 KB$/);
	});

	test("A project's definition names no file outside of the project", () => {
		setup.write("agent/secret.json", '{"type":"string"}');
		setup.write("project/schemas/x.json", '{"type":"string"}');
		const inProject = (output: string) => outputOf(output, "project/.pi/prompts");
		assert.deepEqual(inProject("../../schemas/x.json"), { type: "string" });
		symlinkSync(join(setup.root, "agent"), join(setup.project, "linked"));
		for (const path of [
			"../../../agent/secret.json",
			"../../linked/secret.json",
			join(setup.root, "agent/secret.json"),
		]) {
			assert.match(String(inProject(path)), /which lies outside of the project$/, path);
		}
	});
});
