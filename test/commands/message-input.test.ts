import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { stripTerminalSequences, visibleWidth } from "@earendil-works/pi-tui";
import { createMessageInput } from "../../src/commands/message-input.ts";

const paste = (text: string) => `\u001b[200~${text}\u001b[201~`;

describe("the input of a message", () => {
	test("Every control character that is pasted arrives as it is, and none of them reaches the terminal", () => {
		const controls = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).join("");
		const pasted = `${controls}\u202eabc\u200b é🦊`;
		const input = createMessageInput();
		input.handleInput("a");
		input.handleInput(paste(pasted));
		input.handleInput("z");
		assert.equal(input.text(), `a${pasted}z`);
		for (const width of [20, 60, 400]) {
			const [row = ""] = input.render(width);
			const shown = stripTerminalSequences(row);
			assert.doesNotMatch(shown, /\p{Cc}|\u202e|\u200b/u);
			assert.equal(visibleWidth(row), width);
		}
		assert.match(stripTerminalSequences(input.render(400)[0] ?? ""), /␉↵␋␌↵.*␛␜.*~␡�/);
	});

	test("10,000 characters in pieces, with a line end at the piece's end, stay in order", () => {
		const pasted = `${"line\r\n\t".repeat(2_000)}`.slice(0, 10_000);
		const whole = paste(pasted);
		const input = createMessageInput();
		for (let at = 0; at < whole.length; at += 997) input.handleInput(whole.slice(at, at + 997));
		input.handleInput("\u007f");
		assert.equal(input.text(), pasted.slice(0, -1));
		assert.equal(input.render(60).length, 1);
	});
});
