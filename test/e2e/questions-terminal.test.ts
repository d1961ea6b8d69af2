import assert from "node:assert/strict";
import { test } from "node:test";
import { startPiTerminal } from "../rig/pi-terminal.ts";
import { terminalMissing } from "../rig/terminal.ts";
import { until } from "../rig/until.ts";
import { delegate, EXTENSION, type QuestionStage, questionSetup } from "./questions-setup.ts";

const skip = terminalMissing() ?? false;
/** The overlay passes over the first keys; a key that comes too early is pressed again. */
const press = async (
	terminal: Awaited<ReturnType<typeof startPiTerminal>>,
	key: string,
	seen: () => Promise<boolean>,
) =>
	await until(
		async () => {
			await new Promise((resolve) => setTimeout(resolve, 600));
			await terminal.sendKeys(key);
			await new Promise((resolve) => setTimeout(resolve, 300));
			return await seen();
		},
		`what follows ${key}`,
		20_000,
	);

async function inTerminal({ home, onClose }: QuestionStage, columns: number, rows = 26) {
	const terminal = await startPiTerminal(home, { columns, rows, extension: EXTENSION });
	onClose(() => terminal.dispose());
	await terminal.type("please delegate");
	await terminal.sendKeys("Enter");
	return terminal;
}

for (const columns of [100, 60]) {
	test(`Questions on ${columns} columns: an overlay with explicit keys that leaves the editor alone`, {
		skip,
	}, async (t) => {
		const builders = "echo one\necho select two\necho input three\necho editor four";
		const first = Promise.withResolvers<void>();
		const setup = await questionSetup(t, [delegate(["builder", builders], ["tester", "echo six"])], {}, (command) =>
			command === "echo six" ? first.promise : undefined,
		);
		const terminal = await inTerminal(setup, columns);
		const shows = async (pattern: RegExp) => pattern.test(await terminal.capture());
		await terminal.waitFor(/╭─ Sub-agent "builder" asks ─+╮/, 60_000);
		first.resolve();
		await terminal.waitFor(/╭─ Sub-agent "builder" asks ─+ 1 more question ─╮/, 30_000);
		const both = await terminal.waitFor(/2 asks[\s\S]*\? builder +asks[\s\S]*\? tester +asks/, 20_000);
		assert.match(both, /y yes · n no · esc no/);
		await terminal.sendKeys("Enter", "Space", "x");
		assert.ok(await shows(/╭─ Sub-agent/), "no other key answers");

		await press(terminal, "y", () => shows(/Sub-agent "tester" asks/));
		await press(terminal, "n", async () => !(await shows(/Sub-agent "tester" asks/)));
		await until(() => setup.heard("echo six")?.includes("the gate heard") ?? false, "no to reach its run", 20_000);

		await terminal.waitFor(/Which of two\?[\s\S]*left[\s\S]*right[\s\S]*enter take it/, 30_000);
		await press(terminal, "Down", () => shows(/▸ left/));
		await terminal.sendKeys("Down");
		await terminal.waitFor("▸ right");
		await terminal.sendKeys("Enter");
		await terminal.waitFor(/Name of three\?[\s\S]*your answer[\s\S]*enter send/, 30_000);
		await press(terminal, "A", () => shows(/> A/));
		await terminal.type("da");
		await terminal.sendKeys("Enter");
		await terminal.waitFor(/Text of four\?[\s\S]*one[\s\S]*two/, 30_000);
		await press(terminal, "Escape", async () => !(await shows(/╭─ Sub-agent/)));
		const end = await terminal.waitFor(/the parent is done/, 30_000);
		assert.doesNotMatch(end, /╭─ Sub-agent/);
		const told = setup.server.requests
			.filter(({ tools }) => !tools.includes("delegate_to_subagents"))
			.flatMap(({ messages }) => messages.filter(({ role }) => role === "tool").map(({ text }) => text));
		for (const heard of [/the gate heard "right"/, /the gate heard "Ada"/, /the gate heard undefined|the gate heard$/m])
			assert.ok(
				told.some((text) => heard.test(text)),
				String(heard),
			);
	});
}

test("What was typed stays in the editor, and yes works only once the end of the text was shown", {
	skip,
}, async (t) => {
	const words = Array.from({ length: 60 }, (_, index) => `word-${index}`).join(" ");
	const setup = await questionSetup(t, [delegate(["builder", `echo begin ${words} end-of-text`])]);
	const terminal = await inTerminal(setup, 60, 12);
	await terminal.type("half a thought");
	const begun = await terminal.waitFor(/Sub-agent "builder" asks[\s\S]*more rows below/, 60_000);
	assert.doesNotMatch(begun, /end-of-text/);
	await new Promise((resolve) => setTimeout(resolve, 600));
	await terminal.sendKeys("y");
	await new Promise((resolve) => setTimeout(resolve, 600));
	assert.match(await terminal.capture(), /Sub-agent "builder" asks/);
	await terminal.sendKeys("End");
	await terminal.waitFor(/end-of-text[\s\S]*y yes/);
	await terminal.sendKeys("y");
	const end = await terminal.waitFor(/the parent is done/, 30_000);
	assert.match(end, /half a thought/);
	assert.match(setup.heard(`echo begin ${words} end-of-text`) ?? "", /end-of-text/);
});

test("With the fleet view open questions are answered there", { skip }, async (t) => {
	const open = Promise.withResolvers<void>();
	const setup = await questionSetup(t, [delegate(["builder", "echo one"])], {}, () => open.promise);
	const terminal = await inTerminal(setup, 80);
	await terminal.waitFor(/agents: 1 running/, 60_000);
	await terminal.sendKeys("M-a");
	await terminal.waitFor(/╭─ Agents · 1 running/, 20_000);
	open.resolve();
	const screen = await terminal.waitFor(/▸ \? asks +builder +Allow bash\? echo one[\s\S]*a answer/, 30_000);
	assert.doesNotMatch(screen, /╭─ Sub-agent/);
	await terminal.sendKeys("a");
	await terminal.waitFor(/╭─ Sub-agent "builder" asks[\s\S]*y yes/, 20_000);
	await press(terminal, "y", async () => !/╭─ Sub-agent/.test(await terminal.capture()));
	await until(() => setup.heard("echo one") === "one\n", "the answer to reach the run", 20_000);
	await terminal.sendKeys("Escape");
	await terminal.waitFor(/the parent is done/, 30_000);
});
