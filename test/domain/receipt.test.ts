import assert from "node:assert/strict";
import { test } from "node:test";
import { decode } from "../../src/domain/decode.ts";
import type { ChatMessage, RunEvent } from "../../src/domain/event.ts";
import { makeReceipt, NO_WORK, seeWork } from "../../src/domain/receipt.ts";
import { noUsage } from "../../src/domain/usage.ts";

const clock = (at: number): RunEvent => ({ type: "clock", at });
const started = (callId: string, name: string, args: object, nested = false): RunEvent => ({
	...{ type: "tool-started", callId, name, args, nested },
});
const ended = (callId: string): RunEvent => ({ type: "tool-ended", callId });
const result = (toolCallId: string, text: string, isError = false, details?: unknown): RunEvent => ({
	type: "message",
	message: {
		...{
			role: "toolResult",
			toolCallId,
			toolName: "",
			content: [{ type: "text", text }],
			isError,
			details,
			timestamp: 0,
		},
	} as ChatMessage,
});
const answer = (model: string, stopReason = "stop"): RunEvent => ({
	type: "message",
	message: { role: "assistant", content: [], provider: "p", model, stopReason, timestamp: 0 } as unknown as ChatMessage,
});
const workOf = (...events: readonly RunEvent[]) => events.reduce(seeWork, NO_WORK);
const receiptOf = (...events: readonly RunEvent[]) =>
	makeReceipt(workOf(...events), { files: [], scan: { kind: "complete" }, unseen: [] }, noUsage);

test("Write and edit calls that succeeded are counted in lines, those that failed are not (R2)", () => {
	const patch = "--- a\n+++ a\n@@ -1,2 +1,3 @@\n-old\n+new\n+more\n same\n";
	const { writes, commandCalls } = workOf(
		started("1", "write", { path: "a.txt", content: "one\ntwo\n" }),
		result("1", "ok"),
		started("2", "edit", { path: "a.txt" }),
		result("2", "ok", false, { patch }),
		started("3", "write", { path: "refused.txt", content: "x" }),
		result("3", "no", true),
		started("4", "write", { path: "unfinished.txt", content: "x" }),
	);
	assert.deepEqual([...writes], [["a.txt", { added: 4, removed: 1 }]]);
	assert.equal(commandCalls, 0);
});

test("A command's exit code is the shell's: output that looks like one is not (R4)", () => {
	const { commands, failing } = receiptOf(
		clock(100),
		...[started("1", "bash", { command: "a" }), clock(350), ended("1"), result("1", "Command exited with code 9")],
		...[started("2", "bash", { command: "b" }), result("2", "x\n\nCommand exited with code 3", true)],
		...[started("3", "bash", { command: "c" }), result("3", "Command timed out after 5 seconds", true)],
		...[started("4", "bash", { command: "d" }), result("4", "Command aborted", true)],
		...[started("5", "bash", { command: "e" }), result("5", "It was refused", true)],
		started("6", "bash", { command: "f" }),
	);
	assert.deepEqual(
		commands.map(({ command, exit }) => [command, exit]),
		[
			["a", 0],
			["b", 3],
			["c", "timed out"],
			["d", "aborted"],
			["e", "unknown"],
			["f", "unknown"],
		],
	);
	assert.equal(commands[0]?.ms, 250);
	assert.equal(failing?.command, "c");
});

test("A failure that was repeated with success is over; one before another success is not (R4)", () => {
	const run = (id: string, command: string, code: number): RunEvent[] => [
		started(id, "bash", { command }),
		code === 0 ? result(id, "ok") : result(id, `Command exited with code ${code}`, true),
	];
	assert.equal(receiptOf(...run("1", "npx tsc", 2), ...run("2", "npx tsc", 0)).failing, undefined);
	assert.equal(receiptOf(...run("1", "npx tsc", 2), ...run("2", "ls", 0)).failing?.command, "npx tsc");
	assert.equal(receiptOf(...run("1", "npx tsc", 0), ...run("2", "npx tsc", 2)).failing?.exit, 2);
});

test("Every model that answered is listed once, and one that only failed is not (R5)", () => {
	assert.deepEqual(receiptOf(answer("m1", "error"), answer("m2"), answer("m3"), answer("m2")).models, ["p/m2", "p/m3"]);
});

test("A call that a script made counts, though it has no message of its own (R2, R4)", () => {
	const record = {
		...{ type: "tool_execution_end", toolCallId: "x/1", toolName: "bash" },
		result: { content: [{ type: "text", text: "no\n\nCommand exited with code 4" }] },
		...{ isError: true, parentToolCallId: "x" },
	};
	const line = decode(Buffer.from(JSON.stringify(record)));
	assert.ok(line.kind === "event");
	const { commands } = receiptOf(started("x/1", "bash", { command: "false" }, true), line.event);
	assert.deepEqual(
		commands.map(({ exit }) => exit),
		[4],
	);
	const { parentToolCallId: _, ...plain } = record;
	const own = decode(Buffer.from(JSON.stringify(plain)));
	assert.deepEqual(own, { kind: "event", event: { type: "tool-ended", callId: "x/1" } });
});

test("A run of thousands of commands keeps the newest, and tools that nobody knows count as commands (R2)", () => {
	const many = Array.from({ length: 1_000 }, (_, at) => [
		started(`${at}`, "bash", { command: `echo ${at}` }),
		result(`${at}`, ""),
	]).flat();
	const receipt = receiptOf(...many);
	assert.equal(receipt.commands.length, 200);
	assert.equal(receipt.commands.at(-1)?.command, "echo 999");
	const foreign = workOf(started("1", "mcp__files__save", {}), result("1", "ok"), started("2", "read", { path: "a" }));
	assert.deepEqual([foreign.commandCalls, foreign.commandsRun, foreign.commands.length], [1, 1, 0]);
});
