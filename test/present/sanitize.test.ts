import assert from "node:assert/strict";
import { test } from "node:test";
import xterm from "@xterm/headless";
import fc from "fast-check";
import { columnsOf } from "../../src/present/fit.ts";
import { sanitize, sanitizeLine } from "../../src/present/sanitize.ts";

const ESC = "\u001b";
const ST = `${ESC}\\`;

/** What a terminal did with a text besides printing it. */
async function effectsOf(text: string) {
	const terminal = new xterm.Terminal({ cols: 80, rows: 10, allowProposedApi: true });
	const effects: string[] = [];
	terminal.onTitleChange((title) => effects.push(`title ${title}`));
	terminal.onBell(() => effects.push("bell"));
	terminal.onData((answer) => effects.push(`answer ${JSON.stringify(answer)}`));
	for (const code of [0, 2, 4, 8, 52, 133, 777, 1337]) {
		terminal.parser.registerOscHandler(code, (data) => {
			effects.push(`osc ${code} ${data}`);
			return false;
		});
	}
	await new Promise<void>((resolve) => terminal.write("first\r\n", resolve));
	await new Promise<void>((resolve) => terminal.write(text, resolve));
	const { active } = terminal.buffer;
	const seen = {
		effects,
		first: active.getLine(0)?.translateToString(true),
		second: active.getLine(1)?.translateToString(true),
		row: active.cursorY,
		column: active.cursorX,
	};
	terminal.dispose();
	return seen;
}

const ATTACKS: [name: string, text: string, printed: string][] = [
	["OSC 52 sets the clipboard", `a${ESC}]52;c;ZXZpbA==\u0007b`, "ab"],
	["OSC 52 with ST", `a${ESC}]52;c;ZXZpbA==${ST}b`, "ab"],
	["OSC 52 with C1", "a\u009d52;c;ZXZpbA==\u009cb", "ab"],
	["OSC 0 sets the title", `a${ESC}]0;owned\u0007b`, "ab"],
	["OSC 8 hides where a link goes", `${ESC}]8;;http://evil${ST}safe${ESC}]8;;${ST}`, "safe"],
	["OSC that is never closed", `a${ESC}]0;owned`, "a"],
	["OSC that the next sequence ends", `a${ESC}]0;owned${ESC}[1mb`, "ab"],
	["CSI clears the screen", `a${ESC}[2J${ESC}[3J${ESC}[Hb`, "ab"],
	["CSI with C1", "a\u009b2Jb", "ab"],
	["CSI moves the cursor", `a${ESC}[5A${ESC}[10Cb`, "ab"],
	["CSI in two halves", `a${ESC}${ESC}[1m[2Jb`, "a[2Jb"],
	["DSR asks for an answer", `a${ESC}[6n${ESC}[c${ESC}[0cb`, "ab"],
	["DCS", `a${ESC}P+q544e${ST}b`, "ab"],
	["DCS with C1", "a\u0090$qm\u009cb", "ab"],
	["APC, PM, SOS", `a${ESC}_x${ST}${ESC}^y${ST}${ESC}Xz${ST}b`, "ab"],
	["RIS", `a${ESC}cb`, "ab"],
	["a bare ESC at the end", `ab${ESC}`, "ab"],
	["BEL, BS, DEL, NUL", "a\u0007\b\b\b\u007f\u0000b", "ab"],
	["SO and SI change the character set", "a\u000eb\u000f", "ab"],
	["RLO and isolates", "a\u202e\u2066\u2069\u200f\u061cb", "ab"],
	["zero width and fillers", "a\u200b\u2060\u00ad\ufeff\u3164\u{e0041}b", "ab"],
	["alternate screen", `a${ESC}[?1049hb`, "ab"],
];

for (const [name, attack, printed] of ATTACKS) {
	test(`${name} (S22)`, async () => {
		assert.equal(sanitize(attack), printed);
		const seen = await effectsOf(sanitize(attack));
		const column = printed.length;
		assert.deepEqual(seen, { effects: [], first: "first", second: printed, row: 1, column });
	});
}

test("The emulator would have seen what is taken out (E16)", async () => {
	const seen = await effectsOf(`a${ESC}]52;c;ZXZpbA==\u0007${ESC}]0;owned\u0007${ESC}[6n${ESC}[2J\u0007`);
	assert.deepEqual(seen.effects, ["osc 52 c;ZXZpbA==", "osc 0 owned", "title owned", 'answer "\\u001b[2;2R"', "bell"]);
	assert.equal(seen.first, "");
});

test("Lines, tabs, and what scripts and emoji are made of stay (S22)", () => {
	const kept = "a\tb\nc\n👩‍👩‍👧 ❤️ é é 日本語 नमस्ते می‌خواهم שלום";
	assert.equal(sanitize(kept), kept);
	assert.equal(sanitize("a\r\nb\rc\u2028d"), "a\nb\nc\nd");
	assert.equal(sanitize("half \ud83d of a pair"), "half \ufffd of a pair");
	assert.equal(sanitizeLine(" a \r\n\t b\u001b[1m "), "a b");
});

test("Whatever comes, only printable text is left, and it takes the columns that were counted (S22)", async () => {
	const pieces = fc.constantFrom(
		...[ESC, "[", "]", "52;", "\u0007", ST, "\u009b", "\u009d", "\u0090", "\b", "\r", "m", "2J", "P", "_", "^", "X"],
		...["a", "é", "日", "👍", "\u0301", "\u200d", "\u202e", "\u200b", "\ufe0f", "\u0000", "\ud800", ";", "?25l"],
	);
	const check = fc.asyncProperty(fc.array(pieces, { maxLength: 24 }), async (parts) => {
		const clean = sanitizeLine(parts.join(""));
		assert.doesNotMatch(clean, /[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069\u200b]/u);
		const seen = await effectsOf(clean);
		assert.deepEqual([seen.effects, seen.first, seen.row], [[], "first", 1]);
		assert.equal(sanitizeLine(clean), clean);
	});
	await fc.assert(check, { numRuns: 300 });
});

test("The columns that are counted are the columns that a terminal uses", async () => {
	for (const text of ["plain", "日本語", "한국어 텍스트", "é è", "e\u0301", "✓ ✗ • → │ …", "ﾊﾝｶｸ"]) {
		assert.equal((await effectsOf(text)).column, columnsOf(text), text);
	}
});
