import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { nearestNames } from "../../src/domain/nearest-names.ts";

const many = Array.from({ length: 1_000 }, (_, at) => `agent-${String(at).padStart(4, "0")}`);

describe("what there is, for whoever asked for a name that there is not", () => {
	test("The three nearest names come first, then the others in their order", () => {
		const names = ["architect", "builder", "code-review", "docs", "reviewer", "tester", "view"];
		assert.equal(nearestNames("reviewr", names), "reviewer, code-review, view, architect, builder, docs, tester");
	});

	test("Thirty names at most, and how many there are besides", () => {
		const text = nearestNames("reviewr", [...many, "reviewer"]);
		assert.ok(text.startsWith("reviewer, "));
		assert.ok(text.endsWith(" and 971 more"));
		assert.equal(text.split(", ").length, 30);
	});

	test("No name is cut in half, however long it is, and the text stays short", () => {
		const long = fc.array(
			fc.string({ minLength: 1, maxLength: 4_000 }).map((text) => text.replaceAll(/[, ]/g, "_")),
			{
				maxLength: 60,
			},
		);
		fc.assert(
			fc.property(fc.string({ maxLength: 100_000 }), long, (asked, names) => {
				const text = nearestNames(asked, names);
				assert.ok(text.length < 3_500, `${text.length} characters`);
				const shown = text.replace(/(?:^| and )\d+ more$| and \d+ more$/, "").split(", ");
				for (const name of shown.filter((each) => each !== "")) assert.ok(names.includes(name), name);
			}),
			{ numRuns: 200 },
		);
	});

	test("Where nothing looks like it, the names keep their order; where there is none, there is no text", () => {
		assert.equal(nearestNames("z", ["x", "y"]), "x, y");
		assert.equal(nearestNames("z", []), "");
	});
});
