import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const ENTRY = join(import.meta.dirname, "..", "..", "index.js");

test("On a pi that is too old the extension says which one it needs", (t) => {
	const directory = mkdtempSync(join(tmpdir(), "old-pi-"));
	t.after(() => rmSync(directory, { recursive: true }));
	const agent = join(directory, "node_modules", "@earendil-works", "pi-coding-agent");
	mkdirSync(agent, { recursive: true });
	copyFileSync(ENTRY, join(directory, "index.js"));
	writeFileSync(join(directory, "package.json"), '{ "type": "module" }');
	writeFileSync(join(agent, "package.json"), '{ "type": "module", "exports": "./index.js" }');
	// pi's loader defines `module`, by which index.js knows that it has pi's own packages at hand.
	const load =
		'globalThis.module = {}; (await import("./index.js")).default({}).catch((error) => console.log(error.message));';
	const saidBy = (exported: string) => {
		writeFileSync(join(agent, "index.js"), exported);
		const options = { cwd: directory, encoding: "utf8", env: { PATH: process.env.PATH } } as const;
		return execFileSync(process.execPath, ["--input-type=module", "--eval", load], options).trim();
	};
	assert.equal(
		saidBy('export const VERSION = "0.86.1";'),
		"pi-subagents needs pi 0.87 or later, and this is pi 0.86.1. Update it with `npm install -g @earendil-works/pi-coding-agent`.",
	);
	assert.match(saidBy("export {};"), /^pi-subagents needs pi 0\.87 or later/);
	assert.doesNotMatch(saidBy('export const VERSION = "1.5.0";'), /needs pi/);
});
