import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { background, setUp } from "../e2e/background-setup.ts";
import { status, text, toolCalls } from "../rig/model-server.ts";
import { startPiTerminal } from "../rig/pi-terminal.ts";
import { terminalMissing } from "../rig/terminal.ts";
import { EXTENSION, setupFor } from "./setup.ts";

const ESC = "\u001b";
/** Sets the title, fills the clipboard, clears the screen, asks the terminal, reorders text. */
const HOSTILE = `${ESC}]0;OWNED${ESC}\\${ESC}]52;c;T1dORUQ=\u0007${ESC}[2J${ESC}[6n${ESC}P+q544e${ESC}\\\u009b31m\u202ereversed\b\b\b`;
/** All that is not printable, but for line ends. */
const CONTROLS = /[^\P{C}\n]/u;

describe("text that somebody else wrote, on its way to the person", { concurrency: 2 }, () => {
	test("Names of files, definitions, settings, errors and answers are printable in every notice and list (S23)", async (t) => {
		const { home, script, person, release, entries } = await setUp(t, {
			settings: { subagents: { runner: `tmux${HOSTILE}`, families: [HOSTILE], runsIn: "project" } },
		});
		const profiles = join(home.agentDir, "agent-profiles");
		home.write(join(profiles, `broken${ESC}]0;OWNED\u0007.md`), "---\nname: [\n---\n");
		const escaped = JSON.stringify(`it says ${HOSTILE}`);
		home.write(
			join(profiles, "loud.md"),
			`---\nname: loud\ndescription: ${escaped}\nmodel: ${escaped}\n---\n${HOSTILE}`,
		);
		// A project in which no run can be kept: the warning names its path.
		const cwd = join(home.root, `odd${ESC}]0;OWNED\u0007`);
		home.write(join(cwd, ".pi", "subagents"), "a file");
		const someone = person({ cwd });
		script(background(`look ${HOSTILE}`), { name: "list_subagent_profiles", args: {} });
		const [, list] = await someone.ask("begin");
		const runId = String(entries("pi-subagents:bg-run")[0]?.runId);
		release(`look ${HOSTILE}`);
		await someone.pi.waitForEvent(() => someone.shown("notify").some((each) => each.includes(runId)));
		for (const command of [
			"/profile list",
			"/profile show loud",
			`/profile show no${HOSTILE}`,
			"/subagents",
			`/subagents stop ${HOSTILE}`,
		]) {
			await someone.tell({ type: "prompt", message: command });
		}
		const told = [...someone.shown("notify"), ...someone.shown("setStatus"), list?.text ?? ""];
		for (const part of ["broken.md", "families", "are kept in", "it says", runId, "Unknown profile", "Unknown run"]) {
			assert.ok(
				told.some((each) => each.includes(part)),
				`${part} was not told: ${JSON.stringify(told)}`,
			);
		}
		for (const each of told) assert.doesNotMatch(each, CONTROLS);
		const stderr = await someone.leave();
		assert.doesNotMatch(stderr, CONTROLS);
	});

	test("In a real terminal a sub-agent's words change neither title nor screen, whether it answers or fails (S22)", {
		skip: terminalMissing() ?? false,
	}, async (t) => {
		const { home, server } = await setupFor(t);
		const tasks = ["answers", "fails"].map((name) => ({ name: `${name}${HOSTILE}`, prompt: name }));
		server.use((request) => {
			if (request.lastUser === "answers") return text(`words before ${HOSTILE} words after`);
			if (request.lastUser === "fails") return status(400, { error: { message: `no ${HOSTILE} key` } });
			return request.turn === 0 ? toolCalls([{ name: "delegate_to_subagents", args: { tasks } }]) : text("it is over");
		});
		const terminal = await startPiTerminal(home, { extension: EXTENSION, rows: 40 });
		try {
			await terminal.type("delegate");
			await terminal.sendKeys("Enter");
			await terminal.waitFor("it is over");
			await terminal.sendKeys("C-o");
			const screen = await terminal.waitFor(/words before.*words after/);
			assert.match(screen, /^ delegate$/m, "it was not cleared");
			assert.match(screen, /✓ answersreversed +words before reversed words after[\s\S]*✗ failsreversed/);
			assert.doesNotMatch(screen, /\u202e/);
			assert.doesNotMatch(await terminal.waitForTitle(/^π/), /OWNED/);
		} finally {
			await terminal.dispose();
		}
	});
});
