import assert from "node:assert/strict";
import { test } from "node:test";
import { createHome } from "./home.ts";
import { startModelServer, text } from "./model-server.ts";
import { startPiTerminal } from "./pi-terminal.ts";
import { isAlive } from "./processes.ts";
import { terminalMissing } from "./terminal.ts";

test("The real pi can be driven in a terminal", { skip: terminalMissing() ?? false }, async (t) => {
	const server = await startModelServer((request) => text(`answer to ${request.lastUser}`));
	const home = createHome(server);
	t.after(async () => {
		await server.close();
		home.dispose();
	});
	const terminal = await startPiTerminal(home, { columns: 90, rows: 24 });
	t.after(() => terminal.dispose());
	await terminal.type("hello -l 'there'");
	await terminal.sendKeys("Enter");
	await terminal.waitFor("answer to hello -l 'there'");
	assert.ok((await terminal.capture({ ansi: true })).includes("\u001b["));
	await terminal.resize(60, 20);
	await terminal.waitFor(/^─{60}$/m);
	await assert.rejects(terminal.waitFor("never there", 1), /Waited 1 ms for never there\. Last seen:[\s\S]*answer to/);
	await terminal.sendKeys("C-d");
	assert.deepEqual(await terminal.waitForExit(), { end: 0 });
	assert.equal(isAlive(terminal.pid), false);
});
