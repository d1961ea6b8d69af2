import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createLineSplitter } from "../../src/domain/lines.ts";

function split(chunks: readonly Buffer[], maxBytes?: number): { lines: string[]; dropped: number } {
	const lines: string[] = [];
	const splitter = createLineSplitter((line) => lines.push(line.toString("utf8")), maxBytes);
	for (const chunk of chunks) {
		splitter.write(chunk);
		chunk.fill(0x58); // whoever gave the chunk may use it again
	}
	splitter.end();
	return { lines, dropped: splitter.dropped };
}

/** The bytes cut at the given places. */
function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
	const borders = [0, ...places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
	return borders.slice(1).map((end, index) => Buffer.from(bytes.subarray(borders[index], end)));
}

describe("lines", () => {
	test("Any text in any chunks is split on LF and on nothing else (F33, F39)", () => {
		const characters = fc.oneof(
			fc.string({ unit: "binary" }),
			fc.constantFrom("\n", "\r\n", "\n\n", "\u2028", "\u2029", "\u0085", "\0", "🎉", "é"),
		);
		const property = fc.property(fc.array(characters), fc.array(fc.nat()), (parts, places) => {
			const text = parts.join("").toWellFormed();
			const { lines, dropped } = split(cutAt(Buffer.from(text), places));
			assert.deepEqual(
				lines,
				text.split("\n").filter((line) => line !== ""),
			);
			assert.equal(dropped, 0);
		});
		fc.assert(property, { numRuns: 2_000 });
	});

	test("A character is whole at every place where its bytes can be cut (F33)", () => {
		const bytes = Buffer.from("a🎉é日\n\u2028b\n");
		for (let place = 0; place <= bytes.length; place++) {
			assert.deepEqual(split(cutAt(bytes, [place])).lines, ["a🎉é日", "\u2028b"]);
		}
	});

	test("Lines over the limit are dropped and counted, all others are kept, in any chunks (F34)", () => {
		const lineLengths = fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 20 });
		const property = fc.property(lineLengths, fc.boolean(), fc.array(fc.nat()), (lengths, ended, places) => {
			const wanted = lengths.map((length, index) => String.fromCharCode(97 + (index % 26)).repeat(length));
			const bytes = Buffer.from(wanted.join("\n") + (ended ? "\n" : ""));
			const { lines, dropped } = split(cutAt(bytes, places), 10);
			assert.deepEqual(
				lines,
				wanted.filter(({ length }) => length > 0 && length <= 10),
			);
			assert.equal(dropped, wanted.filter(({ length }) => length > 10).length);
		});
		fc.assert(property, { numRuns: 1_000 });
	});

	test("What a line that never ends takes is bounded (F34)", () => {
		let lines = 0;
		const splitter = createLineSplitter(() => lines++, 1_000);
		const chunk = Buffer.alloc(64 * 1024, 0x61);
		const before = process.memoryUsage().arrayBuffers;
		for (let round = 0; round < 2_000; round++) splitter.write(chunk);
		assert.equal(splitter.dropped, 1);
		assert.ok(process.memoryUsage().arrayBuffers - before < 100 * 1024 * 1024);
		splitter.write(Buffer.from("\nshort\n"));
		assert.equal(lines, 1);
	});

	test("What follows the last LF is a line when the input ends, once (F40)", () => {
		const lines: string[] = [];
		const splitter = createLineSplitter((line) => lines.push(line.toString()));
		splitter.write(Buffer.from("whole\nrest"));
		assert.deepEqual(lines, ["whole"]);
		splitter.end();
		splitter.end();
		assert.deepEqual(lines, ["whole", "rest"]);
	});
});
