import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { after, before, test } from "node:test";
import { Value } from "typebox/value";
import type { ChatMessage } from "../../src/domain/event.ts";
import { pruneRuns } from "../../src/run-directory/retain.ts";
import { outputTool, sessionTool } from "../../src/tools/retrieval.ts";
import { createSetup, type Setup } from "../rig/fake-run.ts";
import { promptOf } from "../rig/fake-steps.ts";
import { createRecordedHost, type RecordedHost } from "../rig/recorded-host.ts";
import { ended, failed, keptRun } from "../rig/records.ts";

let setup: Setup;
before(() => {
	setup = createSetup();
});
after(() => setup.dispose());

async function ask(
	tool: "output" | "session",
	{ host, context }: RecordedHost,
	sessionId: string,
	lines: { offset?: number; limit?: number } = {},
) {
	const made = tool === "output" ? outputTool(host) : sessionTool(host);
	const { content, details } = await made.execute("call", { sessionId, ...lines }, undefined, undefined, context);
	const [part] = content;
	return {
		text: part?.type === "text" ? part.text : "",
		details: { ...details } as Record<string, unknown>,
		parts: content.length,
		remarks: content.slice(1).flatMap((each) => (each.type === "text" ? [each.text] : [])),
	};
}

const said = (text: string): ChatMessage => ({ role: "user", content: [{ type: "text", text }], timestamp: 1 });

test("The output is all text of the last message of the latest run (A95, A97, A100, W20)", async () => {
	const recorded = createRecordedHost({ cwd: setup.project });
	const first = await recorded.delegate({
		tasks: [
			{
				name: "two blocks",
				prompt: promptOf({ say: "earlier words" }, { tool: "ls", args: {}, result: "a" }, {
					say: "",
					content: [
						{ type: "text", text: "one" },
						{ type: "text", text: "two" },
					],
				} as never),
			},
		],
	});
	const id = first.result.details.sessionIds[0] ?? "";
	const { text, details, parts } = await ask("output", recorded, id);
	assert.equal(text, "one\ntwo");
	assert.equal(parts, 1);
	assert.deepEqual(details, { sessionId: id, status: "completed", taskName: "two blocks", runCount: 1, maxLines: 15 });
	await recorded.delegate({ tasks: [{ name: "again", prompt: "hello", resume: id }] });
	const again = await ask("output", recorded, id);
	assert.match(again.text, /^ok: Previously:/);
	assert.deepEqual([again.details.runCount, again.details.taskName], [2, "again"]);
});

test("A run without any text says so (A96)", async () => {
	const recorded = createRecordedHost({ cwd: setup.project });
	recorded.host.store.put(keptRun({ sessionId: "s", progress: ended({ text: " \n" }) }));
	assert.equal((await ask("output", recorded, "s")).text, "(no text output from sub-agent)");
});

test("Issue 9.4: offset and limit return lines of the output; without them it is whole", async () => {
	const recorded = createRecordedHost({ cwd: setup.project });
	const long = Array.from({ length: 20_000 }, (_, at) => `line ${at + 1}`).join("\n");
	const { result } = await recorded.delegate({ tasks: [{ name: "t", prompt: promptOf({ say: long }) }] });
	const id = result.details.sessionIds[0] ?? "";
	assert.equal((await ask("output", recorded, id)).text, long);
	const { text, details } = await ask("output", recorded, id, { offset: 9_999, limit: 2 });
	assert.equal(text, "line 9999\nline 10000\n\n[lines 9999-10000 of 20000; offset 10001 reads on]");
	assert.deepEqual(Object.keys(details), ["sessionId", "status", "taskName", "runCount", "maxLines"]);
	assert.equal((await ask("output", recorded, id, { offset: 20_000 })).text, "line 20000");
	assert.equal(
		(await ask("output", recorded, id, { limit: 1 })).text,
		"line 1\n\n[lines 1-1 of 20000; offset 2 reads on]",
	);
	const { properties } = outputTool(recorded.host).parameters;
	for (const wrong of [0, -1, 1.5, "1"]) assert.equal(Value.Check(properties.offset, wrong), false, String(wrong));
});

test("A session that is not known is an error that names it (A98, A104)", async () => {
	const recorded = createRecordedHost({ cwd: setup.project });
	const expected = /^Error: Session "x" not found\. The session may have expired or the ID is incorrect\.$/;
	await assert.rejects(ask("output", recorded, "x"), expected);
	await assert.rejects(ask("session", recorded, "x"), expected);
});

test("A transcript has the texts as they are, and calls and results cut (A101, A103)", async () => {
	const recorded = createRecordedHost({ cwd: setup.project });
	const prompt = promptOf(
		{ tool: "bash", args: { command: "x".repeat(200) }, result: "r".repeat(600) },
		{ say: "the\nanswer" },
	);
	const { result } = await recorded.delegate({ tasks: [{ name: "t", prompt }] });
	const id = result.details.sessionIds[0] ?? "";
	const { text, details } = await ask("session", recorded, id);
	assert.equal(
		text,
		[
			prompt,
			`→ bash: ${JSON.stringify({ command: "x".repeat(200) }).slice(0, 120)}`,
			`[tool result]: ${"r".repeat(500)}...`,
			"the\nanswer",
		].join("\n"),
	);
	assert.deepEqual(details, {
		sessionId: id,
		status: "completed",
		taskName: "t",
		messageCount: 4,
		exitCode: 0,
		model: "mock/mock-1",
		runCount: 1,
		maxLines: 15,
	});
});

test("Several runs have headers and are separated, and an error is told once (A102)", async () => {
	const recorded = createRecordedHost({ cwd: setup.project });
	const { store } = recorded.host;
	store.put(
		keptRun({ runId: "a", sessionId: "s", progress: ended({ text: "one", messages: [said("one")], messageCount: 1 }) }),
	);
	store.put(
		keptRun({
			runId: "b",
			sessionId: "s",
			progress: ended({ outcome: failed("it broke"), text: "two", messages: [said("two")], messageCount: 1 }),
		}),
	);
	const { text } = await ask("session", recorded, "s");
	assert.equal(text, "=== Run 1/2 (completed) ===\none\n---\n=== Run 2/2 (error) ===\ntwo\n[Error: it broke]");
});

test("What was said is read from the run directory, and from the session's own entry when that is gone (W19)", async () => {
	const recorded = createRecordedHost({ cwd: setup.project });
	const long = "long ".repeat(20_000);
	const { result } = await recorded.delegate({ tasks: [{ name: "t", prompt: promptOf({ say: long }) }] });
	const id = result.details.sessionIds[0] ?? "";
	assert.equal((await ask("output", recorded, id)).text, long);
	const [run] = recorded.host.store.find(id);
	rmSync(run?.directory ?? "", { recursive: true });
	assert.equal((await ask("output", recorded, id)).text.startsWith("long long"), true);
});

test("An answer too long for the session's entry is told as far as that goes, in transcripts too (A101, A43)", async () => {
	const recorded = createRecordedHost({ cwd: setup.project });
	const text = `${"x".repeat(16_000)}\n[9 more characters were not kept in the session]`;
	recorded.host.store.put(keptRun({ sessionId: "s", progress: ended({ text, messages: [], messageCount: 0 }) }));
	assert.equal((await ask("session", recorded, "s")).text, text);
	const { result } = await recorded.delegate({ tasks: [{ name: "t", prompt: "say it", resume: "s" }] });
	assert.match(JSON.stringify(result.content), /✓ t: completed/);
	const again = await ask("output", recorded, "s"); // the fake pi says what it was told
	assert.match(again.text, /Assistant: x{16000}\n\[9 more characters were not kept in the session\]\n\nInstructions:/);
});

test("A session that cannot be written to costs a warning, not the delegation (A89)", async () => {
	const recorded = createRecordedHost({
		cwd: setup.project,
		appendEntry: () => {
			throw new Error("the session is read-only");
		},
	});
	const { result } = await recorded.delegate({ tasks: [{ name: "t", prompt: "hello" }] });
	assert.match(JSON.stringify(result.content), /✓ t: completed/);
	assert.deepEqual(
		[...new Set(recorded.warnings)],
		["A sub-agent's session could not be saved: the session is read-only"],
	);
});

test("Every task is kept once when it ends, for whatever reason it ends (A87)", async () => {
	const recorded = createRecordedHost({ cwd: setup.project });
	await recorded.delegate({
		tasks: [
			{ name: "fine", prompt: "hello" },
			{ name: "unknown", prompt: "x", profile: "nobody" },
			{ name: "lost", prompt: "x", cwd: "relative" },
			{ name: "broken", prompt: promptOf({ exit: 3 }) },
		],
	});
	const ends = recorded.kept.filter(({ progress }) => progress.kind === "ended").map(({ label }) => label);
	assert.deepEqual(ends.sort(), ["broken", "fine", "lost", "unknown"]);
});

test("Of two calls at once that go on with one session the second is refused (A41)", async () => {
	const recorded = createRecordedHost({ cwd: setup.project });
	const { result } = await recorded.delegate({ tasks: [{ name: "t", prompt: "hello" }] });
	const id = result.details.sessionIds[0] ?? "";
	const again = { tasks: [{ name: "again", prompt: "hello", resume: id }] };
	const [first, second] = await Promise.allSettled([recorded.delegate(again), recorded.delegate(again)]);
	assert.equal(first.status, "fulfilled");
	assert.match(second.status === "rejected" ? String(second.reason) : "", /is still running\. Wait for it/);
	assert.equal(recorded.host.resuming.size, 0);
});

test("A session that two tasks of one call resume is refused with just that reason [A41]", async () => {
	const recorded = createRecordedHost({ cwd: setup.project });
	const { result } = await recorded.delegate({ tasks: [{ name: "t", prompt: "hello" }] });
	const resume = result.details.sessionIds[0] ?? "";
	const twice = { tasks: ["a", "b"].map((name) => ({ name, prompt: "hello", resume })) };
	await assert.rejects(recorded.delegate(twice), {
		message: `Cannot resume: session "${resume}" is resumed by two tasks of this call. Resume it in one of them, or in two calls after each other.`,
	});
	assert.equal(recorded.host.resuming.size, 0);
});

test("A call that cannot resume one of its sessions is refused, and leaves the others free to be resumed [A41]", async () => {
	const recorded = createRecordedHost({ cwd: setup.project });
	const { result } = await recorded.delegate({ tasks: [{ name: "t", prompt: "hello" }] });
	const id = result.details.sessionIds[0] ?? "";
	const again = { name: "again", prompt: "hello", resume: id };
	const lost = { name: "lost", prompt: "hello", resume: "0123456789abcdef" };
	await assert.rejects(recorded.delegate({ tasks: [again, lost] }), /session "0123456789abcdef" not found/);
	const call = await recorded.delegate({ tasks: [again] });
	assert.match(call.lines[0] ?? "", /^✓ again: completed/);
});

test("A call that was refused hides nothing that its session said before (X8)", async () => {
	const recorded = createRecordedHost({ cwd: setup.project });
	const { result } = await recorded.delegate({ tasks: [{ name: "t", prompt: "hello" }] });
	const id = result.details.sessionIds[0] ?? "";
	await recorded.delegate({ tasks: [{ name: "again", prompt: "x", resume: id, profile: "nobody" }] });
	const { text, details } = await ask("output", recorded, id);
	assert.deepEqual([text, details.status], ["ok: hello", "completed"]);
	const session = await ask("session", recorded, id);
	assert.match(session.text, /=== Run 2\/2 \(error\) ===/);
	assert.deepEqual([session.details.status, session.details.taskName], ["error", "again"], "A103: the latest run");
	const [run] = recorded.host.store.find(id);
	assert.equal((await ask("output", recorded, run?.runId ?? "")).text, "ok: hello", "a run's own id does as well");
});

test("Every id that was shown stays readable and resumable, however many sessions came after it", async () => {
	const recorded = createRecordedHost({ cwd: setup.project });
	const first = await recorded.delegate({ tasks: [{ name: "first", prompt: promptOf({ say: "the first answer" }) }] });
	const id = first.result.details.sessionIds[0] ?? "";
	for (let n = 0; n < 40; n++)
		recorded.host.keep(keptRun({ sessionId: `s${n}`, runId: `r${n}`, startedAt: Date.now() }));
	assert.equal(recorded.host.store.find(id).length, 0, "it is not in memory any more");
	assert.equal((await ask("output", recorded, id)).text, "the first answer");
	assert.match((await ask("session", recorded, id)).text, /the first answer/);
	const again = await recorded.delegate({ tasks: [{ name: "again", prompt: "and now?", resume: id }] });
	assert.match(again.lines.join(), /^✓ again: completed/);
	const { details, text } = await ask("session", recorded, id);
	assert.equal(details.runCount, 2);
	assert.match(text, /^=== Run 1\/2 \(completed\) ===/);
});

test("After pi has deleted a run its output says that, and when", async () => {
	const recorded = createRecordedHost({ cwd: setup.project });
	const { result } = await recorded.delegate({ tasks: [{ name: "t", prompt: promptOf({ say: "kept words" }) }] });
	const id = result.details.sessionIds[0] ?? "";
	const [run] = recorded.host.store.find(id);
	const now = Date.UTC(2030, 0, 2);
	await pruneRuns(dirname(run?.directory ?? ""), { maxAgeMs: 1, maxRuns: 0, named: new Set(), now });
	const { text, remarks } = await ask("output", recorded, id);
	assert.equal(text, "kept words");
	assert.match(
		remarks.join(),
		/^\[its run directory was deleted at 2030-01-02T00:00:00\.000Z .*; this is what the session kept of it\]$/,
	);
	assert.match((await ask("session", recorded, id)).text, /kept words\n\[its run directory was deleted at 2030/);
});

test("A run directory that somebody else has removed is told as gone, and a transcript says how many messages are missing", async () => {
	const recorded = createRecordedHost({ cwd: setup.project });
	const steps = [
		{ repeat: 15, steps: ["ls", "cat"].map((tool) => ({ tool, result: "r".repeat(2_000) })) },
		{ say: "the end" },
	];
	const { result } = await recorded.delegate({ tasks: [{ name: "t", prompt: promptOf(...steps) }] });
	const id = result.details.sessionIds[0] ?? "";
	const [run] = recorded.host.store.find(id);
	recorded.host.store.clear();
	rmSync(run?.directory ?? "", { recursive: true });
	const { text } = await ask("session", recorded, id);
	assert.match(text, /^\[\d\d earlier messages are missing: only the newest are kept\]\n/);
	assert.match(text, /the end\n\[its run directory is gone; this is what the session kept of it\]$/);
});

test("The transcript of a resumed session tells each run once", async () => {
	const recorded = createRecordedHost({ cwd: setup.project });
	const { result } = await recorded.delegate({ tasks: [{ name: "t", prompt: promptOf({ say: "first answer" }) }] });
	const id = result.details.sessionIds[0] ?? "";
	const long = `and now? ${"x".repeat(9_000)}`;
	await recorded.delegate({ tasks: [{ name: "t", prompt: long, resume: id }] });
	recorded.host.store.clear(); // as after a restart: the session's entry has only the beginning of the prompt
	const [before = "", later = ""] = (await ask("session", recorded, id)).text.split("\n---\n");
	assert.match(before, /first answer/);
	assert.equal(later.split("\n").slice(0, 2).join("\n"), `=== Run 2/2 (completed) ===\n${long}`);
});

test("A message that was too long to be kept is told as such in its place", async () => {
	const recorded = createRecordedHost({ cwd: setup.project });
	const steps = [{ say: "before" }, { tool: "cat", result: "x".repeat(17 * 1024 * 1024) }, { say: "after" }];
	const { result } = await recorded.delegate({ tasks: [{ name: "t", prompt: promptOf(...steps) }] });
	const { text } = await ask("session", recorded, result.details.sessionIds[0] ?? "");
	const note = "[A message of more than 16 MB was dropped here: it was too long to keep]";
	assert.deepEqual(text.split("\n"), [note, "before", "→ cat: {}", note, "after"], "the prompt was as long");
});
