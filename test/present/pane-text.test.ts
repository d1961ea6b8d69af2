import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ChatMessage, RunEvent } from "../../src/domain/event.ts";
import { createPaneText, paneEnd, paneTitle } from "../../src/present/pane-text.ts";

const assistant = (...content: object[]): RunEvent => ({
	type: "message",
	message: { role: "assistant", content } as unknown as ChatMessage,
});
const said = (text: string) => ({ type: "text", text });
const called = (name: string) => ({ type: "toolCall", id: "1", name, arguments: {} });
const shown = (...events: RunEvent[]) => {
	const text = createPaneText();
	return events.map(text).join("");
};
const deltas = (...texts: string[]): RunEvent[] => texts.map((text) => ({ type: "delta", text }));

describe("what a pane shows", () => {
	test("An answer is shown as it is written, and not again when it is whole", () => {
		assert.equal(
			shown(...deltas("Let ", "me"), assistant(said("Let me see."), called("ls"))),
			"Let me see.\n→ ls: {}\n",
		);
		assert.equal(shown(...deltas("a"), assistant(said("a")), ...deltas("b"), assistant(said("b"))), "a\nb\n");
	});

	test("An answer that turns out to be another is shown whole on a line of its own", () => {
		assert.equal(
			shown(...deltas("first", "second"), assistant(said("first"), said("second"))),
			"firstsecond\nfirst\nsecond\n",
		);
	});

	test("An answer that was not told in pieces is shown when it is whole", () => {
		assert.equal(shown(assistant(said("x"))), "x\n");
	});

	test("A run that broke off says so", () => {
		assert.match(paneEnd(undefined), /^\n✗ failed — Sub-agent was lost/);
	});

	test("A title is one short line without anything that tmux would read", () => {
		assert.equal(paneTitle("C# \n#{x}"), "C♯ ♯{x}");
		assert.equal(paneTitle("x".repeat(200)).length, 60);
		assert.equal(paneTitle(" \n"), "sub-agent");
	});

	test("What a run is sent is shown where it received it, with its sender and without what a terminal obeys", () => {
		const steer = { id: "1", text: "\u001b[31mred", when: "turn-end" } as const;
		const text = createPaneText();
		assert.equal(text({ type: "steer-queued", at: 1, steer, from: "process" }), "");
		assert.equal(text({ type: "steer-received", ids: ["1"] }), "[message from another process of yours]: red\n");
	});
});
