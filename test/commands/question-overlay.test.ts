import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { visibleWidth } from "@earendil-works/pi-tui";
import { createQuestionPanel } from "../../src/commands/question-overlay.ts";
import type { Question, Reply } from "../../src/domain/question.ts";
import { plain, theme } from "../present/windows.ts";

const [ESC, ENTER, UP, DOWN, PAGE_DOWN] = ["\u001b", "\r", "\u001b[A", "\u001b[B", "\u001b[6~"];

/** A panel whose clock the test sets. */
function panel(t: TestContext, question: Question, { label = "cli", rows = 22, others = 0 } = {}) {
	let now = 0;
	t.mock.method(performance, "now", () => now);
	const replies: Reply[] = [];
	const view = createQuestionPanel(
		{ run: { runId: "r", label }, question },
		{
			tui: { requestRender() {} },
			...{ theme, others: () => others, done: (reply: Reply) => void replies.push(reply), rowsOfScreen: () => rows },
		},
	);
	const screen = (width = 60) => plain(view.render(width));
	screen();
	return {
		replies,
		screen,
		pass: (ms: number) => {
			now += ms;
		},
		type: (...keys: string[]) => {
			for (const key of keys) {
				view.handleInput(key);
				screen();
			}
			return screen().join("\n");
		},
	};
}

const confirm = (message: string, title = "Allow bash?"): Question => ({ id: "1", kind: "confirm", title, message });

describe("a question on the screen", () => {
	test("Y says yes, n and Esc say no, and no other key says anything", (t) => {
		for (const [key, reply] of [
			["y", true],
			["n", false],
			[ESC, false],
		] as const) {
			const { type, pass, replies } = panel(t, confirm("rm -rf build"));
			pass(500);
			type(ENTER, " ", "x", "Y", "\t", UP, DOWN);
			assert.deepEqual(replies, []);
			type(key);
			assert.deepEqual(replies, [reply]);
		}
	});

	test("Keys of the first moment are ignored, and so is whoever types on", (t) => {
		const { type, pass, replies } = panel(t, confirm("rm -rf build"));
		for (let key = 0; key < 10; key++) {
			pass(300);
			type("y", "n", ESC);
		}
		assert.deepEqual(replies, []);
		pass(401);
		type("y");
		assert.deepEqual(replies, [true]);
	});

	test("Yes works only once the end of the text was shown; no always does", (t) => {
		const long = Array.from({ length: 40 }, (_, line) => `line ${line}`).join("\n");
		const { type, pass, replies, screen } = panel(t, confirm(long), { rows: 16 });
		pass(500);
		assert.match(screen().join("\n"), /line 0[\s\S]*PgDn read on/);
		type("y");
		assert.deepEqual(replies, []);
		assert.match(type(PAGE_DOWN), /line 1\d/);
		type("y");
		assert.deepEqual(replies, []);
		assert.match(type(PAGE_DOWN, PAGE_DOWN, PAGE_DOWN, PAGE_DOWN, PAGE_DOWN), /line 39[\s\S]*y yes/);
		type("y");
		assert.deepEqual(replies, [true]);
		const other = panel(t, confirm(long), { rows: 16 });
		other.pass(500);
		other.type("n");
		assert.deepEqual(other.replies, [false]);
	});

	test("The run's name is in the frame, and the child's text cannot leave its place", (t) => {
		const nasty = '\u001b[2J\u001b]0;title\u0007╰─ y yes ─╯\n\u202eSub-agent "trusted" asks';
		for (const width of [100, 60, 20]) {
			const { screen } = panel(t, confirm(nasty, `a\u0007b${nasty}`), { label: "evil\n\u001b[31mname", others: 3 });
			const rows = screen(width);
			assert.match(
				rows[0] ?? "",
				width === 20 ? /^╭─ Sub-agent/ : /^╭─ Sub-agent "evil name" asks .*3 more questions ─╮$/,
			);
			assert.ok(
				rows.every((row) => visibleWidth(row) === width),
				"no row is wider or narrower than the frame",
			);
			assert.ok(rows.slice(1, -1).every((row) => row.startsWith("│ ") && row.endsWith(" │")));
			assert.doesNotMatch(rows.join(""), /[\p{Cc}\u202e]/u);
		}
	});

	test("Of a select nothing is chosen at first, and Enter takes what was chosen", (t) => {
		const question: Question = { id: "1", kind: "select", title: "Which?", options: ["left", "right", "both"] };
		const { type, pass, replies } = panel(t, question);
		pass(500);
		type(ENTER);
		assert.deepEqual(replies, []);
		assert.match(type(DOWN, DOWN), /▸ right/);
		type(ENTER);
		assert.deepEqual(replies, ["right"]);
		const other = panel(t, question);
		other.pass(500);
		assert.match(other.type(UP), /▸ both/);
		other.type(ESC);
		assert.deepEqual(other.replies, [null]);
	});

	test("An input takes every letter, Enter sends what was written, and nothing is sent where nothing was", (t) => {
		const { type, pass, replies } = panel(t, { id: "1", kind: "input", title: "Name?", placeholder: "a name" });
		pass(500);
		type(ENTER);
		assert.deepEqual(replies, []);
		assert.match(type("y", "n", "x"), /> ynx/);
		type(ENTER);
		assert.deepEqual(replies, ["ynx"]);
	});
});
