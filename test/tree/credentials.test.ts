import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { keepTokens } from "../../src/tree/credentials.ts";
import type { TreePlan } from "../../src/tree/plan.ts";

let root: string;
let plan: TreePlan;
const real = () => join(root, "home/.pi/agent/auth.json");
const ofRun = () => join(root, "layers/home/up/.pi/agent/auth.json");

function write(path: string, value: unknown): void {
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, JSON.stringify(value), { mode: 0o600 });
}
const read = () => JSON.parse(readFileSync(real(), "utf8"));
const oauth = (access: string, expires: number, more: object = {}) => ({
	type: "oauth",
	...{ access, refresh: `${access}-refresh`, expires, ...more },
});

beforeEach(() => {
	root = mkdtempSync(join(tmpdir(), "pi-tokens-"));
	plan = {
		project: { at: join(root, "home/project"), directory: join(root, "layers/project") },
		others: [{ at: join(root, "home"), directory: join(root, "layers/home") }],
		agentDirectory: join(root, "home/.pi/agent"),
	};
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe("tokens that a run's pi has renewed", () => {
	test("Are put into the person's auth.json, and nothing else of the run's file is", async () => {
		const other = { type: "api_key", key: "mine" };
		write(real(), { claude: oauth("old", 1, { account: "me" }), other });
		write(ofRun(), {
			claude: oauth("new", 2, { account: "evil", env: { X: "!evil" } }),
			other: { type: "api_key", key: "!evil" },
			planted: oauth("planted", 9),
		});
		await keepTokens(plan, "claude");
		assert.deepEqual(read(), { claude: oauth("new", 2, { account: "me" }), other });
		assert.equal(statSync(real()).mode & 0o777, 0o600);
		assert.equal(existsSync(`${real()}.lock`), false);
	});

	test("Are left alone where they could be run, are not newer, or are of another kind", async () => {
		const before = { claude: oauth("old", 5), key: { type: "api_key", key: "mine" } };
		for (const claude of [
			oauth("!evil", 9),
			oauth("$HOME", 9),
			oauth("two words", 9),
			{ ...oauth("new", 9), refresh: "!evil" },
			{ ...oauth("new", 9), refresh: ["x"] },
			{ ...oauth("new", 9), expires: "9" },
			oauth("older", 4),
			{ type: "api_key", key: "!evil" },
		]) {
			write(real(), before);
			write(ofRun(), { claude, key: oauth("new", 9) });
			await keepTokens(plan, "claude");
			await keepTokens(plan, "key");
			await keepTokens(plan, "unknown");
			assert.deepEqual(read(), before);
		}
	});

	test("Wait for pi's lock, and take one over whose owner has died", async () => {
		write(real(), { claude: oauth("old", 1) });
		write(ofRun(), { claude: oauth("new", 2) });
		mkdirSync(`${real()}.lock`);
		const keeping = keepTokens(plan, "claude");
		assert.equal(read().claude.access, "old");
		rmSync(`${real()}.lock`, { recursive: true });
		await keeping;
		assert.equal(read().claude.access, "new");
		write(ofRun(), { claude: oauth("newer", 3) });
		mkdirSync(`${real()}.lock`);
		const longAgo = new Date(Date.now() - 60_000);
		utimesSync(`${real()}.lock`, longAgo, longAgo);
		await keepTokens(plan, "claude");
		assert.equal(read().claude.access, "newer");
	});

	test("Are not looked for where the run has no auth.json of its own", async () => {
		write(real(), { claude: oauth("old", 1) });
		await keepTokens(plan, "claude");
		assert.deepEqual(read(), { claude: oauth("old", 1) });
	});
});
