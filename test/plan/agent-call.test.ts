import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { agentRequest, sessionPath } from "../../src/plan/agent-call.ts";
import type { RunRequest } from "../../src/plan/run.ts";

describe("a call of an agent", () => {
	let root: string;
	before(() => {
		root = realpathSync(mkdtempSync(join(tmpdir(), "pi-agent-call-")));
		for (const name of ["a", "b"]) mkdirSync(join(root, name));
		symlinkSync(join(root, "a"), join(root, "link"));
	});
	after(() => rmSync(root, { recursive: true, force: true }));

	const call = (fields: Partial<Parameters<typeof agentRequest>[0]> = {}, timeout?: number) =>
		agentRequest(
			{ agent: "scout", task: "look", model: undefined, cwd: undefined, sessionId: undefined, ...fields },
			join(root, "a"),
			timeout,
		);
	const requestOf = (fields: Parameters<typeof call>[0], timeout?: number): RunRequest => {
		const request = call(fields, timeout);
		assert.ok(request.ok);
		return request.value;
	};
	const fileOf = (fields: Parameters<typeof call>[0]) => requestOf(fields).sharedSession ?? "";

	test("The session's file is named after directory, agent and id (C14, X23)", () => {
		const hash = createHash("sha256").update(join(root, "a")).digest("hex").slice(0, 16);
		const expected = join(homedir(), ".pi", "subagent-sessions", hash, "scout_my-id.jsonl");
		assert.equal(fileOf({ sessionId: "my-id" }), expected);
		assert.match(basename(dirname(expected)), /^[0-9a-f]{16}$/);
		assert.deepEqual(requestOf({ sessionId: "my-id" }).session, { kind: "file", path: expected });
	});

	test("The same three are one session, any other is another (C15)", () => {
		const same = fileOf({ sessionId: "id" });
		assert.equal(fileOf({ sessionId: "id", cwd: join(root, "a") }), same);
		assert.equal(fileOf({ sessionId: "id", cwd: join(root, "link") }), same, "the real path counts");
		assert.equal(fileOf({ sessionId: "id", cwd: `${join(root, "a")}/` }), same);
		const others = [
			fileOf({ sessionId: "id", cwd: join(root, "b") }),
			fileOf({ sessionId: "id", agent: "scout2" }),
			fileOf({ sessionId: "id2" }),
			fileOf({ sessionId: "id", agent: "scout_x" }),
			fileOf({ sessionId: "ID" }),
		];
		assert.equal(new Set([same, ...others]).size, 6);
	});

	test("Without an id every call has a new UUID (C11, X8)", () => {
		const ids = [requestOf({}).sessionId, requestOf({}).sessionId];
		for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
		assert.notEqual(ids[0], ids[1]);
	});

	test("An id that could be a path, or is none, is refused (C16, W31, X23, S19, S28)", () => {
		for (const id of [
			"",
			".",
			"..",
			"../x",
			"a/b",
			"a\\b",
			"-x",
			"a_b",
			"a.b",
			"a b",
			"a\0",
			"a\n",
			"é",
			"x".repeat(129),
		]) {
			const refused = call({ sessionId: id });
			assert.ok(!refused.ok, JSON.stringify(id));
			assert.match(refused.error, /is not a session id: letters, digits and hyphens, at most 128$/);
			assert.ok(refused.error.length < 300);
		}
		for (const id of ["0", "a", "A-1", "x".repeat(128)]) assert.ok(call({ sessionId: id }).ok, id);
	});

	test("An agent's name never leads out of the directory (C16, W31, S28)", () => {
		const inside = dirname(sessionPath(root, "scout", "id"));
		for (const agent of ["../x", "a/b", "", "..", "a\0", "a.b"]) {
			assert.equal(dirname(sessionPath(root, agent, "id")), inside, JSON.stringify(agent));
		}
	});

	test("Three reminders, no timeout of its own, and it ends with its caller (C22, X15, X22)", () => {
		const { contract, timeoutSeconds, defaultTimeoutSeconds, lifetime, family } = requestOf({});
		assert.deepEqual(contract, { kind: "finalize", attempts: 3 });
		assert.deepEqual([timeoutSeconds, defaultTimeoutSeconds], [undefined, undefined]);
		assert.deepEqual([lifetime, family], ["foreground", "agent"]);
		assert.equal(requestOf({}, 90).defaultTimeoutSeconds, 90);
	});

	test("A directory that does not exist is left for the plan to refuse (A7, A8)", () => {
		assert.equal(requestOf({ cwd: join(root, "nowhere") }).cwd, join(root, "nowhere"));
	});
});
